package org.pgonce.example.run;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.pgonce.PgOnce;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** The count at the end finds what it is there to find. */
@PgTest
class VerificationTest {

  private static Verification verified(TestDatabase database, String sql, long acknowledged)
      throws Exception {
    try (var in = Verification.class.getResourceAsStream("tables.sql")) {
      database.execute(new String(in.readAllBytes(), StandardCharsets.UTF_8));
    }
    try (var pgonce = PgOnce.using(database.dataSource())) {
      pgonce.install(WelcomePosts.AUTHOR_ADDED);
    }
    database.execute(sql);
    var address = new DatabaseAddress(database.jdbcUrl(), database.user(), database.password());
    return Verification.of(address, acknowledged);
  }

  @Test
  void authorsWithoutAPostAndPostsBeyondTheFirst(TestDatabase database) throws Exception {
    var verified =
        verified(
            database,
            """
            insert into author (id, name) select n, 'a' from generate_series(1, 5) n;
            insert into post (author_id, content) values (1, ''), (2, ''), (2, ''), (2, ''), (3, '');
            """,
            5);
    assertThat(verified)
        .extracting(
            Verification::authors,
            Verification::posts,
            Verification::lost,
            Verification::duplicates,
            Verification::waiting,
            Verification::isKept)
        .containsExactly(5L, 5L, 2L, 2L, 5L, false);
  }

  @Test
  void anAuthorThatTheServerAcknowledgedAndLost(TestDatabase database) throws Exception {
    var verified =
        verified(
            database,
            """
            insert into author (id, name) values (1, 'a');
            insert into post (author_id, content) values (1, '');
            """,
            2);
    assertThat(verified.lost()).isEqualTo(1);
  }

  @Test
  void allIsWell(TestDatabase database) throws Exception {
    var verified =
        verified(
            database,
            """
            insert into author (id, name) values (1, 'a');
            insert into post (author_id, content) values (1, '');
            delete from pgonce.notification where subscription_id > 0;
            """,
            1);
    assertThat(verified.isKept()).isTrue();
  }
}
