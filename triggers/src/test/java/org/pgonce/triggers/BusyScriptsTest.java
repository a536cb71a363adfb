package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.awaitility.Awaitility.await;
import static org.pgonce.triggers.BusyTablesTest.begin;
import static org.pgonce.triggers.BusyTablesTest.execute;

import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.pgonce.PgOnce;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** H84 for a printed migration of two channels, which has one transaction and cannot step back. */
@PgTest(PgOnceInstalled.class)
class BusyScriptsTest {

  record Row(long id, String name) {}

  private static final TriggerChannel<?> A = channel("one", "a");
  private static final TriggerChannel<?> B = channel("two", "b");

  private static TriggerChannel<?> channel(String table, String name) {
    return TriggerChannel.on(table, Row.class).afterInsert().named(name).build();
  }

  @BeforeEach
  void createTables(TestDatabase database) throws SQLException {
    for (var table : List.of("one", "two")) {
      database.execute("create table %s (id bigint primary key, name text)".formatted(table));
    }
  }

  /** A writer that it waits for wants a table that it has: it gives up before PostgreSQL looks. */
  @Test
  void h84_theWayThereIsInNoCircle(TestDatabase database) throws Exception {
    try (var writer = begin(database, "insert into two values (1, 'Ann')")) {
      var up = run(database, migration(database).up());
      awaitWaitsFor(database, "two", up);
      execute(writer, "insert into one values (1, 'Ann')");
      assertThatThrownBy(() -> up.get(60, TimeUnit.SECONDS))
          .hasMessageContaining("canceling statement due to lock timeout");
      writer.commit();
    }
    database.execute(migration(database).up());
    assertThat(migration(database).isEmpty()).isTrue();
  }

  /** It has all tables before it keeps others from storing, for which their writers would wait. */
  @Test
  void h84_theWayBackIsInNoCircle(TestDatabase database) throws Exception {
    var down = migration(database).down();
    PgOnce.using(database.dataSource()).install(A, B);
    for (var table : List.of("one", "two")) {
      // Where the writer was too slow for its patience, it is tried again.
      await()
          .atMost(Duration.ofSeconds(60))
          .untilAsserted(
              () ->
                  assertThat(failureBesideAWriter(database, table, down))
                      .contains("still holds notifications: 1 waiting"));
      database.execute("delete from pgonce.notification");
    }
    database.execute(down);
    assertThat(database.queryLong("select count(*) from pgonce.channel")).isZero();
  }

  private static String failureBesideAWriter(TestDatabase database, String table, String down)
      throws Exception {
    database.execute("delete from pgonce.notification; delete from " + table);
    try (var writer = begin(database, "set deadlock_timeout = '50 ms'")) {
      execute(writer, "lock table %s in row exclusive mode".formatted(table));
      var back = run(database, down);
      awaitWaitsFor(database, table, back);
      execute(writer, "insert into %s values (1, 'Ann')".formatted(table));
      writer.commit();
      return catchThrowable(() -> back.get(60, TimeUnit.SECONDS)).getMessage();
    }
  }

  private static Migration migration(TestDatabase database) throws SQLException {
    try (var connection = database.dataSource().getConnection()) {
      return Triggers.migration(connection, A, B);
    }
  }

  private static FutureTask<String> run(TestDatabase database, String script) {
    var task =
        new FutureTask<>(
            () -> {
              database.execute(script);
              return script;
            });
    new Thread(task).start();
    return task;
  }

  private static void awaitWaitsFor(TestDatabase database, String table, FutureTask<?> script) {
    await()
        .atMost(Duration.ofSeconds(30))
        .pollInterval(Duration.ofMillis(5))
        .until(
            () ->
                script.isDone()
                    || database.queryLong(
                            "select count(*) from pg_locks where not granted and relation = '%s'::regclass"
                                .formatted(table))
                        > 0);
  }
}
