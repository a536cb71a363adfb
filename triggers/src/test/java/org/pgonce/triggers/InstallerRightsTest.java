package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.PgOnce;
import org.pgonce.testkit.Login;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import tools.jackson.databind.JsonNode;

/**
 * What a role may that owns a watched table and installs its channels, and what those who write to
 * it may: each line of the table in docs/guarantees.md ("Who may do what"), with logins. Two
 * installers share the database, and neither has a right on what is the other's.
 */
@Tag("versions")
@PgTest(PgOnceInstalled.class)
class InstallerRightsTest {

  private static final String STORED =
      """
      select string_agg(c.name || ' ' || n.payload, ' | ' order by c.name, n.id) from pgonce.notification n
        join pgonce.subscription s on s.id = n.subscription_id join pgonce.channel c on c.id = s.channel_id
      """;
  private static final String OF_CHANNEL =
      "select s.id from pgonce.subscription s where s.of_channel = '%s'";

  private TestDatabase database;
  private Login installer;
  private Login other;
  private Login writer;
  private long own;
  private long foreign;

  @BeforeEach
  void setUp(TestDatabase database) throws Exception {
    this.database = database;
    installer = database.loginRole("installer", "pgonce_installer");
    other = database.loginRole("other", "pgonce_installer");
    writer = database.loginRole("writer");
    database.execute(
        """
        create schema mine authorization %1$s;
        create schema theirs authorization %2$s;
        grant create on schema public to %1$s;
        grant usage on schema mine to %3$s
        """
            .formatted(installer.user(), other.user(), writer.user()));
    run(
        installer,
        "create table mine.thing (id int, name text); grant insert on mine.thing to "
            + writer.user());
    run(other, "create table theirs.secret (id int, name text)");
    PgOnce.using(installer.dataSource()).install(mine().build());
    PgOnce.using(other.dataSource())
        .install(
            TriggerChannel.on("theirs.secret", JsonNode.class)
                .afterInsert()
                .named("theirs")
                .build());
    own = database.queryLong(OF_CHANNEL.formatted("mine"));
    foreign = database.queryLong(OF_CHANNEL.formatted("theirs"));
  }

  private static TriggerChannelBuilder<JsonNode> mine() {
    return TriggerChannel.on("mine.thing", JsonNode.class).afterInsert().named("mine");
  }

  private static void run(Login login, String sql) throws SQLException {
    try (var connection = login.dataSource().getConnection();
        var statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }

  private static void refused(Login login, String sql, String why) {
    assertThatThrownBy(() -> run(login, sql), sql).hasMessageContaining(why);
  }

  private long storedForOthers() throws SQLException {
    return database.queryLong(
        "select count(*) from pgonce.notification where subscription_id = " + foreign);
  }

  @Test
  void h36_anInstallerDefinesChangesAndChecksChannelsOfItsTables() throws Exception {
    run(installer, "insert into mine.thing values (1, 'one')");
    var changed = mine().columns("id").deliveryKey("name").build();
    PgOnce.using(installer.dataSource()).install(changed);
    run(installer, "insert into mine.thing values (2, 'two')");
    assertThat(database.queryString(STORED))
        .isEqualTo("mine {\"id\":1,\"name\":\"one\"} | mine {\"id\":2}");
    try (var connection = installer.dataSource().getConnection()) {
      assertThat(Triggers.check(connection, changed)).isEmpty();
      assertThat(Triggers.plan(connection, changed).isEmpty()).isTrue();
    }
    run(other, "insert into theirs.secret values (1, 'x')");
    assertThat(storedForOthers()).isOne();
  }

  @Test
  void h36_aProcedureOfAnInstallersStopsNoUpgrade() throws Exception {
    run(installer, "create procedure pgonce_triggers.mine() language sql as 'select 1'");
    database.execute(PgOnce.migration());
  }

  @Test
  void h36_anInstallerRunsWhatIsPrinted() throws Exception {
    run(installer, mine().named("printed").build().print());
    run(writer, "insert into mine.thing values (1, 'one')");
    assertThat(database.queryString(STORED)).contains("printed {\"id\":1,\"name\":\"one\"}");
  }

  @Test
  void h36_itsSqlRunsWithItsOwnRights() throws Exception {
    run(
        installer,
        """
        create table mine.note (what text);
        insert into mine.note values ('only the owner reads it');
        create function mine.noted() returns text language sql as 'select what || '' '' || current_user from mine.note';
        create type mine.grade as enum ('a');
        create function mine.to_json(mine.grade) returns json language sql as 'select to_json(current_user::text)';
        create cast (mine.grade as json) with function mine.to_json(mine.grade);
        create table mine.exam (grade mine.grade);
        grant insert on mine.exam to %s
        """
            .formatted(writer.user()));
    PgOnce.using(installer.dataSource())
        .install(
            TriggerChannel.computed("mine.exam", JsonNode.class, "mine.noted()")
                .afterInsert()
                .when("mine.noted() <> ''")
                .named("computed")
                .build(),
            TriggerChannel.on("mine.exam", JsonNode.class).afterInsert().named("cast").build());
    run(writer, "insert into mine.exam values ('a')");
    assertThat(database.queryString(STORED))
        .isEqualTo(
            "cast {\"grade\":\"%1$s\"} | computed \"only the owner reads it %1$s\""
                .formatted(installer.user()));
  }

  @Test
  void h36_itStoresNothingIntoTheChannelOfAnother() throws Exception {
    refused(
        installer,
        "insert into pgonce.into_theirs (subscription_id, payload) values (%d, '{}')"
            .formatted(foreign),
        "permission denied for view into_theirs");
    refused(
        installer,
        "insert into pgonce.into_mine (subscription_id, payload) values (%d, '{}')"
            .formatted(foreign),
        "violates check option");
    refused(
        installer,
        "select pgonce.store_theirs('{}')",
        "permission denied for function store_theirs");
    refused(
        installer,
        "select pgonce.let_capture('theirs', '%s')".formatted(installer.user()),
        "may not change channel \"theirs\"");
    refused(
        installer,
        "select pgonce.let_capture('mine', '%s')".formatted(other.user()),
        "cannot act as role");
    refused(
        installer,
        "select pgonce.publish('theirs', '{}')",
        "permission denied for function publish");
    // Its own way stores for its own subscriptions, and no others.
    for (var how :
        new String[] {
          "", ", key => 'k'", ", due_at => now() + interval '1 hour'", ", error => 'forged'"
        }) {
      run(installer, "select pgonce.store_mine('{}'%s)".formatted(how));
    }
    // Nor do functions of triggers, which are its own to write.
    run(
        installer,
        """
        create or replace function pgonce_triggers.capture_mine() returns trigger language plpgsql security definer as $$
        begin
          insert into pgonce.into_theirs (subscription_id, payload) values (%d, '{}');
          return null;
        end $$
        """
            .formatted(foreign));
    refused(
        writer, "insert into mine.thing values (1, 'x')", "permission denied for view into_theirs");
    assertThat(storedForOthers()).isZero();
    for (var aside : List.of("scheduled", "dead_letter")) {
      assertThat(
              database.queryString(
                  "select string_agg(c.name, ' ') from pgonce.%s a join pgonce.subscription s on s.id = a.subscription_id join pgonce.channel c on c.id = s.channel_id"
                      .formatted(aside)))
          .isEqualTo("mine");
    }
  }

  @Test
  void h36_itReadsNoRowOfPgoncesTables() throws Exception {
    run(installer, "insert into mine.thing values (1, 'one')");
    for (var way :
        new String[] {
          "select * from pgonce.into_mine",
          "insert into pgonce.into_mine (subscription_id, payload) values (%d, '{}') returning payload"
              .formatted(own),
          "update pgonce.into_mine set payload = '{}'",
          "delete from pgonce.into_mine",
        }) {
      refused(installer, way, "permission denied for view into_mine");
    }
    refused(installer, "select * from pgonce.notification", "permission denied for table");
    // What is said of the schema itself: its version.
    assertThat(
            database.queryString(
                """
                select string_agg(c.relname, ' ') from pg_class c
                 where c.relnamespace = 'pgonce'::regnamespace and c.relkind in ('r', 'v')
                   and (has_table_privilege('%1$s', c.oid, 'select, update, delete, truncate, references, trigger')
                        or has_any_column_privilege('%1$s', c.oid, 'select, update, references'))
                """
                    .formatted(installer.user())))
        .isEqualTo("schema_version");
    assertThat(
            database.queryString(
                """
                select string_agg(c.relname, ' ' order by c.relname) from pg_class c
                 where c.relnamespace = 'pgonce'::regnamespace
                   and (c.relkind in ('r', 'v') and has_any_column_privilege('%1$s', c.oid, 'insert')
                        or c.relkind = 'S' and has_sequence_privilege('%1$s', c.oid, 'usage, select, update'))
                """
                    .formatted(installer.user())))
        .isEqualTo("gate_mine into_mine notification_id");
  }

  @Test
  void h36_itNeitherChangesNorDropsTheChannelOrFunctionOfAnother() throws Exception {
    for (var way :
        new String[] {
          "select pgonce.install_channel('theirs', 'EXACTLY_ONCE', 'trigger on theirs.secret', '{\"more\": null}')",
          "select pgonce.install_channel('theirs', 'EXACTLY_ONCE', 'trigger on theirs.secret', max_rate => 1)",
          "select pgonce.know_partitions('theirs', 'mine.thing'::regclass)",
        }) {
      refused(installer, way, "may not change channel \"theirs\"");
    }
    for (var way :
        new String[] {
          "select pgonce.drop_channel('theirs')",
          "select pgonce.drop_channels(array['theirs'], null, null)",
          "select pgonce.lock_channels(array['theirs'])",
          "select pgonce.drop_subscription('theirs', 'default')",
          "select pgonce.change_mode('theirs', 'BROADCAST')",
          "select pgonce.pause('theirs', 'default', 'x')",
          "select pgonce.cancel('theirs', array[1], null, 'x')",
          "select pgonce.open_gate('theirs', array[%d])".formatted(foreign),
          "select setval('pgonce.gate_theirs', 1)",
          "select pgonce_private.drop_entries('theirs')",
        }) {
      refused(installer, way, "permission denied for ");
    }
    for (var way :
        new String[] {
          "drop function pgonce_triggers.capture_theirs cascade",
          "alter function pgonce_triggers.capture_theirs security invoker",
          "create or replace function pgonce_triggers.capture_theirs() returns trigger language plpgsql as 'begin return null; end'",
          "grant execute on function pgonce_triggers.capture_theirs to " + installer.user(),
        }) {
      assertThatThrownBy(() -> run(installer, way))
          .describedAs(way)
          .hasMessageMatching("(?s)ERROR: (must be owner of|permission denied for) function.*");
    }
    refused(
        installer,
        "create trigger mine after insert on mine.thing for each row execute function pgonce_triggers.capture_theirs()",
        "permission denied for function pgonce_triggers.capture_theirs");
    refused(
        installer,
        "create or replace view pgonce.into_mine as select 1 as subscription_id",
        "permission denied for schema pgonce");
    run(other, "insert into theirs.secret values (1, 'x')");
    assertThat(storedForOthers()).isOne();
  }

  /** Even where a superuser, which could replace it, installs on a table of its own. */
  @Test
  void h36_aFunctionThatItMadeInTheNameOfAnotherIsNotTakenOver() throws Exception {
    run(
        installer,
        """
        create function pgonce_triggers.capture_later() returns trigger language plpgsql as 'begin return null; end';
        create function pgonce_triggers.capture_next() returns trigger language plpgsql as 'begin return null; end'
        """);
    database.execute("create table later (id int)");
    run(other, "create table theirs.next (id int)");
    var later = TriggerChannel.on("later", JsonNode.class).afterInsert().named("later").build();
    var next = TriggerChannel.on("theirs.next", JsonNode.class).afterInsert().named("next").build();
    var why = "function pgonce_triggers.capture_%s() of role \"%s\" already";
    assertThatThrownBy(() -> PgOnce.using(database.dataSource()).install(later))
        .hasMessageContaining(why.formatted("later", installer.user()));
    assertThatThrownBy(() -> database.execute(PgOnce.migration(later)))
        .hasMessageContaining(why.formatted("later", installer.user()));
    assertThatThrownBy(() -> PgOnce.using(other.dataSource()).install(next))
        .hasMessageContaining(why.formatted("next", installer.user()));
  }

  /** What another has in a channel's subscription is SQL within SQL for whoever prints it. */
  @Test
  void h36_aFilterOfItsOwnIsNoSqlForWhoeverInstallsTheChannelNext() throws Exception {
    var filter =
        "'; end $pgonce$; alter role %s superuser; do $pgonce1$ $pgonce2$"
            .formatted(installer.user());
    run(
        installer,
        "select pgonce.install_channel('mine', 'EXACTLY_ONCE', 'trigger on mine.thing', jsonb_build_object('more', jsonb_build_object('$pgonce$', $x$%s$x$)))"
            .formatted(filter));
    try (var connection = database.dataSource().getConnection()) {
      database.execute(Triggers.migration(connection, mine().build()).up());
      assertThat(Triggers.check(connection, mine().build())).isEmpty();
    }
    database.execute(PgOnce.migration(mine().build()));
    assertThat(
            database.queryString(
                "select rolsuper::text from pg_roles where rolname = '%s'"
                    .formatted(installer.user())))
        .isEqualTo("false");
    try (var connection = writer.dataSource().getConnection()) {
      connection.setAutoCommit(false);
      execute(
          connection,
          "select set_config('pgonce.context', jsonb_build_object('$pgonce$', $x$%s$x$)::text, true)"
              .formatted(filter));
      execute(connection, "insert into mine.thing values (1, 'one')");
      connection.commit();
    }
    assertThat(
            database.queryLong(
                "select count(*) from pgonce.notification where subscription_id > 0"))
        .isEqualTo(2);
  }

  @Test
  void h36_itDoesNotActAsPgonceOwner() throws Exception {
    refused(installer, "set role pgonce_owner", "permission denied to set role");
    refused(
        installer, "set session authorization pgonce_owner", "permission denied to set session");
    refused(installer, "create table pgonce.mine (id int)", "permission denied for schema pgonce");
    refused(
        installer,
        "alter function pgonce_triggers.capture_mine owner to pgonce_owner",
        "pgonce_owner");
    // Code of its own that its trigger runs is run as itself.
    run(
        installer,
        """
        create function mine.who() returns text language plpgsql as $$
        begin
          begin
            set local role pgonce_owner;
            return 'acted';
          exception when others then
            return current_user;
          end;
        end $$
        """);
    PgOnce.using(installer.dataSource())
        .install(
            TriggerChannel.computed("mine.thing", JsonNode.class, "mine.who()")
                .afterInsert()
                .deliveryKeySql("mine.who()")
                .named("computed")
                .build());
    run(writer, "insert into mine.thing values (1, 'one')");
    assertThat(database.queryString(STORED))
        .startsWith("computed \"%s\" | mine".formatted(installer.user()));
  }

  @Test
  void h36_aWriterOfTheTableHasItsRowsStoredAndCanDoNothingElse() throws Exception {
    run(writer, "insert into mine.thing values (1, 'one')");
    assertThat(database.queryString(STORED)).isEqualTo("mine {\"id\":1,\"name\":\"one\"}");
    run(installer, "grant usage, create on schema mine to " + writer.user());
    var attach =
        "create table mine.bait (id int); create trigger forge after insert on mine.bait referencing new table as new_rows for each statement execute function pgonce_triggers.capture_mine()";
    for (var way :
        new String[] {
          "select pgonce_triggers.capture_mine()",
          attach,
          "insert into pgonce.into_mine (subscription_id, payload) values (%d, '{}')"
              .formatted(own),
          "select pgonce.store_mine('{}')",
          "select pgonce.let_capture('mine', current_user)",
          "select pgonce.install_channel('more', 'EXACTLY_ONCE', 'none')",
          "select pgonce.subscriptions_sql('mine')",
          "select pgonce.current_context()",
        }) {
      refused(writer, way, "permission denied for schema pgonce");
    }
    // Nor where it may use the schemas.
    database.execute("grant usage on schema pgonce, pgonce_triggers to " + writer.user());
    refused(writer, attach, "permission denied for function pgonce_triggers.capture_mine");
    refused(
        writer,
        "insert into pgonce.into_mine (subscription_id, payload) values (%d, '{}')".formatted(own),
        "permission denied for view into_mine");
    for (var way :
        new String[] {
          "select pgonce.store_mine('{}')",
          "select pgonce.let_capture('mine', current_user)",
          "select pgonce.install_channel('more', 'EXACTLY_ONCE', 'none')",
          "select pgonce.subscriptions_sql('mine')",
        }) {
      refused(writer, way, "permission denied for function");
    }
    assertThat(database.queryString(STORED)).isEqualTo("mine {\"id\":1,\"name\":\"one\"}");
  }

  @Test
  void h33_aWriterDivertsNothingByItsPathOrItsTemporaryObjects() throws Exception {
    PgOnce.using(installer.dataSource())
        .install(
            mine()
                .deliveryKey("name")
                .when("new.id = 1 and new.name ~ 'n'")
                .named("keyed")
                .build());
    try (var connection = writer.dataSource().getConnection()) {
      execute(
          connection,
          """
          create temp table new_rows (id int, name text);
          create temp table into_mine (subscription_id int, payload json);
          create temp table s (id int);
          create function pg_temp.to_json(anyelement) returns json language sql as $$ select '"forged"'::json $$;
          create function pg_temp.pg_notify(text, text) returns void language sql as $$ select $$;
          create function pg_temp.eq(int, int) returns boolean language sql as $$ select true $$;
          create operator pg_temp.= (leftarg = int, rightarg = int, function = pg_temp.eq);
          create type pg_temp.timestamptz as (forged int);
          set search_path = pg_temp, pg_catalog, mine
          """);
      execute(connection, "insert into mine.thing values (1, 'one'), (2, 'none')");
    }
    assertThat(database.queryString(STORED))
        .isEqualTo(
            "keyed %1$s | mine %1$s | mine {\"id\":2,\"name\":\"none\"}"
                .formatted("{\"id\":1,\"name\":\"one\"}"));
  }

  @Test
  void h38_theOwnerOfATypeWithACastToJsonReachesNoOtherChannel() throws Exception {
    var typist = database.loginRole("typist");
    database.execute("create schema types authorization " + typist.user());
    run(typist, "grant usage on schema types to public; create type types.grade as enum ('a')");
    run(installer, "alter table mine.thing add column grade types.grade");
    PgOnce.using(installer.dataSource()).install(mine().columns("grade").build());
    // Before, and the installation would have been refused: see UntrustedCastTest.
    run(
        typist,
        """
        create function types.try(what text) returns text language plpgsql as $$
        begin
          execute what;
          return 'did ' || what;
        exception when others then
          return sqlstate;
        end $$;
        create function types.spy(types.grade) returns json language sql as $$
          select to_json(current_user || ' ' || types.try('insert into pgonce.into_theirs (subscription_id, payload) values (%1$d, ''{}'')')
            || ' ' || types.try('select pgonce.store_theirs(''{}'')')
            || ' ' || types.try('select pgonce.let_capture(''theirs'', current_user)')
            || ' ' || types.try('select count(*) from pgonce.notification'))
        $$;
        create cast (types.grade as json) with function types.spy(types.grade)
        """
            .formatted(foreign));
    run(writer, "insert into mine.thing values (1, 'one', 'a')");
    assertThat(database.queryString(STORED))
        .isEqualTo("mine {\"grade\":\"%s 42501 42501 42501 42501\"}".formatted(installer.user()));
  }

  private static void execute(Connection connection, String sql) throws SQLException {
    try (var statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }
}
