package org.pgonce.internal.context;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.SQLException;
import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.internal.concurrent.Threads;
import org.pgonce.internal.jdbc.PoolSettings;
import org.pgonce.internal.jdbc.Transactions;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.Seed;
import org.pgonce.testkit.TestDatabase;

/** A claim or scan that the database does not answer in time. */
@PgTest
@Tag("drivers")
class BoundedSessionsTest {

  private static final Duration BOUND = Duration.ofMillis(20);

  @Test
  void h49_whatIsCutOffAtTheLastMomentEndsNoStrangersTransaction(TestDatabase database)
      throws Exception {
    var random = Seed.random();
    try (var pool = database.pooled(1);
        var threads = new Threads()) {
      var sessions =
          new BoundedSessions(
              new Transactions(pool, new PoolSettings(), Duration.ofSeconds(30)), threads);
      var cutOff = 0;
      for (var round = 0; round < 60; round++) {
        // Around the bound, so that the answer and the cut come at the same time; and some well
        // within it, for a machine on which all others come late.
        var sleep =
            round % 10 == 0 ? "select 1" : "select pg_sleep(0.0" + (10 + random.nextInt(15)) + ")";
        try (var connection = pool.getConnection()) {
          var answered =
              sessions.within(BOUND, connection, same -> same.createStatement().execute(sleep));
          assertThat(answered).isTrue();
        } catch (SQLException e) {
          cutOff++;
        }
        try (var strangers = pool.getConnection()) {
          strangers.createStatement().execute("select pg_sleep(0.003)");
        }
      }
      assertThat(cutOff).isBetween(1, 59);
    }
  }
}
