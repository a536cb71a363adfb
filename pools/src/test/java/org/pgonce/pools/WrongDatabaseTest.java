package org.pgonce.pools;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import org.apache.commons.dbcp2.BasicDataSource;
import org.junit.jupiter.api.Test;
import org.pgonce.Channel;
import org.pgonce.PgOnce;
import org.pgonce.PgOnceException;
import org.pgonce.UnreachableException;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** What never passes is not tried again, also where the pool wraps what the driver says. */
@PgTest
class WrongDatabaseTest {

  @Test
  void h64_aMissingDatabaseBehindDbcp2EndsTheStartAtOnce(TestDatabase database) throws Exception {
    try (var pool = new BasicDataSource()) {
      pool.setUrl(database.server().jdbcUrl("no_such"));
      pool.setUsername(database.user());
      pool.setPassword(database.password());
      var pgonce = PgOnce.builder(pool).startTimeout(Duration.ofSeconds(30)).build();
      pgonce.listen(Channel.of("orders", String.class), (order, tx) -> {});
      assertThatThrownBy(pgonce::start)
          .isInstanceOf(PgOnceException.class)
          .isNotInstanceOf(UnreachableException.class)
          .hasMessageContaining("no_such");
    }
  }
}
