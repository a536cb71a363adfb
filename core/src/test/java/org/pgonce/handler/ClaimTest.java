package org.pgonce.handler;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.pgonce.internal.claim.ClaimSession;
import org.pgonce.internal.claim.ClaimStatement;
import org.pgonce.internal.jdbc.Borrowed;
import org.pgonce.internal.jdbc.PoolSettings;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** At most one holds a row, and at most as many are taken as were asked for. */
@PgTest(PgOnceInstalled.class)
class ClaimTest {

  private static final PoolSettings POOL = new PoolSettings();

  private Stage stage;
  private int subscription;

  @BeforeEach
  void setUp(TestDatabase database) throws SQLException {
    stage = new Stage(database);
    subscription = (int) database.queryLong("select id from pgonce.subscription");
  }

  @AfterEach
  void tearDown() {
    stage.close();
  }

  /** The id of the row that it takes; null if there is none. */
  private @Nullable Long claim(Connection connection, boolean due) throws SQLException {
    var session =
        new ClaimSession(
            new Borrowed(connection),
            POOL.take(connection, Duration.ofSeconds(30)),
            Duration.ofMinutes(5));
    var claims = ClaimStatement.claim(session, subscription, due, 0, 1);
    return claims.isEmpty() ? null : claims.get(0).id();
  }

  @Test
  void h40_of64WorkersAndOneRowOneGetsIt() throws Exception {
    stage.publish(1);
    var together = new CountDownLatch(1);
    var done = new CountDownLatch(64);
    Callable<Integer> worker =
        () -> {
          try (var connection = stage.database.dataSource().getConnection()) {
            together.await();
            var claimed = claim(connection, false);
            done.countDown();
            done.await(); // All hold their transactions until all have claimed.
            return claimed == null ? 0 : 1;
          }
        };
    var threads = Executors.newFixedThreadPool(64);
    try {
      var claims = new ArrayList<java.util.concurrent.Future<Integer>>();
      for (var i = 0; i < 64; i++) {
        claims.add(threads.submit(worker));
      }
      together.countDown();
      var sum = 0;
      for (var claim : claims) {
        sum += claim.get();
      }
      assertThat(sum).isEqualTo(1);
    } finally {
      threads.shutdownNow();
    }
  }

  @Test
  void h41_aClaimTakesOneRowUnderAForcedNestedLoop() throws Exception {
    stage.publish(100);
    stage.database.execute("analyze pgonce.notification");
    var first =
        stage.database.queryLong(
            "select min(id) from pgonce.notification where subscription_id > 0");
    try (var one = stage.database.dataSource().getConnection();
        var two = stage.database.dataSource().getConnection()) {
      for (var connection : new Connection[] {one, two}) {
        connection
            .createStatement()
            .execute(
                "set enable_hashjoin = off; set enable_mergejoin = off; set enable_material = off");
      }
      assertThat(claim(one, false)).isEqualTo(first);
      assertThat(claim(two, false)).isEqualTo(first + 1);
      assertThat(stage.claimable()).isEqualTo(98);
    }
  }

  @Test
  void claim_findsWhatIsDueAndNotWhatIsDueLater() throws Exception {
    stage.publish(1);
    stage.database.execute(
        """
        insert into pgonce.scheduled
        select s.id, 1000, clock_timestamp(), 1, clock_timestamp(), 'x', '{}'::json from pgonce.subscription s
        union all
        select s.id, 1001, clock_timestamp() + interval '1 hour', 1, clock_timestamp(), 'x', '{}' from pgonce.subscription s
        """);
    try (var one = stage.database.dataSource().getConnection();
        var two = stage.database.dataSource().getConnection()) {
      assertThat(claim(one, true)).isEqualTo(1000);
      assertThat(claim(two, true)).isNull();
    }
  }

  @Test
  void claim_doesNotWalkOverWhatIsDueLater() throws Exception {
    stage.assumeExactStatistics();
    stage.database.execute(
        "insert into pgonce.scheduled select s.id, g, clock_timestamp() + interval '1 hour', 1, clock_timestamp(), 'x', '{}'"
            + " from pgonce.subscription s cross join generate_series(1, 20000) g");
    stage.database.execute("analyze pgonce.scheduled");
    var read = "select sum(idx_tup_read) from pg_stat_user_indexes where relname = 'scheduled'";
    var before = stage.database.queryLong(read);
    try (var connection = stage.database.dataSource().getConnection()) {
      assertThat(claim(connection, true)).isNull();
      assertThat(claim(connection, false)).isNull();
    }
    await()
        .atMost(Duration.ofSeconds(20))
        .until(
            () ->
                stage.database.queryLong(
                        "select idx_scan from pg_stat_user_indexes where indexrelname = 'scheduled_due'")
                    >= 1);
    assertThat(stage.database.queryLong(read) - before).isLessThan(10);
  }
}
