package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.pgonce.PgOnce;
import org.pgonce.internal.store.Schema;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/**
 * H84 for a partitioned table: who writes to it locks it, and then the partition. PostgreSQL drops
 * the triggers of partitions first, and that of the table last.
 */
@PgTest(PgOnceInstalled.class)
class BusyPartitionsTest {

  /** What takes a trigger away. */
  private interface Change {
    void in(TestDatabase database) throws SQLException;
  }

  private static final Map<String, Change> CHANGES =
      Map.of(
          "an event less",
          database -> PgOnce.using(database.dataSource()).install(channel().build()),
          "another form",
          database ->
              PgOnce.using(database.dataSource())
                  .install(channel().afterUpdate().form(TriggerForm.DEFERRED).build()),
          "a drop",
          database -> Triggers.drop(database.dataSource(), channel().build()),
          "a printed migration",
          database -> database.execute(up(database)),
          "a printed drop",
          database -> database.execute(Migration.of(channel().build()).down()),
          "what a refused drop says",
          database ->
              database.execute(database.queryString("select pgonce_private.drop_sql('measured')")),
          "an uninstall",
          database -> database.execute(Schema.uninstallScript()));

  private static TriggerChannelBuilder<?> channel() {
    return TriggerChannel.changesOf("measure", Object.class).afterInsert().named("measured");
  }

  private static String up(TestDatabase database) throws SQLException {
    try (var connection = database.dataSource().getConnection()) {
      return Triggers.migration(connection, channel().build()).up();
    }
  }

  @BeforeEach
  void install(TestDatabase database) throws SQLException {
    database.execute(
        """
        create table measure (day int, value int) partition by list (day);
        create table monday partition of measure for values in (1);
        create table tuesday partition of measure for values in (2)
        """);
    PgOnce.using(database.dataSource()).install(channel().afterUpdate().build());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "an event less",
        "another form",
        "a drop",
        "a printed migration",
        "a printed drop",
        "what a refused drop says",
        "an uninstall"
      })
  void h84_aWriterOfAPartitionedTableIsWaitedForAndDoesNotWaitInACircle(
      String change, TestDatabase database) throws Exception {
    try (var writer = database.dataSource().getConnection()) {
      writer.setAutoCommit(false);
      // It has the table, and no partition yet.
      execute(
          writer, "set local lock_timeout = '250ms'; insert into measure select 1, 1 where false");
      var changing =
          CompletableFuture.runAsync(
              () -> {
                try {
                  CHANGES.get(change).in(database);
                } catch (SQLException e) {
                  throw new IllegalStateException(e);
                }
              });
      awaitWaitsForTable(database);
      execute(writer, "insert into measure values (1, 1), (2, 2)");
      writer.rollback();
      assertThat(changing).succeedsWithin(30, TimeUnit.SECONDS);
    }
  }

  /** One of the longer tries. */
  private static void awaitWaitsForTable(TestDatabase database) {
    await()
        .atMost(Duration.ofSeconds(30))
        .pollInterval(Duration.ofMillis(5))
        .until(
            () ->
                database.queryLong(
                        "select count(*) from pg_locks where not granted and mode = 'AccessExclusiveLock' and relation = 'measure'::regclass and clock_timestamp() - waitstart > interval '450 ms'")
                    > 0);
  }

  private static void execute(Connection connection, String sql) throws SQLException {
    try (var statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }
}
