package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.pgonce.PgOnce;
import org.pgonce.PgOnceException;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.Seed;
import org.pgonce.testkit.TestDatabase;
import org.postgresql.PGConnection;

/** H84 for many channels: installing and dropping them while their tables are written. */
@PgTest(PgOnceInstalled.class)
@Timeout(300) // eighty channels several times over, on a machine that does other things as well
@Tag("all")
class BusyTablesTest {

  record Row(long id, String name) {}

  private static final List<String> BUSY =
      IntStream.range(0, 20).mapToObj(n -> "busy_" + n).toList();
  // What differs from two that install is the same for a few.
  private static final List<String> SOME = BUSY.subList(0, 8);
  // Of a table: of its inserts, of its updates, of its deletes, and one of all three.
  private static final long TRIGGERS_EACH = 6;

  // What is stated: 1.5 s behind a lock that is waited for, 0.5 s for what is done with it.
  private static final Duration INSTALLING = Duration.ofSeconds(2);
  // One statement of a writer may meet both, one after the other: its table, and the store.
  private static final Duration DROPPING = INSTALLING.plusMillis(2500);
  private static final Duration TOGETHER = Duration.ofMillis(800);
  // The commit, and a machine that does other things as well.
  private static final Duration SLACK = Duration.ofSeconds(2);

  @Tag("all")
  @Test
  void h84_eightyChannelsAreInstalledAndDroppedByTwoAtOnceUnderWriters(TestDatabase database)
      throws Exception {
    var channels = createBusyTables(database, BUSY);
    try (var writers = writers(database, BUSY)) {
      atOnce(() -> install(database, channels), () -> install(database, channels));
      assertThat(triggers(database)).isEqualTo(BUSY.size() * TRIGGERS_EACH);
      check("two that install", writers, INSTALLING);

      atOnce(() -> drop(database, channels), () -> drop(database, channels));
      assertThat(triggers(database)).isZero();
      assertThat(database.queryLong("select count(*) from pgonce.channel")).isZero();
      check("two that drop", writers, DROPPING);
    }
    // As a listener's housekeeping does.
    await()
        .atMost(Duration.ofSeconds(60))
        .until(
            () ->
                database
                    .queryString("select pgonce.keep_house('leftovers of drops', null)::text")
                    .equals("false"));
    assertThat(
            database.queryLong(
                "select count(*) from pgonce.notification n where subscription_id > 0 and not exists (select from pgonce.subscription s where s.id = n.subscription_id)"))
        .as("notifications of channels that are gone")
        .isZero();
  }

  @Tag("all")
  @Test
  void h84_channelsAreAppliedEachInATransactionOfTheCallersAndDroppedWhileOthersInstall(
      TestDatabase database) throws Exception {
    var channels = createBusyTables(database, SOME);
    try (var writers = writers(database, SOME)) {
      atOnce(() -> applyOneByOne(database, channels), () -> applyOneByOne(database, channels));
      assertThat(triggers(database)).isEqualTo(SOME.size() * TRIGGERS_EACH);
      check("two that apply", writers, INSTALLING);

      atOnce(() -> dropWhileOthersInstall(database, channels), () -> install(database, channels));
      check("one that drops and one that installs", writers, DROPPING);
    }
    assertThat(
            database.queryString(
                "select string_agg(p.proname, ', ') from pg_proc p where p.proname like 'capture\\_%' and not exists (select from pgonce.channel c where starts_with(substr(p.proname, 9), c.name))"))
        .as("what captures for a channel that is gone")
        .isNull();
  }

  @Test
  @Tag("all")
  void h84_channelsInOneTransactionAreAppliedOrGivenUpWithoutALongWait(TestDatabase database)
      throws Exception {
    var channels = createBusyTables(database, SOME);
    try (var writers = writers(database, SOME)) {
      var applied = applyTogether(database, channels);
      assertThat(triggers(database)).isEqualTo(applied ? SOME.size() * TRIGGERS_EACH : 0);
      check("all at once, " + (applied ? "done" : "given up"), writers, TOGETHER);
    }
    // Nobody writes any more. A disk that stands still for seconds is in the way all the same.
    await().atMost(Duration.ofSeconds(60)).until(() -> applyTogether(database, channels));
    await().atMost(Duration.ofSeconds(60)).until(() -> dropTogether(database, channels));
    assertThat(triggers(database)).isZero();
    assertThat(database.queryLong("select count(*) from pgonce.channel")).isZero();
  }

  private static TriggerChannel<?>[] createBusyTables(TestDatabase database, List<String> tables)
      throws SQLException {
    createTables(database, tables);
    PgOnce.using(database.dataSource()).install();
    return channels(tables);
  }

  private static BusyWriters writers(TestDatabase database, List<String> tables) {
    return new BusyWriters(database, tables, 3, 2, Seed.random().nextLong());
  }

  private static void install(TestDatabase database, TriggerChannel<?>... channels) {
    PgOnce.using(database.dataSource()).install(channels);
  }

  @Test
  @Tag("all")
  void h84_whoReadsForLongKeepsTheTriggerAndNobodyElse(TestDatabase database) throws Exception {
    createTables(database, List.of("report"));
    var channel = channel("report", "read");
    PgOnce.using(database.dataSource()).install(channel);
    try (var reader =
            begin(database, "set application_name = 'long report'; select * from report");
        var writers = new BusyWriters(database, List.of("report"), 2, 0, 1)) {
      var pid = reader.unwrap(PGConnection.class).getBackendPID();

      assertThatThrownBy(() -> drop(database, channel))
          .isInstanceOf(PgOnceException.class)
          .hasMessageContaining("cannot drop a trigger of channel read")
          .hasMessageContaining("table public.report is in use")
          .hasMessageContaining("backend " + pid)
          .hasMessageContaining("application long report, idle in transaction, in a transaction");

      check("behind a reader", writers, INSTALLING);
      assertThat(triggers(database)).isOne();
      reader.commit();
      drop(database, channel);
      assertThat(triggers(database)).isZero();
      check("after it", writers, DROPPING);
    }
  }

  @Test
  void h84_aWriterThatUsesTwoOfTheTablesIsNotEndedAsTheVictimOfADeadlock(TestDatabase database)
      throws Exception {
    createTables(database, List.of("one", "two"));
    PgOnce.using(database.dataSource()).install();
    try (var writer = begin(database, "insert into two values (1, 'Ann')");
        var transaction = begin(database, "select 1")) {
      var applying =
          CompletableFuture.runAsync(
              () -> apply(transaction, channel("one", "a"), channel("two", "b")));
      // One of its longest tries, which has table one, and has waited for two for a while: were it
      // to wait for a second, PostgreSQL would look for a circle, and end one of the two.
      awaitWaitsFor(database, "two", "450 ms");
      var asked = System.nanoTime();
      execute(writer, "insert into one values (1, 'Ann')");
      assertThat(Duration.ofNanos(System.nanoTime() - asked))
          .isLessThan(Duration.ofMillis(800).plus(SLACK));
      writer.commit();
      applying.get(30, TimeUnit.SECONDS);
    }
    assertThat(triggers(database)).isEqualTo(2);
  }

  @Test
  @Tag("all")
  void h83_anInstallationThatStopsHalfWaySaysWhereAndTheNextGoesOnFromThere(TestDatabase database)
      throws Exception {
    createTables(database, List.of("one", "two", "three"));
    var channels =
        new TriggerChannel<?>[] {channel("one", "a"), channel("two", "b"), channel("three", "c")};
    try (var writer = begin(database, "insert into two values (1, 'Ann')")) {
      assertThatThrownBy(() -> PgOnce.using(database.dataSource()).install(channels))
          .hasMessageContaining("cannot create the trigger of channel b")
          .hasMessageContaining("Installed before that, each in a transaction of its own: a.")
          .hasMessageContaining("Install again to go on");
      assertThat(database.queryString("select string_agg(name, ' ') from pgonce.channel"))
          .isEqualTo("a");
      writer.rollback();
    }
    PgOnce.using(database.dataSource()).install(channels);
    assertThat(triggers(database)).isEqualTo(3);
  }

  @Test
  @Tag("all")
  void h84_aStatementThatNeedsTheLocksOfManyTablesIsBoundAsAWhole(TestDatabase database)
      throws Exception {
    createTables(database, List.of("root"));
    PgOnce.using(database.dataSource()).install(channel("root", "a"));
    // By hand: two more tables whose triggers go with the function.
    createTables(database, List.of("second", "third"));
    for (var table : List.of("second", "third")) {
      database.execute(
          "create trigger also after insert on %s referencing new table as new_rows execute function pgonce_triggers.\"capture_a\"()"
              .formatted(table));
    }
    try (var reader = begin(database, "select * from third");
        var writers = new BusyWriters(database, List.of("root", "second"), 2, 0, 1)) {
      assertThatThrownBy(() -> drop(database, channel("root", "a")))
          .hasMessageContaining("is in use"); // that one, or another that goes with it
      check("with the first tables in hand", writers, TOGETHER);
      reader.commit();
    }
  }

  @Test
  @Tag("all")
  void h84_aServerThatIsTooSlowForAChangeIsNotTakenForOthersWhoUseTheTable(TestDatabase database)
      throws Exception {
    createTables(database, List.of("slow"));
    PgOnce.using(database.dataSource()).install();
    database.execute(
        "create function slow_down() returns event_trigger language plpgsql as 'begin perform pg_sleep(3); end'");
    database.execute(
        "create event trigger slow_down on ddl_command_end when tag in ('CREATE TRIGGER') execute function slow_down()");

    assertThatThrownBy(() -> PgOnce.using(database.dataSource()).install(channel("slow", "slowly")))
        .hasMessageContaining(
            "it was not done with table public.slow in the time for which writers may have to wait")
        .hasMessageContaining("Nobody is in the way any more")
        .hasMessageNotContaining("in use by others");
    assertThat(triggers(database)).isZero();
  }

  private static void check(String what, BusyWriters writers, Duration bound) {
    var longest = writers.longestWait();
    System.out.printf(
        "%s: the longest wait of %d writes was %d ms%n",
        what, writers.written(), longest.toMillis());
    assertThat(writers.failures()).as("what %s did to writers", what).isEmpty();
    assertThat(longest).as(what).isLessThan(bound.plus(SLACK));
  }

  private static TriggerChannel<?>[] channels(List<String> tables) {
    return tables.stream()
        .flatMap(
            table ->
                Stream.of(
                    channel(table, table + "_inserts"),
                    on(table).afterUpdate().named(table + "_updates").build(),
                    on(table).afterDelete().named(table + "_deletes").build(),
                    TriggerChannel.changesOf(table, Row.class)
                        .afterInsert()
                        .afterUpdate()
                        .afterDelete()
                        .named(table + "_all")
                        .build()))
        .toArray(TriggerChannel<?>[]::new);
  }

  private static TriggerChannelBuilder<Row> on(String table) {
    return TriggerChannel.on(table, Row.class);
  }

  private static TriggerChannel<Row> channel(String table, String name) {
    return on(table).afterInsert().named(name).build();
  }

  private static void createTables(TestDatabase database, List<String> tables) throws SQLException {
    for (var table : tables) {
      database.execute("create table %s (id bigint not null, name text)".formatted(table));
    }
  }

  private static long triggers(TestDatabase database) throws SQLException {
    return database.queryLong("select count(*) from pg_trigger where tgname like 'pgonce%'");
  }

  private static void drop(TestDatabase database, TriggerChannel<?>... channels) {
    try {
      Triggers.drop(database.dataSource(), channels);
    } catch (SQLException e) {
      throw new IllegalStateException(e);
    }
  }

  /** It may be refused, for a channel that the others have installed in between. */
  private static void dropWhileOthersInstall(TestDatabase database, TriggerChannel<?>... channels) {
    try {
      drop(database, channels);
    } catch (IllegalStateException e) {
      assertThat(e).hasMessageContaining("If it was installed again meanwhile");
    }
  }

  private static void applyOneByOne(TestDatabase database, TriggerChannel<?>... channels) {
    for (var channel : channels) {
      try (var transaction = begin(database, "select 1")) {
        Triggers.apply(transaction, channel);
        transaction.commit();
      } catch (SQLException e) {
        throw new IllegalStateException(e);
      }
    }
  }

  /** False if the tables were never free all at once, which writers need not suffer for. */
  private static boolean applyTogether(TestDatabase database, TriggerChannel<?>... channels)
      throws SQLException {
    return together(database, transaction -> Triggers.apply(transaction, channels));
  }

  private static boolean dropTogether(TestDatabase database, TriggerChannel<?>... channels)
      throws SQLException {
    return together(database, transaction -> Triggers.drop(transaction, channels));
  }

  private interface Change {
    void in(Connection transaction) throws SQLException;
  }

  private static boolean together(TestDatabase database, Change change) throws SQLException {
    try (var transaction = begin(database, "select 1")) {
      change.in(transaction);
      transaction.commit();
      return true;
    } catch (PgOnceException e) {
      assertThat(e).hasMessageContaining("each in a transaction of its own");
      return false;
    }
  }

  private static void apply(Connection transaction, TriggerChannel<?>... channels) {
    try {
      Triggers.apply(transaction, channels);
      transaction.commit();
    } catch (SQLException e) {
      throw new IllegalStateException(e);
    }
  }

  private static void atOnce(Runnable... works) throws Exception {
    var running = new ArrayList<CompletableFuture<Void>>();
    Stream.of(works).forEach(work -> running.add(CompletableFuture.runAsync(work)));
    for (var one : running) {
      one.get(300, TimeUnit.SECONDS);
    }
  }

  private static void awaitWaitsFor(TestDatabase database, String table, String howLong) {
    await()
        .atMost(Duration.ofSeconds(30))
        .pollInterval(Duration.ofMillis(5))
        .until(
            () ->
                database.queryLong(
                        "select count(*) from pg_locks where not granted and mode = 'ShareRowExclusiveLock' and relation = '%s'::regclass and clock_timestamp() - waitstart > interval '%s'"
                            .formatted(table, howLong))
                    > 0);
  }

  static Connection begin(TestDatabase database, String sql) throws SQLException {
    var connection = database.dataSource().getConnection();
    connection.setAutoCommit(false);
    execute(connection, sql);
    return connection;
  }

  static void execute(Connection connection, String sql) throws SQLException {
    try (var statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }
}
