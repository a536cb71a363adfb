package org.pgonce.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;

class PgTestTest {

  @PgTest
  @Nested
  class PerTest {

    private TestDatabase before;

    @BeforeEach
    void remember(TestDatabase database) {
      before = database;
    }

    @RepeatedTest(2)
    void eachTestGetsAFreshOneThatItsSetUpShares(TestDatabase database) throws Exception {
      assertThat(database).isSameAs(before);
      database.execute("CREATE TABLE only_once (id int)");
    }
  }

  @PgTest
  @Nested
  class PerClass {

    private static TestDatabase first;

    @BeforeAll
    static void remember(TestDatabase database) {
      first = database;
    }

    @Test
    void aClassThatAsksFirstSharesOne(TestDatabase database) {
      assertThat(database).isSameAs(first);
    }
  }
}
