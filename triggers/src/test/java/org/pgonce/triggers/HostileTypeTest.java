package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.sql.Statement;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.pgonce.PgOnce;
import org.pgonce.PgOnceException;
import org.pgonce.testkit.Login;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import tools.jackson.databind.JsonNode;

/**
 * A role that owns a type of the table's columns, or a function of a definition, can do nothing to
 * pgonce: neither before the channel is installed nor after that.
 */
@PgTest(PgOnceInstalled.class)
class HostileTypeTest {

  private static final String SANDBOX = "pgonce_sandbox";

  private static final String STORED =
      "select string_agg(payload::text, ' ' order by id) from pgonce.notification where subscription_id > 0";

  // All that it could try is told by its result, which is a part of the payload.
  private static final String SPY =
      """
      create function lair.spy(lair.grade) returns json language plpgsql as $$
      declare tried text[] := array[current_user::text];
      begin
        begin
          perform count(*) from pgonce.notification;
          tried := tried || 'read'::text;
        exception when insufficient_privilege then null;
        end;
        begin
          perform pgonce.publish('scored', '{}');
          tried := tried || 'forged'::text;
        exception when insufficient_privilege then null;
        end;
        begin
          set role pgonce_owner;
          tried := tried || 'acted'::text;
        exception when others then null;
        end;
        perform set_config('search_path', 'lair, pg_catalog', false);
        perform set_config('pgonce.context', '{"by": "spy"}', false);
        perform set_config('pgonce.depth', '999', false);
        return to_json(array_to_string(tried, '+'));
      end $$;
      create cast (lair.grade as json) with function lair.spy(lair.grade);
      """;

  // What a capturing function compares, were names looked for in the attacker's schema.
  private static final String TRAP =
      """
      create table lair.loot (who text);
      grant insert on lair.loot to public;
      create function lair.trap(bigint, integer) returns boolean language plpgsql as $$
      begin
        insert into lair.loot values (current_user);
        return false;
      end $$;
      create operator lair.> (function = lair.trap, leftarg = bigint, rightarg = integer);
      create function lair.now_or_never() returns boolean language sql immutable as 'select true';
      """;

  private Login attacker;

  @BeforeEach
  void setUp(TestDatabase database) throws Exception {
    PgOnce.using(database.dataSource()).install();
    attacker = database.loginRole("attacker");
    database.execute("create schema lair authorization \"%s\"".formatted(attacker.user()));
    asAttacker("grant usage on schema lair to public; create type lair.grade as enum ('a', 'b')");
    database.execute(
        "create table score (id int primary key, grade lair.grade, marks lair.grade[])");
  }

  private void asAttacker(String sql) throws Exception {
    try (var connection = attacker.dataSource().getConnection();
        var statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }

  private static String setting(Statement statement, String name) throws Exception {
    try (var row = statement.executeQuery("select current_setting('%s', true)".formatted(name))) {
      row.next();
      return row.getString(1);
    }
  }

  private static TriggerChannelBuilder<JsonNode> computed(String sql) {
    return TriggerChannel.computed("score", JsonNode.class, sql).afterInsert();
  }

  private static TriggerChannelBuilder<JsonNode> score(TriggerForm form) {
    return TriggerChannel.on("score", JsonNode.class).afterInsert().form(form);
  }

  /** A REPEATABLE READ writer sees the catalog as it was, and his table as it is. */
  @ParameterizedTest
  @ValueSource(strings = {"whole", "named"})
  void h36_aCastToJsonRunsWithoutRightsWhereTheColumnIsNewerThanTheWritersSnapshot(
      String name, TestDatabase database) throws Exception {
    database.execute("create table plain (id int primary key, name text)");
    var channel = TriggerChannel.on("plain", JsonNode.class).afterInsert().named(name);
    PgOnce.using(database.dataSource())
        .install(
            (name.equals("whole") ? channel : channel.deliveryKey("name"))
                .form(TriggerForm.STATEMENT)
                .build());
    try (var connection = database.dataSource().getConnection();
        var statement = connection.createStatement()) {
      statement.execute("begin isolation level repeatable read");
      statement.execute("select count(*) from pg_attribute");
      database.execute("alter table plain add column grade lair.grade default 'a'");
      asAttacker(SPY);
      statement.execute("insert into plain values (1, 'one')");
      statement.execute("commit");
    }
    assertThat(database.queryString(STORED))
        .isEqualTo("{\"id\":1,\"name\":\"one\",\"grade\":\"%s\"}", SANDBOX);
  }

  /** Nor does it see that such a cast fails. */
  @Test
  void h4_aCastThatFailsAndIsNewerThanTheWritersSnapshotBreaksNoWrite(TestDatabase database)
      throws Exception {
    PgOnce.using(database.dataSource()).install(score(TriggerForm.STATEMENT).build());
    try (var connection = database.dataSource().getConnection();
        var statement = connection.createStatement()) {
      statement.execute("begin isolation level repeatable read");
      statement.execute("select count(*) from pg_attribute");
      asAttacker(
          """
          create function lair.fails(lair.grade) returns json language plpgsql as $$ begin raise exception 'no'; end $$;
          create cast (lair.grade as json) with function lair.fails(lair.grade);
          """);
      statement.execute("insert into score values (1, 'a', '{a,b}')");
      statement.execute("commit");
    }
    assertThat(database.queryString("select reason from pgonce.dead_letter"))
        .isEqualTo("NOT_STORABLE");
  }

  @ParameterizedTest
  @EnumSource(TriggerForm.class)
  void h36_aCastToJsonRunsWithoutRightsWhereverARowIsWritten(
      TriggerForm form, TestDatabase database) throws Exception {
    for (var channel :
        List.of(
            score(form).named("whole"),
            score(form).columns("grade").named("named"),
            score(form).columns("id").deliveryKey("grade", "id").named("keyed"),
            score(form).columns("id").deliveryKeySql("new.grade").named("by_sql"),
            computed("new.grade").form(form).named("computed"))) {
      PgOnce.using(database.dataSource()).install(channel.build());
    }
    asAttacker(SPY + TRAP);
    try (var connection = database.dataSource().getConnection();
        var statement = connection.createStatement()) {
      statement.execute("set search_path = public, pg_temp");
      statement.execute("insert into score values (1, 'a', '{a,b}')");
      assertThat(setting(statement, "search_path")).isEqualTo("public, pg_temp");
      assertThat(setting(statement, "pgonce.context")).isNullOrEmpty();
      assertThat(setting(statement, "pgonce.depth")).isNullOrEmpty();
    }
    assertThat(
            database.queryString(
                """
                select string_agg(s.of_channel || ' ' || n.payload || coalesce(' ' || n.delivery_key, ''), E'\\n' order by s.of_channel)
                  from pgonce.notification n join pgonce.subscription s on s.id = n.subscription_id
                """))
        .isEqualToIgnoringWhitespace(
            """
            by_sql {"id":1} %1$s
            computed "%1$s"
            keyed {"id":1} %1$s:1
            named {"grade":"%1$s"}
            whole {"id":1,"grade":"%1$s","marks":["%1$s","%1$s"]}
            """
                .formatted(SANDBOX));
    assertThat(database.queryString("select string_agg(who, ' ') from lair.loot")).isNull();
  }

  @ParameterizedTest
  @EnumSource(TriggerForm.class)
  void h36_soIsAnUpdateAndTheKeyOfARowThatIsBuried(TriggerForm form, TestDatabase database)
      throws Exception {
    database.execute("create table mark (grade lair.grade primary key, amount int)");
    var changes = TriggerChannel.changesOf("mark", JsonNode.class).afterUpdate().form(form);
    PgOnce.using(database.dataSource()).install(changes.named("changes").build());
    PgOnce.using(database.dataSource())
        .install(
            TriggerChannel.computed("mark", JsonNode.class, "1 / new.amount")
                .afterInsert()
                .form(form)
                .unstorable(Unstorable.DEAD_LETTER)
                .named("buried")
                .build());
    asAttacker(SPY + TRAP);
    database.execute("insert into mark values ('a', 0)");
    database.execute("update mark set amount = 1");
    assertThat(database.queryString("select payload::text from pgonce.dead_letter"))
        .isEqualTo("{\"grade\":\"%s\"}".formatted(SANDBOX));
    assertThat(database.queryString(STORED))
        .isEqualToIgnoringWhitespace(
            """
            {"op":"UPDATE","old":{"grade":"%1$s","amount":0},"new":{"grade":"%1$s","amount":1}}
            """
                .formatted(SANDBOX));
    assertThat(database.queryString("select string_agg(who, ' ') from lair.loot")).isNull();
  }

  @ParameterizedTest
  @EnumSource(TriggerForm.class)
  void h04_aCastThatFailsFailsNoWrite(TriggerForm form, TestDatabase database) throws Exception {
    PgOnce.using(database.dataSource()).install(score(form).build());
    asAttacker(
        """
        create function lair.fails(lair.grade) returns json language plpgsql as 'begin raise exception ''no''; end';
        create cast (lair.grade as json) with function lair.fails(lair.grade);
        """);
    database.execute("insert into score values (1, 'a', null)");
    assertThat(database.queryString("select payload || ' ' || error from pgonce.dead_letter"))
        .isEqualTo("{\"id\":1} column grade: an error of SQLSTATE P0001");
  }

  @ParameterizedTest
  @EnumSource(TriggerForm.class)
  void h04_norDoesThatOfTheKeyOfARowThatIsBuried(TriggerForm form, TestDatabase database)
      throws Exception {
    database.execute("create table mark (grade lair.grade primary key)");
    var marks = TriggerChannel.changesOf("mark", JsonNode.class).afterInsert().form(form);
    PgOnce.using(database.dataSource()).install(marks.build());
    asAttacker(
        """
        create function lair.fails(lair.grade) returns json language plpgsql as 'begin raise exception ''no''; end';
        create cast (lair.grade as json) with function lair.fails(lair.grade);
        """);
    database.execute("insert into mark values ('a'), ('b')");
    assertThat(
            database.queryString(
                "select string_agg(payload || ' ' || error, ' ' order by id) from pgonce.dead_letter"))
        .isEqualToIgnoringWhitespace(
            "{\"op\":\"INSERT\",\"new\":{\"row\":null}} column grade: an error of SQLSTATE P0001"
                .repeat(2));
  }

  /** Nor by a cast that the use of an expression adds; none of them is run to find that out. */
  @Test
  void h36_aCastThatAnotherOwnsIsRefusedInADefinition(TestDatabase database) throws Exception {
    asAttacker(
        """
        create type lair.day as (day date);
        create function lair.when(lair.day) returns timestamptz language plpgsql immutable as 'begin raise exception ''it was run''; end';
        create cast (lair.day as timestamptz) with function lair.when(lair.day) as assignment;
        """);
    database.execute("alter table score add column day lair.day");
    for (var due : List.of("new.day", "row('2026-01-01')::lair.day")) {
      assertThatThrownBy(
              () ->
                  PgOnce.using(database.dataSource())
                      .install(score(TriggerForm.ROW).dueAt(due).build()))
          .isInstanceOf(PgOnceException.class)
          .hasMessageContaining("its due time calls function lair.\"when\"(lair.day) of role")
          .hasMessageNotContaining("it was run");
    }
  }

  /** As after a restore without owners. */
  @Test
  void h72_itIsToldThatTheSandboxIsNone(TestDatabase database) throws Exception {
    var channel = score(TriggerForm.STATEMENT).build();
    PgOnce.using(database.dataSource()).install(channel);
    database.execute("alter function pgonce.as_json owner to current_user");
    try (var connection = database.dataSource().getConnection()) {
      assertThat(Triggers.check(connection, channel))
          .singleElement()
          .asString()
          .endsWith("ALTER FUNCTION pgonce.as_json(anyelement) OWNER TO pgonce_sandbox");
    }
  }

  @Test
  void h36_aFunctionThatAnotherOwnsIsRefusedInADefinition(TestDatabase database) throws Exception {
    asAttacker(TRAP);
    var called = score(TriggerForm.STATEMENT).when("lair.now_or_never()").build();
    assertThatThrownBy(() -> PgOnce.using(database.dataSource()).install(called))
        .isInstanceOf(PgOnceException.class)
        .hasMessageContaining(
            "its condition calls function lair.now_or_never() of role " + attacker.user());
    var byOperator =
        score(TriggerForm.ROW).deliveryKeySql("(new.id::bigint OPERATOR(lair.>) 1)::text").build();
    assertThatThrownBy(() -> PgOnce.using(database.dataSource()).install(byOperator))
        .isInstanceOf(PgOnceException.class)
        .hasMessageContaining("its delivery key calls function lair.trap(bigint,integer) of role");
    database.execute("grant pgonce_owner to \"%s\"".formatted(attacker.user()));
    PgOnce.using(database.dataSource()).install(called);
  }
}
