package org.pgonce.install;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.PgOnceException;
import org.pgonce.UnreachableException;
import org.pgonce.internal.store.Schema;
import org.pgonce.testkit.FaultProxy;
import org.pgonce.testkit.JvmProcess;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.Seed;
import org.pgonce.testkit.TestDatabase;
import org.postgresql.ds.PGSimpleDataSource;

/** H83 and the files of sql/: idempotent, all or nothing, by the library and by hand. */
@PgTest
@Tag("drivers")
class InstallTest {

  private static final Channel<String> CHANNEL = Channel.of("orders", String.class);

  @Test
  void h83_installingTwiceChangesNothing(TestDatabase database) throws Exception {
    PgOnce.using(database.unpooled()).install(CHANNEL);
    var before = fingerprint(database);
    PgOnce.using(database.unpooled()).install(CHANNEL);
    assertThat(fingerprint(database)).isEqualTo(before);
    assertThat(database.queryLong("select max(version) from pgonce.schema_version"))
        .isEqualTo(Schema.latest());
  }

  /** Flyway logs each word of the server's as a warning. */
  @Test
  void h83_theFilesSayNothingWhereAllIsThereAlready(TestDatabase database) throws Exception {
    try (var connection = database.dataSource().getConnection();
        var statement = connection.createStatement()) {
      for (var run = 1; run <= 2; run++) {
        statement.execute(PgOnce.migration());
        assertThat((Object) statement.getWarnings()).as("run %d", run).isNull();
      }
      try (var row = statement.executeQuery("show client_min_messages")) {
        row.next();
        assertThat(row.getString(1)).isEqualTo("notice");
      }
    }
  }

  @Test
  void h50_anInstallationWhoseCommitWasNotAnsweredIsNotSaidToHaveChangedNothing(
      TestDatabase database) throws Exception {
    try (var proxy = FaultProxy.to(database)) {
      // The files of sql/ speak of commits too.
      proxy.after("SELECT pgonce.install_channel('").cutAfterForwarding("COMMIT");
      var pgonce = PgOnce.using(database.login().through(proxy).unpooled());
      assertThatThrownBy(() -> pgonce.install(CHANNEL))
          .isInstanceOf(PgOnceException.class)
          .hasMessageContaining("what became of it is not known")
          .hasMessageNotContaining("nothing was changed");
      // The connection is cut when the commit is on its way.
      await()
          .atMost(Duration.ofSeconds(10))
          .ignoreExceptions()
          .until(() -> database.queryLong("select count(*) from pgonce.channel") == 1);
      pgonce.install(CHANNEL);
    }
  }

  /** A service whose database is not up yet, at its first start. */
  @Test
  void anInstallationThatFoundNoServerIsSaidToHaveChangedNothing() {
    var nowhere = new PGSimpleDataSource();
    nowhere.setUrl("jdbc:postgresql://127.0.0.1:1/nowhere");
    assertThatThrownBy(() -> PgOnce.using(nowhere).install(CHANNEL))
        .isInstanceOf(UnreachableException.class)
        .hasMessageContaining("nothing was changed: ")
        .hasMessageContaining("127.0.0.1:1 refused")
        .hasMessageNotContaining("what became of it is not known");
    assertThatThrownBy(() -> PgOnce.using(nowhere).check(CHANNEL))
        .isInstanceOf(UnreachableException.class);
  }

  @Test
  void h83_manyAtOnceInstallOnce(TestDatabase database) throws Exception {
    var together = new CountDownLatch(1);
    Callable<Boolean> installer =
        () -> {
          together.await();
          PgOnce.using(database.unpooled()).install(CHANNEL, Channel.of("others", String.class));
          return true;
        };
    var threads = Executors.newFixedThreadPool(8);
    try {
      List<Future<Boolean>> done = new ArrayList<>();
      for (var i = 0; i < 8; i++) {
        done.add(threads.submit(installer));
      }
      together.countDown();
      for (var one : done) {
        assertThat(one.get()).isTrue();
      }
    } finally {
      threads.shutdownNow();
    }
    assertThat(database.queryLong("select count(*) from pgonce.channel")).isEqualTo(2);
    assertThat(database.queryLong("select count(*) from pgonce.subscription")).isEqualTo(2);
  }

  /** By psql, say, in several places at once, and beside a process that installs at its start. */
  @Test
  void h83_filesAndLibraryInstallAtOnce(TestDatabase database) throws Exception {
    for (var run = 1; run <= 2; run++) { // a new schema, and one that is there
      var all = new ArrayList<CompletableFuture<?>>();
      all.add(CompletableFuture.runAsync(() -> PgOnce.using(database.unpooled()).install(CHANNEL)));
      for (var n = 0; n < 4; n++) {
        all.add(CompletableFuture.runAsync(() -> runFiles(database)));
      }
      for (var one : all) {
        one.get(60, TimeUnit.SECONDS);
      }
    }
    assertThat(database.queryLong("select count(*) from pgonce.channel")).isEqualTo(1);
  }

  private static void runFiles(TestDatabase database) {
    try (var connection = database.unpooled().getConnection();
        var statement = connection.createStatement()) {
      connection.setAutoCommit(false);
      statement.execute(PgOnce.migration());
      connection.commit();
    } catch (SQLException e) {
      throw new IllegalStateException(e);
    }
  }

  /** In whatever order they were added. Else each would wait for what the other one has. */
  @Test
  void h83_anInstallationWaitsForAPauseWithoutAnyOfItsSubscriptions(TestDatabase database)
      throws Exception {
    var one = ChannelOptions.DEFAULT.withSubscriptions("audit");
    var both = ChannelOptions.DEFAULT.withSubscriptions("audit", "mail");
    PgOnce.using(database.unpooled())
        .install(Channel.of("orders", String.class, Mode.EXACTLY_ONCE, one));
    var channel = Channel.of("orders", String.class, Mode.EXACTLY_ONCE, both);
    PgOnce.using(database.unpooled()).install(channel);
    try (var connection = database.unpooled().getConnection();
        var operator = connection.createStatement()) {
      operator.execute("begin; select pgonce.pause('orders', 'why', 'audit')");
      var install =
          CompletableFuture.runAsync(() -> PgOnce.using(database.unpooled()).install(channel));
      await()
          .atMost(Duration.ofSeconds(30))
          .until(
              () ->
                  database.queryLong(
                          "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'")
                      == 1);
      operator.execute("select pgonce.pause('orders', 'why'); commit");
      install.get(30, TimeUnit.SECONDS);
    }
    assertThat(database.queryLong("select count(paused_at) from pgonce.subscription")).isEqualTo(2);
  }

  @Test
  void h83_killedHalfWayItIsAllOrNothing(TestDatabase database) throws Exception {
    var random = Seed.random();
    for (var round = 0; round < 4; round++) {
      try (var process = JvmProcess.start(Installer.class, database.jdbcUrl(), database.user())) {
        process.awaitLine("installing", Duration.ofSeconds(30));
        // Somewhere in the few dozen milliseconds that the DDL takes.
        spinMillis(random.nextInt(60));
        process.kill9();
      }
      var version = database.queryString("select to_regclass('pgonce.schema_version')::text");
      if (version != null) {
        assertThat(database.queryLong("select max(version) from pgonce.schema_version"))
            .isEqualTo(Schema.latest());
        assertThat(database.queryLong("select count(*) from pgonce.subscription")).isEqualTo(1);
      }
    }
    PgOnce.using(database.unpooled()).install(CHANNEL);
    assertThat(database.queryLong("select count(*) from pgonce.subscription")).isEqualTo(1);
  }

  /**
   * Hits a moment inside another process's work; nothing to wait for, and too short for a timer.
   */
  private static void spinMillis(int millis) {
    var end = System.nanoTime() + Duration.ofMillis(millis).toNanos();
    while (System.nanoTime() < end) {
      Thread.onSpinWait();
    }
  }

  /** Installs in a process of its own, to be killed. */
  static final class Installer {
    public static void main(String[] arguments) {
      var dataSource = new org.postgresql.ds.PGSimpleDataSource();
      dataSource.setUrl(arguments[0]);
      dataSource.setUser(arguments[1]);
      System.out.println("installing");
      PgOnce.using(dataSource).install(CHANNEL);
    }
  }

  @Test
  void h83_anOlderLibraryLeavesANewerSchemaAlone(TestDatabase database) throws Exception {
    PgOnce.using(database.unpooled()).install(CHANNEL);
    database.execute("insert into pgonce.schema_version (version) values (99)");
    PgOnce.using(database.unpooled()).install(CHANNEL);
    assertThat(database.queryLong("select max(version) from pgonce.schema_version")).isEqualTo(99);
  }

  @Test
  void sql_anOlderServerIsRefusedByItsVersion(TestDatabase database) throws Exception {
    var asIfOlder = Schema.script().replace("< 140000", "< 990000");
    assertThatThrownBy(() -> database.execute(asIfOlder))
        .hasMessageContaining(
            "pgonce needs PostgreSQL 14 or later, and this server is of version ");
    assertThat(database.queryLong("select count(*) from pg_namespace where nspname = 'pgonce'"))
        .isZero();
  }

  @Test
  void sql_theMigrationAsPrintedGivesTheSameSchemaAsTheLibrary(TestDatabase database)
      throws Exception {
    PgOnce.using(database.unpooled()).install(CHANNEL);
    var byLibrary = fingerprint(database);
    database.execute("drop schema pgonce, pgonce_private cascade");
    // Twice: each file may run again without harm.
    database.execute(PgOnce.migration(CHANNEL));
    database.execute(PgOnce.migration(CHANNEL));
    assertThat(fingerprint(database)).isEqualTo(byLibrary);
  }

  /** Of an earlier version, say. Its grants come back; the others are not touched. */
  @Test
  void sql_aViewIsMadeAgainWhereItsDefinitionChanged(TestDatabase database) throws Exception {
    PgOnce.using(database.unpooled()).install(CHANNEL);
    var state = fingerprint(database);
    var kept = "select 'pgonce.channel_status'::regclass::oid";
    var keptBefore = database.queryLong(kept);
    database.execute(
        """
        drop view pgonce.retry_status;
        create view pgonce.retry_status as select 1 as former;
        comment on view pgonce.retry_status is 'pgonce: definition 000000000000'
        """);
    database.execute(PgOnce.migration());
    assertThat(fingerprint(database)).isEqualTo(state);
    assertThat(database.queryLong(kept)).isEqualTo(keptBefore);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "'a/b', 'EXACTLY_ONCE', 'published'",
        "null, 'EXACTLY_ONCE', 'published'",
        "'mails', 'exactly_once', 'published'",
        "'mails', 'EXACTLY_ONCE', null",
        "'mails', 'EXACTLY_ONCE', 'published', '[]'",
        "'mails', 'EXACTLY_ONCE', 'published', '{\"A\": null}'",
        "'mails', 'EXACTLY_ONCE', 'published', '{\"a\": 1}'",
        "'mails', 'EXACTLY_ONCE', 'published', key_order => 'STRICT'",
        "'mails', 'EXACTLY_ONCE', 'published', wake_ups => 'SOMETIMES'"
      })
  void sql_whatIsOutOfItsBoundsIsToldBeforeAnythingIsStored(String arguments, TestDatabase database)
      throws Exception {
    database.execute(PgOnce.migration());
    assertThatThrownBy(() -> database.execute("select pgonce.install_channel(" + arguments + ")"))
        .hasMessageContaining("was not installed, a setting is out of its bounds");
    database.execute("select pgonce.install_channel('mails', 'EXACTLY_ONCE', 'published')");
    assertThatThrownBy(() -> database.execute("select pgonce.change_mode('mails', 'TWICE')"))
        .hasMessageContaining("there is no mode TWICE; give EXACTLY_ONCE");
  }

  @Test
  void sql_uninstallLeavesNothing(TestDatabase database) throws Exception {
    PgOnce.using(database.unpooled()).install(CHANNEL);
    try (var in = InstallTest.class.getResourceAsStream("/org/pgonce/sql/uninstall.sql")) {
      database.execute(new String(in.readAllBytes(), java.nio.charset.StandardCharsets.UTF_8));
    }
    assertThat(database.queryString("select to_regnamespace('pgonce')::text")).isNull();
    assertThat(database.queryString("select to_regnamespace('pgonce_private')::text")).isNull();
  }

  @Test
  void sql_functionsForPublicTouchNoTableAndEachPinsItsSearchPath(TestDatabase database)
      throws Exception {
    PgOnce.using(database.unpooled()).install(CHANNEL);
    assertThat(
            database.queryString(
                """
                select string_agg(p.oid::regprocedure::text, ', ') from pg_proc p
                 where p.pronamespace in ('pgonce'::regnamespace, 'pgonce_private'::regnamespace)
                   and (p.proowner <> 'pgonce_owner'::regrole
                     or p.proacl is null
                     or not coalesce(p.proconfig, '{}') @> array['search_path=pg_catalog, pg_temp'] and p.proname not in ('wake_up', 'gate_of', 'needs_notify', 'try_key', 'key_wait', 'is_open', 'gate_is_unfit', 'fingerprint', 'store_one', 'store_orders', 'current_context', 'current_depth'))
                """))
        .isNull();
    assertThat(
            database.queryString(
                """
                select string_agg(p.proname || case when p.prosecdef then ' as its owner' else '' end, ', ' order by p.proname) from pg_proc p
                 where p.pronamespace in ('pgonce'::regnamespace, 'pgonce_private'::regnamespace)
                   and exists (select from aclexplode(p.proacl) a where a.grantee = 0)
                """))
        .isEqualTo(
            "current_context, current_depth, given_due, given_key, given_payload, join_key, key_part, needs_notify, read_context as its owner, read_depth as its owner, require_pairs, row_key, shown_error");
  }

  /** What is in pgonce_private is called with the rights of pgonce_owner, and by no login. */
  @Test
  void sql_noRoleReachesPgoncePrivate(TestDatabase database) throws Exception {
    PgOnce.using(database.unpooled()).install(CHANNEL);
    assertThat(
            database.queryString(
                """
                select string_agg(r.rolname || ' ' || coalesce(p.oid::regprocedure::text, 'uses the schema'), ', ')
                  from pg_roles r left join pg_proc p
                    on p.pronamespace = 'pgonce_private'::regnamespace and has_function_privilege(r.oid, p.oid, 'EXECUTE')
                 where r.rolname in ('pgonce_publisher', 'pgonce_listener', 'pgonce_admin', 'pgonce_monitor', 'pgonce_installer')
                   and (p.oid is not null or has_schema_privilege(r.oid, 'pgonce_private', 'USAGE'))
                """))
        .isNull();
    var nobody =
        database.loginRole("nobody", "pgonce_listener", "pgonce_publisher", "pgonce_admin");
    try (var connection = nobody.unpooled().getConnection();
        var statement = connection.createStatement()) {
      assertThatThrownBy(() -> statement.execute("select pgonce_private.keep_padding()"))
          .hasMessageContaining("permission denied for schema pgonce_private");
    }
  }

  /**
   * A function of schema pgonce is granted to a role, or is called by others as pgonce_owner. A
   * channel's store function is granted to who owns its triggers.
   */
  @Test
  void sql_eachFunctionOfPgonceIsGrantedOrCalledByOthers(TestDatabase database) throws Exception {
    PgOnce.using(database.unpooled()).install(CHANNEL);
    assertThat(
            database.queryString(
                """
                select string_agg(p.proname, ' ' order by p.proname) from pg_proc p
                 where p.pronamespace = 'pgonce'::regnamespace
                   and not exists (select from aclexplode(p.proacl) a where a.grantee <> p.proowner)
                """))
        .isEqualTo("broadcast fingerprint gate_of stamp store store_orders take_keys wake_up");
  }

  /** A new version of the operating system's collations must not break what keeps keys unique. */
  @Test
  void sql_eachTextInAUniqueIndexIsComparedToTheByte(TestDatabase database) throws Exception {
    PgOnce.using(database.unpooled()).install(CHANNEL);
    assertThat(
            database.queryString(
                """
                select string_agg(i.indexrelid::regclass || ' ' || k.n, ', ') from pg_index i
                  join pg_class c on c.oid = i.indexrelid
                 cross join generate_series(0, i.indnatts - 1) as k (n)
                 where c.relnamespace = 'pgonce'::regnamespace and i.indisunique
                   and i.indcollation[k.n] not in (0, '"C"'::regcollation)
                """))
        .isNull();
    assertThat(
            database.queryString(
                """
                select string_agg(distinct a.attcollation::regcollation::text, ', ') from pg_attribute a join pg_class c on c.oid = a.attrelid
                 where c.relnamespace = 'pgonce'::regnamespace and c.relkind = 'r' and a.attname in ('delivery_key', 'order_key')
                """))
        .isEqualTo("\"C\"");
  }

  /** It pins nothing, so that it costs nothing; it names all in full, and has no rights to lend. */
  @Test
  void sql_aWakeUpIsPutInThePlaceOfItsCall(TestDatabase database) throws Exception {
    PgOnce.using(database.unpooled()).install(CHANNEL);
    assertThat(
            database.queryString(
                "select prosecdef || ' ' || prosrc from pg_proc where oid = 'pgonce.wake_up'::regproc"))
        .isEqualTo(
            "false  SELECT pg_catalog.pg_notify('pgonce_' OPERATOR(pg_catalog.||) channel_name, kind) ");
    try (var connection = database.unpooled().getConnection();
        var statement = connection.createStatement()) {
      assertThat(plan(statement, "pgonce.wake_up('orders')"))
          .contains("pg_notify('pgonce_orders'::text")
          .doesNotContain("wake_up");
      assertThat(plan(statement, "pgonce.needs_notify(pgonce.gate_of('orders'))"))
          .contains("to_regclass('pgonce.\"gate_orders\"'::text")
          .doesNotContain("needs_notify")
          .doesNotContain("gate_of");
    }
  }

  private static String plan(Statement statement, String expression) throws SQLException {
    try (var plan = statement.executeQuery("explain verbose select " + expression)) {
      var lines = new StringBuilder();
      while (plan.next()) {
        lines.append(plan.getString(1));
      }
      return lines.toString();
    }
  }

  /** Everything in the schema, with its definition and rights. */
  private static String fingerprint(TestDatabase database) throws SQLException {
    return database.queryString(
        """
        select string_agg(line, e'\\n' order by line) from (
          select pg_get_functiondef(p.oid) || coalesce(p.proacl::text, '') from pg_proc p where p.pronamespace in ('pgonce'::regnamespace, 'pgonce_private'::regnamespace)
          union all
          select c.relname || c.relkind::text || coalesce(c.relacl::text, '') || coalesce(pg_get_viewdef(c.oid), '') || coalesce(c.reloptions::text, '')
            from pg_class c where c.relnamespace = 'pgonce'::regnamespace
          union all
          select a.attrelid::regclass::text || a.attname || format_type(a.atttypid, a.atttypmod) from pg_attribute a
            join pg_class c on c.oid = a.attrelid where c.relnamespace = 'pgonce'::regnamespace and a.attnum > 0
        ) as s (line)
        """);
  }
}
