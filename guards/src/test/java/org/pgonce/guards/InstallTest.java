package org.pgonce.guards;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.flywaydb.core.Flyway;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.pgonce.PgOnceException;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** The schema pgonce_guards by itself: by Java, as a script, again, at once, after a restore. */
@Tag("versions")
@PgTest
class InstallTest {

  private static final Guard<String, String> PAYMENT =
      Guard.of("payment", String.class, String.class);

  private static final String VERSION =
      "select obj_description('pgonce_guards'::regnamespace, 'pg_namespace')";

  private static void assertWorks(TestDatabase database) throws SQLException {
    var shop = Guards.using(database.loginRole("shop", "pgonce_guard").unpooled());
    assertThat(shop.once(PAYMENT, "order-1", "7 EUR", () -> "receipt").orElseThrow())
        .isEqualTo("receipt");
    var sequence = Guard.of("fulfilment", String.class, String.class);
    assertThat(
            shop.run(sequence, "k", "r", s -> s.once("a", String.class, () -> "b")).orElseThrow())
        .isEqualTo("b");
    assertThat(shop.open(10)).isEmpty();
    assertThat(shop.purge(10)).isZero();
  }

  private static void assertOwned(TestDatabase database) throws SQLException {
    assertThat(
            database.queryString(
                """
                select string_agg(p.oid::regprocedure::text, ', ') from pg_proc p where p.pronamespace = 'pgonce_guards'::regnamespace
                   and (p.proowner <> 'pgonce_owner'::regrole or has_function_privilege('public', p.oid, 'EXECUTE'))
                """))
        .isNull();
    assertThat(
            database.queryString(
                "select string_agg(c.relname, ', ') from pg_class c where c.relnamespace = 'pgonce_guards'::regnamespace and c.relowner <> 'pgonce_owner'::regrole"))
        .isNull();
  }

  @Test
  void example_guardsNeedNoChannel(TestDatabase database) throws Exception {
    Guards.using(database.dataSource()).install();

    assertThat(database.queryString("select to_regnamespace('pgonce')")).isNull();
    assertWorks(database);
    assertOwned(database);
  }

  @Test
  void installsThroughPgjdbcNgToo(TestDatabase database) throws Exception {
    var guards = Guards.using(database.ngDataSource()).install().install();
    assertThat(guards.once(PAYMENT, "k", "r", () -> "done").orElseThrow()).isEqualTo("done");
  }

  @Test
  void h83_installAgainChangesNothingAndNeedsNoRight(TestDatabase database) throws Exception {
    Guards.using(database.dataSource()).install();
    assertWorks(database);
    var version = database.queryString(VERSION);
    database.execute("comment on schema pgonce_guards is 'pgonce guards, version 99: a later one'");
    Guards.using(database.loginRole("nobody").dataSource()).install();
    assertThat(database.queryString(VERSION)).contains("version 99");
    database.execute("comment on schema pgonce_guards is null");
    Guards.using(database.dataSource()).install();
    assertThat(database.queryString(VERSION)).isEqualTo(version);
    assertThat(database.queryLong("select count(*) from pgonce_guards.guard")).isEqualTo(3);
  }

  /** Flyway logs each word of the server's as a warning. */
  @Test
  void h83_theFileSaysNothingWhereAllIsThereAlready(TestDatabase database) throws Exception {
    try (var connection = database.dataSource().getConnection();
        var statement = connection.createStatement()) {
      for (var run = 1; run <= 2; run++) {
        statement.execute(Guards.migration());
        assertThat((Object) statement.getWarnings()).as("run %d", run).isNull();
      }
      try (var row = statement.executeQuery("show client_min_messages")) {
        row.next();
        assertThat(row.getString(1)).isEqualTo("notice");
      }
    }
  }

  /** The list of what is open, as version 1 had it. */
  @Test
  void h83_anOlderInstallationGetsTheLargerView(TestDatabase database) throws Exception {
    Guards.using(database.dataSource()).install();
    database.execute(
        """
        drop view pgonce_guards.guard_status;
        drop index pgonce_guards.guard_failed;
        set role pgonce_owner;
        create view pgonce_guards.guard_status as
        select g.scope, g.key, g.step, g.kind, case when g.outcome <> 'STARTED' or g.unknown_at > clock_timestamp() then g.outcome else 'UNKNOWN' end as outcome,
               clock_timestamp() - g.started_at as age, g.attempt, g.instance, g.role, g.started_at, g.unknown_at, g.error
          from pgonce_guards.guard g where g.keep_until is null;
        comment on schema pgonce_guards is 'pgonce guards, version 1: see docs/guards.md of pgonce';
        """);
    Guards.using(database.dataSource()).install();
    assertThat(database.queryLong("select count(keep_until) from pgonce_guards.guard_status"))
        .isZero();
    assertThat(database.queryString("select to_regclass('pgonce_guards.guard_failed')::text"))
        .isEqualTo("pgonce_guards.guard_failed");
    assertWorks(database);
  }

  @Test
  void h83_severalThatInstallAtOnceAllSucceed(TestDatabase database) throws Exception {
    var all = new ArrayList<CompletableFuture<?>>();
    for (var n = 0; n < 8; n++) {
      all.add(CompletableFuture.runAsync(() -> Guards.using(database.dataSource()).install()));
      all.add(CompletableFuture.runAsync(() -> runFile(database)));
    }
    for (var one : all) {
      one.get(60, TimeUnit.SECONDS);
    }
    assertWorks(database);
  }

  /** As psql does. */
  private static void runFile(TestDatabase database) {
    try {
      database.execute(Guards.migration());
    } catch (SQLException e) {
      throw new IllegalStateException(e);
    }
  }

  @Test
  void h34_whoMayNotInstallIsTold(TestDatabase database) throws Exception {
    var nobody = Guards.using(database.loginRole("nobody").dataSource());
    assertThatThrownBy(nobody::install)
        .isInstanceOf(PgOnceException.class)
        .hasMessageContaining("pgonce cannot install guards, nothing was changed: ")
        .hasMessageContaining("run what Guards.migration() prints");
    assertThat(database.queryString("select to_regnamespace('pgonce_guards')")).isNull();
    assertThatThrownBy(() -> nobody.once(PAYMENT, "k", "r", () -> "done"))
        .hasMessageContaining("the call was not made");
  }

  /** A role that is no superuser, and may act as the owner. */
  @Test
  void h34_aMemberOfTheOwnerInstalls(TestDatabase database) throws Exception {
    database.execute(
        "do $$ begin create role pgonce_owner nologin; exception when duplicate_object or unique_violation then null; end $$");
    var deployer = database.loginRole("deployer", "pgonce_owner");
    database.execute(
        "grant create on database %s to %s; alter role %2$s createrole"
            .formatted(database.name(), deployer.user()));
    Guards.using(deployer.dataSource()).install();
    assertWorks(database);
    assertOwned(database);

    // A new release makes no schema.
    database.execute(
        "revoke create on database %s from %s".formatted(database.name(), deployer.user()));
    try (var connection = deployer.dataSource().getConnection();
        var statement = connection.createStatement()) {
      statement.execute(Guards.migration());
    }
  }

  @Test
  void h34_whoMayNotIsToldWhatToGrantAndWhereNothingIsInstalledWhatToDo(TestDatabase database)
      throws Exception {
    var nobody = database.loginRole("nobody").dataSource();
    var guards = Guards.using(nobody);
    for (var missing : List.of("Guards.install()", "GRANT pgonce_guard TO")) {
      assertThatThrownBy(() -> guards.once(PAYMENT, "k", "r", () -> "done"))
          .hasMessageContaining("the call was not made")
          .hasMessageContaining(missing);
      assertThatThrownBy(() -> guards.open(10)).hasMessageContaining(missing);
      assertThatThrownBy(() -> guards.find(PAYMENT.key("k"))).hasMessageContaining(missing);
      try (var transaction = nobody.getConnection()) {
        transaction.setAutoCommit(false);
        assertThatThrownBy(() -> guards.inTransaction(transaction, PAYMENT, "k", "r", () -> "done"))
            .isInstanceOf(SQLException.class)
            .hasMessageContaining(missing);
      }
      Guards.using(database.dataSource()).install();
    }
    var shop = Guards.using(database.loginRole("shop", "pgonce_guard").dataSource());
    assertThatThrownBy(() -> shop.release(PAYMENT.key("k"), "ada", "why"))
        .hasMessageContaining("permission denied")
        .hasMessageContaining("pgonce_admin");
  }

  /** Each function is for the roles that need it; three are for other functions only. */
  @Test
  void h34_eachRoleMayCallWhatItNeeds(TestDatabase database) throws Exception {
    Guards.using(database.dataSource()).install();
    for (var role : List.of("pgonce_guard", "pgonce_listener", "pgonce_admin")) {
      assertThat(
              database.queryString(
                  """
                  select string_agg(p.proname, ' ' order by p.proname collate "C") from pg_proc p
                   where p.pronamespace = 'pgonce_guards'::regnamespace and has_function_privilege('%s', p.oid, 'EXECUTE')
                  """
                      .formatted(role)))
          .isEqualTo(
              role.equals("pgonce_admin")
                  ? "guard_purge guard_standing release_guard settle_guard"
                  : "guard_begin guard_enter guard_finish guard_probed guard_purge guard_standing sequence_steps step_begin step_done");
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        """
        quote_all_identifiers = on
        plpgsql.extra_errors = 'all'
        plpgsql.extra_warnings = 'all'
        default_transaction_isolation = 'serializable'
        default_transaction_deferrable = on
        standard_conforming_strings = off
        DateStyle = 'German, DMY'
        IntervalStyle = 'sql_standard'
        TimeZone = 'Asia/Kathmandu'
        bytea_output = 'escape'
        extra_float_digits = -15
        """,
        """
        check_function_bodies = off
        default_transaction_isolation = 'repeatable read'
        transform_null_equals = on
        array_nulls = off
        DateStyle = 'SQL, MDY'
        IntervalStyle = 'postgres_verbose'
        """
      })
  void h77_whateverTheDatabaseHasAsItsDefaults(String settings, TestDatabase database)
      throws Exception {
    for (var setting : settings.lines().toList()) {
      database.execute("alter database %s set %s".formatted(database.name(), setting));
    }
    Guards.using(database.dataSource()).install().install();
    assertThat(Guards.using(database.dataSource()).once(PAYMENT, "k", "r", () -> "x").orElseThrow())
        .isEqualTo("x");
    database.execute(Guards.migration());
    database.execute(uninstallScript());
    assertThat(database.queryString("select to_regnamespace('pgonce_guards')")).isNull();
  }

  static String uninstallScript() {
    try {
      return Files.readString(Path.of("../sql/guards/uninstall.sql"));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Test
  void h76_theScriptRunsAgainBesideOpenTransactions(TestDatabase database) throws Exception {
    database.execute(Guards.migration());
    assertWorks(database);
    try (var open = database.dataSource().getConnection();
        var statement = open.createStatement()) {
      open.setAutoCommit(false);
      statement.execute(
          "update pgonce_guards.guard set attempt = attempt; select count(*) from pgonce_guards.guard_status, pgonce_guards.guard_history");
      database.execute("set lock_timeout = '1s'; " + Guards.migration());
      open.commit();
    }
  }

  @Test
  void h37_theSessionHasItsPathAndRoleAgain(TestDatabase database) throws Exception {
    Guards.using(database.dataSource()).install();
    try (var session = database.dataSource().getConnection();
        var statement = session.createStatement()) {
      statement.execute("set search_path = public, pg_catalog; set role " + database.user());
      statement.execute(Guards.migration());
      try (var row =
          statement.executeQuery(
              "select current_setting('search_path') || ', ' || current_setting('role')")) {
        row.next();
        assertThat(row.getString(1)).isEqualTo("public, pg_catalog, " + database.user());
      }
    }
  }

  /** As pg_restore --no-owner and --no-privileges leave it. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "reassign owned by pgonce_owner to current_user",
        "revoke all on schema pgonce_guards from pgonce_guard, pgonce_listener, pgonce_admin",
      })
  void h72_ownersAndRightsComeBack(String loss, TestDatabase database) throws Exception {
    Guards.using(database.dataSource()).install();
    database.execute(loss);
    Guards.using(database.dataSource()).install();
    assertOwned(database);
    assertWorks(database);
  }

  /** A migration without a version clashes with no version of the user's. */
  @Test
  void itIsARepeatableMigrationOfFlyway(@TempDir Path directory, TestDatabase database)
      throws Exception {
    Files.writeString(directory.resolve("V1__init.sql"), "create table orders (id bigint);");
    for (var last : List.of("", "\n-- a later version\n")) {
      Files.writeString(directory.resolve("R__pgonce_guards.sql"), Guards.migration() + last);
      var migrated =
          Flyway.configure()
              .dataSource(database.dataSource())
              .locations("filesystem:" + directory)
              .load()
              .migrate();
      assertThat(migrated.success).isTrue();
      assertThat(migrated.migrationsExecuted).isEqualTo(last.isEmpty() ? 2 : 1);
    }
    Guards.using(database.loginRole("nobody").dataSource()).install(); // finds it done
    assertWorks(database);
  }
}
