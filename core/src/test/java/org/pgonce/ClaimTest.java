package org.pgonce;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** Station 3: at most one holds a row, and at most as many are taken as were asked for. */
@PgTest
class ClaimTest {

  private static final String CLAIM = "select id from pgonce.claim(1, %d, %s)";

  private Stage stage;

  @BeforeEach
  void setUp(TestDatabase database) throws SQLException {
    stage = new Stage(database);
  }

  @AfterEach
  void tearDown() {
    stage.close();
  }

  private static int claim(Connection connection, int rows) throws SQLException {
    try (var statement = connection.createStatement();
        var row = statement.executeQuery(CLAIM.formatted(rows, "false"))) {
      var claimed = 0;
      while (row.next()) {
        claimed++;
      }
      return claimed;
    }
  }

  @Test
  void h40_of64WorkersAndOneRowOneGetsIt() throws Exception {
    stage.publish(1);
    var together = new CountDownLatch(1);
    var done = new CountDownLatch(64);
    Callable<Integer> worker =
        () -> {
          try (var connection = stage.database.dataSource().getConnection()) {
            connection.setAutoCommit(false);
            together.await();
            var claimed = claim(connection, 1);
            done.countDown();
            done.await(); // All hold their transactions until all have claimed.
            return claimed;
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
  void h41_aClaimTakesNoMoreThanAskedForUnderAForcedNestedLoop() throws Exception {
    stage.publish(100);
    stage.database.execute("analyze pgonce.notification");
    try (var one = stage.database.dataSource().getConnection();
        var two = stage.database.dataSource().getConnection()) {
      for (var connection : new Connection[] {one, two}) {
        connection.setAutoCommit(false);
        connection
            .createStatement()
            .execute(
                "set enable_hashjoin = off; set enable_mergejoin = off; set enable_material = off");
      }
      assertThat(claim(one, 20)).isEqualTo(20);
      assertThat(claim(two, 20)).isEqualTo(20);
      two.commit();
      assertThat(claim(two, 100)).isEqualTo(80);
    }
  }

  @Test
  void claim_takesScheduledRowsFirstWhenAskedTo() throws Exception {
    stage.publish(2);
    stage.database.execute(
        "insert into pgonce.scheduled values (1, 1000, clock_timestamp(), 1, clock_timestamp(), 'x', '{}'),"
            + " (1, 1001, clock_timestamp() + interval '1 hour', 1, clock_timestamp(), 'x', '{}')");
    assertThat(
            stage.database.queryString(
                "select string_agg(id || ' ' || more, ',') from pgonce.claim(1, 1, true)"))
        .isEqualTo("1000 false");
    assertThat(stage.database.queryLong("select count(*) from pgonce.claim(1, 10, true)"))
        .isEqualTo(3);
    assertThat(stage.database.queryLong("select count(*) from pgonce.claim(1, 10, false)"))
        .isEqualTo(3);
  }

  @Test
  void claim_doesNotWalkOverWhatIsDueLater() throws Exception {
    stage.database.execute(
        "insert into pgonce.scheduled select 1, g, clock_timestamp() + interval '1 hour', 1, clock_timestamp(), 'x', '{}'"
            + " from generate_series(1, 20000) g");
    stage.database.execute("analyze pgonce.scheduled");
    var read = "select sum(idx_tup_read) from pg_stat_user_indexes where relname = 'scheduled'";
    var before = stage.database.queryLong(read);
    assertThat(stage.database.queryLong("select count(*) from pgonce.claim(1, 1, true)")).isZero();
    assertThat(stage.database.queryLong("select count(*) from pgonce.claim(1, 1, false)")).isZero();
    await()
        .atMost(Duration.ofSeconds(20))
        .until(
            () ->
                stage.database.queryLong(
                        "select idx_scan from pg_stat_user_indexes where indexrelname = 'scheduled_due'")
                    >= 2);
    assertThat(stage.database.queryLong(read) - before).isLessThan(10);
  }

  @Test
  void claim_usesTheIndexThoughItWasPlannedOnAnEmptyTable() throws Exception {
    try (var connection = stage.database.dataSource().getConnection()) {
      connection.setAutoCommit(false);
      assertThat(claim(connection, 1)).isZero();
      connection.commit();
      stage.publish(5_000);
      var before =
          stage.database.queryLong(
              "select seq_scan from pg_stat_user_tables where relname = 'notification'");
      for (var i = 0; i < 10; i++) {
        assertThat(claim(connection, 1)).isEqualTo(1);
        connection.rollback();
      }
      connection.createStatement().execute("select 1");
      connection.commit();
      connection.close();
      assertThat(
              stage.database.queryLong(
                  "select seq_scan from pg_stat_user_tables where relname = 'notification'"))
          .isEqualTo(before);
    }
  }
}
