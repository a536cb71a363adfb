package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.sql.Connection;
import java.sql.SQLException;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.pgonce.PgOnce;
import org.pgonce.testkit.Login;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import tools.jackson.databind.JsonNode;

/** Who writes to the table, with which session, and what it can do to pgonce: nothing. */
@PgTest(PgOnceInstalled.class)
class WriterTest {

  private static final TriggerChannel<JsonNode> ADDED =
      TriggerChannel.on("reading", JsonNode.class).afterInsert().build();

  private static final String INSERT =
      """
      insert into reading (name, at, raw, took, ratio, price)
      values ('Ann', '2024-02-29 12:34:56.789+00', '\\xc0ffee', 'P1DT2H', 0.1::float8 + 0.2::float8, 12.34)
      """;

  private static final String FORGE =
      """
      create trigger forge after insert on lair.bait referencing new table as new_rows
      for each statement execute function pgonce_triggers."capture_reading_inserted"()
      """;

  private Login writer;

  @BeforeEach
  void install(TestDatabase database) throws Exception {
    database.execute(
        """
        create table reading (name text, at timestamptz, raw bytea, took interval, ratio float8, price money)
        """);
    PgOnce.using(database.dataSource()).install(ADDED);
    writer = database.loginRole("writer");
    database.execute("grant insert on reading to \"%s\"".formatted(writer.user()));
  }

  @Test
  void h36_whoMayOnlyInsertIntoTheTableFeedsTheChannelAndCanDoNothingElse(TestDatabase database)
      throws Exception {
    try (var connection = writer.dataSource().getConnection()) {
      execute(connection, INSERT);

      for (var forbidden :
          new String[] {
            "select * from pgonce.notification where subscription_id > 0",
            "insert into pgonce.notification (subscription_id, payload) values (1, '{}')",
            "select pgonce.publish('reading_inserted', '{}')",
            "select pgonce.wake_up('reading_inserted')",
            "delete from pgonce.notification where subscription_id > 0",
            "select nextval('pgonce.notification_id')",
          }) {
        assertThatThrownBy(() -> execute(connection, forbidden))
            .describedAs(forbidden)
            .hasMessageContaining("permission denied");
      }
    }
    assertThat(stored(database)).isEqualTo(1);
  }

  /** As after an installation by a role that may install for that moment only. */
  @ParameterizedTest
  @ValueSource(strings = {"pgonce_owner", "pgonce_installer"})
  void h36_aWriterGoesOnWhenTheRightToInstallIsTakenBack(String right, TestDatabase database)
      throws Exception {
    var installer = database.loginRole("installer", right);
    var channel =
        TriggerChannel.on("sale", JsonNode.class).afterInsert().deliveryKey("name").build();
    database.execute(
        """
        create table sale (name text); alter table sale owner to "%1$s"; grant insert on sale to "%2$s"
        """
            .formatted(installer.user(), writer.user()));
    PgOnce.using(installer.dataSource()).install(channel);

    database.execute("revoke %s from \"%s\"".formatted(right, installer.user()));

    try (var connection = writer.dataSource().getConnection()) {
      execute(connection, "insert into sale values ('a'), ('b')");
    }
    assertThat(stored(database)).isEqualTo(2);
    try (var connection = database.dataSource().getConnection()) {
      assertThat(Triggers.check(connection, channel)).isEmpty();
    }
  }

  @Test
  void h36_defaultPrivilegesGiveNothingOfAChannelToEverybody(TestDatabase database)
      throws Exception {
    database.execute(
        """
        alter default privileges for role pgonce_owner grant all on tables to public;
        alter default privileges for role pgonce_owner grant all on functions to public;
        alter default privileges for role pgonce_owner grant all on sequences to public;
        """);
    PgOnce.using(database.dataSource())
        .install(TriggerChannel.on("reading", JsonNode.class).afterInsert().named("more").build());
    assertThat(
            database.queryString(
                """
                select string_agg(what, ' ') from (
                  select relname, relacl from pg_class where relname like '%\\_more'
                  union all select proname, proacl from pg_proc where proname like '%\\_more') as o (what, acl)
                 where exists (select from aclexplode(acl) a where a.grantee = 0)
                """))
        .isNull();
  }

  @Test
  void h32_nobodyElseCanAttachTheFunctionToATableOfTheirOwn(TestDatabase database)
      throws Exception {
    var attacker = database.loginRole("attacker", "pgonce_listener", "pgonce_publisher");
    database.execute("create schema lair authorization \"%s\"".formatted(attacker.user()));
    try (var connection = attacker.dataSource().getConnection()) {
      execute(connection, "create table lair.bait (name text)");

      assertThatThrownBy(() -> execute(connection, FORGE))
          .hasMessageContaining("permission denied for schema pgonce_triggers");
    }
    // Nor where it may use the schema, as any role that has installed a channel.
    database.execute("grant usage on schema pgonce_triggers to \"%s\"".formatted(attacker.user()));
    try (var connection = attacker.dataSource().getConnection()) {
      assertThatThrownBy(() -> execute(connection, FORGE))
          .hasMessageContaining("permission denied for function");
    }
  }

  @Test
  void h22_thePayloadIsTheSameWhateverTheWritersSessionHasSet(TestDatabase database)
      throws Exception {
    try (var connection = writer.dataSource().getConnection()) {
      execute(connection, INSERT);
      // Within the block only: pgjdbc closes a connection whose DateStyle changes.
      execute(
          connection,
          """
          do $do$ begin
            set local timezone = 'Asia/Kathmandu'; set local datestyle = 'German'; set local intervalstyle = 'sql_standard';
            set local bytea_output = 'escape'; set local extra_float_digits = -15; set local quote_all_identifiers = on;
            set local plpgsql.extra_errors = 'all'; set local standard_conforming_strings = off; set local search_path = '';
            %s;
          end $do$
          """
              .formatted(
                  INSERT
                      .replace("into reading", "into public.reading")
                      .replace("'\\x", "E'\\\\x")));
    }
    assertThat(stored(database)).isEqualTo(2);
    assertThat(
            database.queryString(
                "select string_agg(distinct payload::text, ' ') from pgonce.notification where subscription_id > 0"))
        .isEqualTo(
            "{\"name\":\"Ann\",\"at\":\"2024-02-29T12:34:56.789+00:00\",\"raw\":\"\\\\xc0ffee\",\"took\":\"P1DT2H\","
                + "\"ratio\":0.30000000000000004,\"price\":\"$12.34\"}");
  }

  /** What decides how names are written, and how the SQL of a definition is read. */
  @ParameterizedTest
  @EachForm
  void h22_conditionsAndNamesAreTheSameWhateverTheWritersSessionHasSet(
      TriggerForm form, TestDatabase database) throws Exception {
    database.execute("create table item (code text, kind regclass, gone text)");
    PgOnce.using(database.dataSource())
        .install(
            TriggerChannel.on("item", JsonNode.class)
                .afterInsert()
                .when("new.code ~ '^\\d+$' and (new.gone = null) is null")
                .form(form)
                .build(),
            TriggerChannel.on("item", JsonNode.class)
                .afterInsert()
                .form(form)
                .named("plain")
                .build());
    for (var settings :
        new String[] {
          "standard_conforming_strings = on",
          "quote_all_identifiers = on",
          "standard_conforming_strings = off",
          "transform_null_equals = on"
        }) {
      // A session of its own: plans are kept.
      try (var connection = database.dataSource().getConnection()) {
        execute(
            connection,
            "do $$ begin set local %s; insert into item values ('7', 'pgonce.channel'); end $$"
                .formatted(settings));
      }
    }
    assertThat(
            database.queryString(
                "select string_agg(payload::text, ' ') from pgonce.notification where subscription_id > 0"))
        .isEqualTo("{\"code\":\"7\",\"kind\":\"pgonce.channel\",\"gone\":null} ".repeat(8).strip());
  }

  /** As documented: such a session writes what was captured elsewhere. */
  @Test
  void h08_whatAReplicaWritesMakesNothing(TestDatabase database) throws Exception {
    try (var connection = database.dataSource().getConnection()) {
      execute(connection, "set session_replication_role = replica");
      execute(connection, INSERT);
      assertThat(stored(database)).isZero();
      assertThat(Triggers.check(connection, ADDED)).isEmpty();
      database.execute("alter table reading enable always trigger pgonce_reading_inserted");
      execute(connection, INSERT);
      assertThat(stored(database)).isEqualTo(1);
    }
    database.execute("alter table reading enable replica trigger pgonce_reading_inserted");
    database.execute(INSERT);
    assertThat(stored(database)).isEqualTo(1);
    try (var connection = database.dataSource().getConnection()) {
      assertThat(Triggers.check(connection, ADDED))
          .singleElement()
          .asString()
          .contains("fires for replicated rows only");
    }
  }

  @Test
  void h33_whatShadowsTheNamesOfTheFunctionHasNoEffect(TestDatabase database) throws Exception {
    database.execute("create schema trap; grant all on schema trap to public");
    try (var connection = writer.dataSource().getConnection()) {
      execute(
          connection,
          """
          create temp table new_rows (name text);
          create temp table notification (subscription_id int, id bigint, payload json);
          create temp table subscription (id int, channel_id int, name text);
          create temp table channel (id int, name text);
          create function trap.to_json(anyelement) returns json language sql as $$ select '"forged"'::json $$;
          create function trap.nextval(text) returns bigint language sql as $$ select -1::bigint $$;
          create function trap.eq(text, text) returns boolean language sql as $$ select true $$;
          create operator trap.= (leftarg = text, rightarg = text, function = trap.eq);
          set search_path = pg_temp, trap, pg_catalog, public
          """);
      execute(connection, INSERT);
    }
    assertThat(
            database.queryString(
                "select payload ->> 'name' from pgonce.notification where subscription_id > 0"))
        .isEqualTo("Ann");
    assertThat(
            database.queryLong("select min(id) from pgonce.notification where subscription_id > 0"))
        .isPositive();
  }

  @Test
  void h34_aRowLevelPolicyOnTheTableHidesNoNewRowFromTheChannel(TestDatabase database)
      throws Exception {
    database.execute(
        """
        alter table reading enable row level security;
        alter table reading force row level security;
        create policy write_only on reading for insert with check (true)
        """);
    try (var connection = writer.dataSource().getConnection()) {
      execute(connection, INSERT);
    }
    assertThat(stored(database)).isEqualTo(1);
    try (var connection = database.dataSource().getConnection()) {
      assertThat(Triggers.plan(connection, ADDED).warnings())
          .singleElement()
          .asString()
          .contains("row-level security");
    }
  }

  @Test
  void h34_theListenersRoleCanCheckTheDefinition(TestDatabase database) throws Exception {
    var listener = database.loginRole("listener", "pgonce_listener");
    try (var connection = listener.dataSource().getConnection()) {
      assertThat(Triggers.check(connection, ADDED)).isEmpty();
    }
  }

  private static long stored(TestDatabase database) throws SQLException {
    return database.queryLong("select count(*) from pgonce.notification where subscription_id > 0");
  }

  private static void execute(Connection connection, String sql) throws SQLException {
    try (var statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }
}
