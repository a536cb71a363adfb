package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.PgOnce;
import org.pgonce.PgOnceException;
import org.pgonce.testkit.JvmProcess;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import org.postgresql.PGConnection;

/** Installing: once, twice, at once, half-way, and while others use the table. */
@PgTest
class InstallTest {

  private static final Duration BOUND = Duration.ofSeconds(30);
  private static final TriggerChannel<InstallingProcess.Author> ADDED = InstallingProcess.ADDED;

  // Every row of the catalogs that an installation writes, with the transaction that wrote it.
  private static final String VERSIONS =
      """
      select (select xmin::text from pg_proc where proname = 'capture_author_inserted')
        || ' ' || (select xmin::text from pg_trigger where tgname = 'pgonce_author_inserted')
      """;

  @BeforeEach
  void table(TestDatabase database) throws Exception {
    database.execute("create table author (id bigint not null, name text)");
  }

  @Test
  void h83_installingAgainChangesNothingAndTakesNoLockOnTheTable(TestDatabase database)
      throws Exception {
    PgOnce.using(database.dataSource()).install(ADDED);
    var versions = database.queryString(VERSIONS);
    try (var other = begin(database, "lock table author in access exclusive mode")) {
      PgOnce.using(database.dataSource()).install(ADDED);
    }
    assertThat(database.queryString(VERSIONS)).isEqualTo(versions);
  }

  @Test
  void h83_severalProcessesAtOnceInstallOne(TestDatabase database) throws Exception {
    var processes = new ArrayList<JvmProcess>();
    try (var barrier = begin(database, InstallingProcess.CLOSE_BARRIER)) {
      for (var i = 0; i < 3; i++) {
        processes.add(start(database));
      }
      for (var process : processes) {
        process.awaitLine("ready", BOUND);
      }
      barrier.rollback();
      for (var process : processes) {
        assertThat(process.awaitExit(BOUND)).describedAs("%s", process.lines()).isZero();
      }
    } finally {
      processes.forEach(JvmProcess::close);
    }
    database.execute("insert into author values (1, 'Ann')");
    assertThat(
            database.queryLong(
                "select count(*) from pgonce.notification where subscription_id > 0"))
        .isOne();
  }

  @Tag("all")
  @Test
  void h83_aProcessThatIsKilledHalfWayLeavesNothing(TestDatabase database) throws Exception {
    try (var writer = begin(database, "insert into author values (1, 'Ann')");
        var process = start(database)) {
      // Schema, channel and function are made by now, and it waits for the writer to create the
      // trigger.
      awaitTableLockIsWanted(database);
      process.kill9();
      writer.commit();
    }
    await()
        .atMost(BOUND)
        .until(
            () ->
                database.queryLong(
                        "select count(*) from pg_stat_activity where application_name = 'installing'")
                    == 0);

    assertThat(database.queryString("select to_regnamespace('pgonce')")).isNull();
    database.execute("insert into author values (2, 'Bob')");
    PgOnce.using(database.dataSource()).install(ADDED);
  }

  @Test
  void h83_installationsThatNameChannelsInAnotherOrderDoNotDeadlock(TestDatabase database)
      throws Exception {
    var second =
        TriggerChannel.on("author", InstallingProcess.Author.class)
            .afterInsert()
            .named("zz")
            .build();
    PgOnce.using(database.dataSource()).install();
    try (var first = begin(database, "select 1")) {
      Triggers.apply(first, ADDED);
      var other =
          CompletableFuture.runAsync(
              () -> PgOnce.using(database.dataSource()).install(second, ADDED));
      await()
          .atMost(BOUND)
          .until(() -> database.queryLong("select count(*) from pg_locks where not granted") > 0);
      Triggers.apply(first, second);
      first.commit();
      other.get(30, TimeUnit.SECONDS);
    }
    assertThat(database.queryLong("select count(*) from pgonce.channel")).isEqualTo(2);
  }

  @Test
  void h83_twoThatRenewAFunctionAtOnceBothSucceed(TestDatabase database) throws Exception {
    PgOnce.using(database.dataSource()).install(ADDED);
    database.execute(
        "comment on function pgonce_triggers.\"capture_author_inserted\"() is 'of an older version'");
    try (var first = begin(database, "select 1")) {
      Triggers.apply(first, ADDED);
      var other =
          CompletableFuture.runAsync(() -> PgOnce.using(database.dataSource()).install(ADDED));
      await()
          .atMost(BOUND)
          .until(() -> database.queryLong("select count(*) from pg_locks where not granted") > 0);
      first.commit();
      other.get(30, TimeUnit.SECONDS);
    }
  }

  @Tag("all")
  @Test
  void installsThroughPgjdbcNgToo(TestDatabase database) throws Exception {
    PgOnce.using(database.ngDataSource()).install(ADDED);
    PgOnce.using(database.ngDataSource()).install(ADDED);

    try (var connection = database.ngDataSource().getConnection()) {
      assertThat(Triggers.check(connection, ADDED)).isEmpty();
      connection.setAutoCommit(false);
      Triggers.drop(connection, ADDED);
      Triggers.apply(connection, ADDED);
      connection.commit();
    }
    database.execute("drop trigger pgonce_author_inserted on author");
    try (var writer = begin(database, "insert into author values (1, 'Ann')")) {
      var install =
          CompletableFuture.runAsync(() -> PgOnce.using(database.ngDataSource()).install(ADDED));
      awaitTableLockIsWanted(database);
      writer.commit();
      install.get(30, TimeUnit.SECONDS);
    }
  }

  @Test
  void h84_aTableInUseIsGivenUpWithTheNameOfWhoIsInTheWayAndWritersGoOn(TestDatabase database)
      throws Exception {
    try (var writer =
        begin(
            database,
            "set application_name = 'nightly import'; insert into author values (1, 'Ann')")) {
      var pid = writer.unwrap(PGConnection.class).getBackendPID();

      var install =
          CompletableFuture.runAsync(() -> PgOnce.using(database.dataSource()).install(ADDED));
      var longestWait = Duration.ZERO;
      while (!install.isDone()) {
        var begun = System.nanoTime();
        database.execute("insert into author values (2, 'Bob')");
        longestWait = longer(longestWait, Duration.ofNanos(System.nanoTime() - begun));
      }

      // At most 1.5 s behind the lock, and what a slow machine takes to connect.
      assertThat(longestWait).isLessThan(Duration.ofSeconds(5));
      assertThatThrownBy(install::join)
          .hasCauseInstanceOf(PgOnceException.class)
          .hasMessageContaining("table public.author is in use")
          .hasMessageContaining("backend " + pid + ", role " + database.user())
          .hasMessageContaining(
              "application nightly import, idle in transaction, in a transaction for");
      assertThat(database.queryString("select to_regnamespace('pgonce')")).isNull();
    }
  }

  /** Also where a definition has SQL, which is computed from no table. */
  @Test
  void h84_whoLooksAtATableThatIsBeingChangedDoesNotWait(TestDatabase database) throws Exception {
    var withSql =
        TriggerChannel.on("author", InstallingProcess.Author.class)
            .afterInsert()
            .when("new.id > 0 and to_jsonb(new) <> '{}'")
            .build();
    try (var pgonce = PgOnce.using(database.dataSource())) {
      pgonce.install(withSql);
    }
    try (var change = begin(database, "alter table author add note text");
        var connection = database.dataSource().getConnection();
        var statement = connection.createStatement()) {
      statement.execute("set lock_timeout = '1ms'");
      assertThat(Triggers.check(connection, withSql)).isEmpty();
      assertThat(Triggers.plan(connection, withSql)).hasToString("nothing to do\n");
      change.rollback();
    }
  }

  /** A table that the SQL of a definition reads is locked to plan it. */
  @Test
  @Tag("all")
  void h84_whoLooksWaitsForABoundedTimeForWhatSqlReads(TestDatabase database) throws Exception {
    database.execute("create table rate (id int)");
    var channel =
        TriggerChannel.on("author", InstallingProcess.Author.class)
            .afterInsert()
            .when("exists (select from public.rate r where r.id = new.id)")
            .build();
    PgOnce.using(database.dataSource()).install(channel);
    try (var change = begin(database, "lock table rate in access exclusive mode");
        var connection = database.dataSource().getConnection();
        var statement = connection.createStatement()) {
      statement.execute("set statement_timeout = '30s'"); // where nothing else bounds the wait
      assertThat(Triggers.check(connection, channel))
          .singleElement()
          .asString()
          .contains("a table that it reads was locked for longer than 5 s");
      change.rollback();
      assertThat(Triggers.check(connection, channel)).isEmpty();
    }
  }

  @Tag("all")
  @Test
  void h84_aWriterThatEndsInTimeIsWaitedFor(TestDatabase database) throws Exception {
    try (var writer = begin(database, "insert into author values (1, 'Ann')");
        var process = start(database)) {
      awaitTableLockIsWanted(database);
      writer.commit();

      assertThat(process.awaitExit(BOUND)).describedAs("%s", process.lines()).isZero();
    }
  }

  @Test
  void h34_whoMayNotInstallIsToldWhatIsMissing(TestDatabase database) throws Exception {
    PgOnce.using(database.dataSource()).install();
    var login = database.loginRole("deployer", "pgonce_listener");

    assertThatThrownBy(() -> PgOnce.using(login.dataSource()).install(ADDED))
        .hasMessageContaining("GRANT pgonce_installer TO " + login.user())
        .hasMessageContaining("pgonce.install=validate");
    try (var connection = login.dataSource().getConnection()) {
      assertThat(Triggers.plan(connection, ADDED).obstacles())
          .anyMatch(it -> it.contains("GRANT pgonce_installer TO " + login.user()))
          .anyMatch(it -> it.contains("GRANT TRIGGER ON public.author TO " + login.user()));
    }

    database.execute("grant pgonce_installer to " + login.user());
    assertThatThrownBy(() -> PgOnce.using(login.dataSource()).install(ADDED))
        .hasMessageContaining("GRANT TRIGGER ON public.author TO " + login.user());
    database.execute("grant trigger on author to " + login.user());
    PgOnce.using(login.dataSource()).install(ADDED);
    assertThat(
            database.queryString(
                "select proowner::regrole from pg_proc where proname = 'capture_author_inserted'"))
        .isEqualTo(login.user());
    database.execute("insert into author values (1, 'Ann')");
    assertThat(database.queryLong("select backlog from pgonce.channel_status")).isEqualTo(1);
  }

  private static Duration longer(Duration one, Duration other) {
    return one.compareTo(other) >= 0 ? one : other;
  }

  private static void awaitTableLockIsWanted(TestDatabase database) {
    await()
        .atMost(BOUND)
        .until(
            () ->
                database.queryLong(
                        "select count(*) from pg_locks where not granted and mode = 'ShareRowExclusiveLock' and database = (select oid from pg_database where datname = current_database())")
                    > 0);
  }

  private static Connection begin(TestDatabase database, String sql) throws SQLException {
    var connection = database.dataSource().getConnection();
    connection.setAutoCommit(false);
    try (var statement = connection.createStatement()) {
      statement.execute(sql);
    }
    return connection;
  }

  private static JvmProcess start(TestDatabase database) {
    return JvmProcess.start(
        InstallingProcess.class, database.jdbcUrl(), database.user(), database.password());
  }
}
