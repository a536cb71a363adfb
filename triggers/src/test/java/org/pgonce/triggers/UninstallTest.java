package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.pgonce.PgOnce;
import org.pgonce.internal.store.Schema;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import tools.jackson.databind.JsonNode;

/** H74: what is removed is pgonce's; what is left is said. */
@Tag("versions")
@PgTest
class UninstallTest {

  private static final TriggerChannel<JsonNode> ADDED =
      TriggerChannel.on("author", JsonNode.class).afterInsert().build();

  /** What users own by pgonce's roles, and have granted them. */
  private static final String OF_USERS =
      """
      create table kept (id int);
      alter table kept owner to pgonce_owner;
      create function kept_function() returns int language sql as 'select 1';
      alter function kept_function() owner to pgonce_admin;
      create view kept_view as select * from kept;
      alter view kept_view owner to pgonce_owner;
      create table granted (id int);
      grant select on granted to pgonce_listener, pgonce_owner;
      create schema reports;
      create table reports.monthly (id int);
      alter table reports.monthly owner to pgonce_publisher;
      alter default privileges for role pgonce_owner in schema reports grant select on tables to pgonce_admin;
      alter default privileges in schema reports grant select on tables to pgonce_listener;
      """;

  private static final String STATE =
      """
      select string_agg(line, E'\\n' order by line) from (
        select c.oid::regclass::text || c.relowner::regrole || coalesce(c.relacl::text, '') from pg_class c
         where c.relnamespace in ('public'::regnamespace, 'reports'::regnamespace)
        union all
        select p.oid::regprocedure::text || p.proowner::regrole || coalesce(p.proacl::text, '') from pg_proc p
         where p.pronamespace = 'public'::regnamespace
        union all
        select d.defaclrole::regrole::text || d.defaclnamespace::regnamespace || d.defaclacl::text from pg_default_acl d where d.defaclnamespace <> 0
      ) as s (line)
      """;

  private static final String WAITING_FOR_AUTHOR =
      "select count(*) from pg_locks where not granted and relation = 'author'::regclass and database = (select oid from pg_database where datname = current_database())";

  private static final Duration SOON = Duration.ofSeconds(30);

  enum Way {
    SCRIPT(Schema.uninstallScript()),
    DOWN_MIGRATION(Migration.ofSchema().down());

    private final String sql;

    Way(String sql) {
      this.sql = sql;
    }

    /** Returns what it says. */
    String run(TestDatabase database) throws SQLException {
      try (var connection = database.dataSource().getConnection();
          var statement = connection.createStatement()) {
        statement.execute(sql);
        var said = new StringBuilder();
        for (var warning = statement.getWarnings();
            warning != null;
            warning = warning.getNextWarning()) {
          said.append(warning.getMessage()).append('\n');
        }
        return said.toString();
      }
    }
  }

  @BeforeEach
  void install(TestDatabase database) throws SQLException {
    database.execute("create table author (id bigint primary key, name text)");
    PgOnce.using(database.dataSource()).install(ADDED);
  }

  @ParameterizedTest
  @EnumSource(Way.class)
  void h74_whatUsersOwnByItsRolesElsewhereIsKeptAndSaid(Way way, TestDatabase database)
      throws Exception {
    database.execute(OF_USERS);
    var before = database.queryString(STATE);

    var said = way.run(database);

    assertThat(database.queryString(STATE)).isEqualTo(before);
    assertThat(database.queryString("select to_regnamespace('pgonce')::text")).isNull();
    assertThat(database.queryLong("select count(*) from pg_trigger where not tgisinternal"))
        .isZero();
    assertThat(database.queryLong("select count(*) from pg_default_acl where defaclnamespace = 0"))
        .as("default privileges of the installation")
        .isZero();
    for (var kept :
        List.of(
            "role pgonce_owner is kept, as it still owns something or was granted something: ",
            "owner of table kept",
            "owner of function kept_function()",
            "privileges for table granted",
            "owner of table reports.monthly",
            "then DROP ROLE pgonce_owner")) {
      assertThat(said.replace("public.", "")).contains(kept);
    }
    assertThat(way.run(database)).as("once more").contains("role pgonce_owner is kept");
    // The way back from here.
    PgOnce.using(database.dataSource()).install(ADDED);
    assertThat(database.queryString(STATE)).isEqualTo(before);
  }

  @Tag("all")
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "create view report as select * from pgonce.channel_status | rule \"_RETURN\" on public.report",
        "create function read(pgonce.channel) returns int language sql as 'select 1' | function public.read(pgonce.channel)",
        "create function count_all() returns bigint begin atomic select count(*) from pgonce.channel; end | function public.count_all()",
        "create table copied (n pgonce.notification) | table column public.copied.n",
        "create table about (channel int references pgonce.channel) | table constraint about_channel_fkey on public.about",
        "create table numbered (id bigint default nextval('pgonce.notification_id')) | default value for public.numbered.id",
        "create domain label as text check (pgonce.delivery_key(value) <> '') | domain constraint label_check on public.label",
      })
  void h74_whatDependsOnItElsewhereIsNotDroppedInSilence(
      String sql, String named, TestDatabase database) throws Exception {
    database.execute(sql);
    for (var way : Way.values()) {
      assertThatThrownBy(() -> way.run(database))
          .hasMessageContaining("not uninstalled, nothing was changed")
          .hasMessageContaining(named);
    }
    assertThat(database.queryString("select to_regnamespace('pgonce')::text")).isNotNull();
    assertThat(database.queryLong("select count(*) from pg_trigger where tgname like 'pgonce%'"))
        .isOne();
  }

  /** A writer that it waits for needs what is to be dropped: neither may wait for the other. */
  @ParameterizedTest
  @EnumSource(Way.class)
  void h74_itWaitsForWritersAndNoneWaitsInACircle(Way way, TestDatabase database) throws Exception {
    for (var tries = 1; tries <= 10; tries++) {
      CompletableFuture<String> uninstalls;
      try (var writer = database.dataSource().getConnection();
          var statement = writer.createStatement()) {
        writer.setAutoCommit(false);
        statement.execute("lock table author in row exclusive mode");
        statement.execute("set deadlock_timeout = '50 ms'"); // it would be the victim
        uninstalls = CompletableFuture.supplyAsync(() -> failureOf(way, database));
        await()
            .atMost(SOON)
            .until(() -> uninstalls.isDone() || database.queryLong(WAITING_FOR_AUTHOR) > 0);
        if (database.queryLong(WAITING_FOR_AUTHOR) > 0) {
          statement.execute("insert into author values (%d)".formatted(tries));
        }
        writer.rollback(); // or it would still hold a notification
      }
      // Where the writer was too slow for its patience, it is tried again.
      if (uninstalls.get(60, TimeUnit.SECONDS).isEmpty()) {
        break;
      }
    }
    assertThat(database.queryString("select to_regnamespace('pgonce')::text")).isNull();
  }

  private static String failureOf(Way way, TestDatabase database) {
    try {
      way.run(database);
      return "";
    } catch (SQLException e) {
      return e.getMessage();
    }
  }

  @Test
  void h74_whatIsInUseIsNotDroppedAndThatIsSaid(TestDatabase database) throws Exception {
    for (var held : List.of("pgonce.notification", "author")) {
      try (var other = database.dataSource().getConnection();
          var statement = other.createStatement()) {
        other.setAutoCommit(false);
        statement.execute("select from " + held);
        for (var way : Way.values()) {
          assertThatThrownBy(() -> way.run(database))
              .hasMessageContaining("not uninstalled, nothing was changed")
              .hasMessageContaining("Stop the listeners");
        }
        other.rollback();
      }
      assertThat(database.queryString("select to_regnamespace('pgonce')::text")).isNotNull();
    }
  }

  /** What goes with the schema without a question. */
  @Test
  void h74_whatBelongsToItGoes(TestDatabase database) throws Exception {
    database.execute(
        """
        create trigger by_hand after insert on author referencing new table as new_rows execute function pgonce_triggers."capture_author_inserted"();
        create policy nobody on pgonce.channel using (true);
        create index by_feed on pgonce.channel (feed);
        create publication partial for table pgonce.channel;
        alter default privileges for role pgonce_owner in schema pgonce grant select on tables to pgonce_admin;
        """);
    Way.SCRIPT.run(database);
    assertThat(database.queryString("select to_regnamespace('pgonce')::text")).isNull();
    assertThat(database.queryLong("select count(*) from pg_publication")).isOne();
    assertThat(database.queryString("select to_regclass('author')::text")).isEqualTo("author");
  }
}
