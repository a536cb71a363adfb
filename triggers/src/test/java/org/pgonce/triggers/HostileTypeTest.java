package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.pgonce.PgOnce;
import org.pgonce.testkit.Login;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import tools.jackson.databind.JsonNode;

/**
 * Casts to json of a role that owns a type of the table's columns: they run with the rights of the
 * table's owner, wherever a row is written, and whoever writes it.
 */
@Tag("versions")
@PgTest(PgOnceInstalled.class)
class HostileTypeTest {

  private static final String STORED =
      "select string_agg(payload::text, ' ' order by id) from pgonce.notification where subscription_id > 0";

  // What it could do is told by its result, which is a part of the payload.
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
          perform pgonce.publish('other', '{}');
          tried := tried || 'published'::text;
        exception when insufficient_privilege then null;
        end;
        begin
          insert into pgonce.into_other (subscription_id, payload) values (%d, '{}');
          tried := tried || 'stored'::text;
        exception when insufficient_privilege then null;
        end;
        begin
          set role pgonce_owner;
          tried := tried || 'acted'::text;
        exception when others then null;
        end;
        return to_json(array_to_string(tried, '+'));
      end $$;
      create cast (lair.grade as json) with function lair.spy(lair.grade);
      """;

  private static final String FAILS =
      """
      create function lair.fails(lair.grade) returns json language plpgsql as $$ begin raise exception 'no'; end $$;
      create cast (lair.grade as json) with function lair.fails(lair.grade);
      """;

  private Login attacker;
  private String owner;
  private String spy;

  @BeforeEach
  void setUp(TestDatabase database) throws Exception {
    attacker = database.loginRole("attacker");
    owner = database.loginRole("keeper").user();
    database.execute("create schema lair authorization \"%s\"".formatted(attacker.user()));
    asAttacker("grant usage on schema lair to public; create type lair.grade as enum ('a', 'b')");
    database.execute(
        """
        create table score (id int primary key, grade lair.grade, marks lair.grade[]);
        create table mark (grade lair.grade primary key, amount int);
        create table other (id int);
        alter table score owner to %1$s;
        alter table mark owner to %1$s
        """
            .formatted(owner));
    PgOnce.using(database.dataSource())
        .install(TriggerChannel.on("other", JsonNode.class).afterInsert().named("other").build());
    spy = SPY.formatted(database.queryLong("select id from pgonce.subscription"));
  }

  private void asAttacker(String sql) throws Exception {
    try (var connection = attacker.dataSource().getConnection();
        var statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }

  private static TriggerChannelBuilder<JsonNode> score(TriggerForm form) {
    return TriggerChannel.on("score", JsonNode.class).afterInsert().form(form);
  }

  @ParameterizedTest
  @EachForm
  void h38_aCastToJsonRunsWithTheRightsOfTheTablesOwnerWhereverARowIsWritten(
      TriggerForm form, TestDatabase database) throws Exception {
    var computed = TriggerChannel.computed("score", JsonNode.class, "new.grade").afterInsert();
    for (var channel :
        List.of(
            score(form).named("whole"),
            score(form).columns("grade").named("named"),
            score(form).columns("id").deliveryKey("grade", "id").named("keyed"),
            computed.form(form).named("computed"))) {
      PgOnce.using(database.dataSource()).install(channel.build());
    }
    asAttacker(spy);
    // A superuser.
    database.execute("insert into score values (1, 'a', '{a,b}')");
    assertThat(
            database.queryString(
                """
                select string_agg(s.of_channel || ' ' || n.payload || coalesce(' ' || n.delivery_key, ''), E'\\n' order by s.of_channel)
                  from pgonce.notification n join pgonce.subscription s on s.id = n.subscription_id
                """))
        .isEqualToIgnoringWhitespace(
            """
            computed "%1$s"
            keyed {"id":1} %1$s:1
            named {"grade":"%1$s"}
            whole {"id":1,"grade":"%1$s","marks":["%1$s","%1$s"]}
            """
                .formatted(owner));
  }

  @ParameterizedTest
  @EachForm
  void h38_soDoesThatOfAnUpdate(TriggerForm form, TestDatabase database) throws Exception {
    var changes = TriggerChannel.changesOf("mark", JsonNode.class).afterUpdate().form(form);
    PgOnce.using(database.dataSource()).install(changes.named("changes").build());
    asAttacker(spy);
    database.execute("insert into mark values ('a', 0)");
    database.execute("update mark set amount = 1");
    assertThat(database.queryString(STORED))
        .isEqualToIgnoringWhitespace(
            """
            {"op":"UPDATE","old":{"grade":"%1$s","amount":0},"new":{"grade":"%1$s","amount":1}}
            """
                .formatted(owner));
  }

  /** A column that a session's kept plan, or a transaction's snapshot, knows nothing of. */
  @Test
  void h38_soDoesThatOfAColumnThatIsNewerThanTheWritersSnapshot(TestDatabase database)
      throws Exception {
    database.execute("create table plain (id int); alter table plain owner to " + owner);
    var channel = TriggerChannel.on("plain", JsonNode.class).afterInsert().build();
    PgOnce.using(database.dataSource()).install(channel);
    try (var connection = database.dataSource().getConnection();
        var statement = connection.createStatement()) {
      statement.execute("insert into plain values (1)");
      statement.execute("begin isolation level repeatable read");
      statement.execute("select count(*) from pg_attribute");
      database.execute("alter table plain add column grade lair.grade default 'a'");
      asAttacker(spy);
      statement.execute("insert into plain values (2)");
      statement.execute("commit");
    }
    assertThat(database.queryString(STORED))
        .isEqualTo("{\"id\":1} {\"id\":2,\"grade\":\"%s\"}".formatted(owner));
  }

  /** The limit as it stands in docs/limits.md. */
  @Test
  void h38_whatACastSetsAndPreparesStaysInTheWritersSession(TestDatabase database)
      throws Exception {
    PgOnce.using(database.dataSource()).install(score(TriggerForm.STATEMENT).build());
    asAttacker(
        """
        create function lair.leaves(lair.grade) returns json language plpgsql as $$
        begin
          perform set_config('search_path', 'lair', false);
          execute 'prepare left_behind as select 1';
          return '"seen"';
        end $$;
        create cast (lair.grade as json) with function lair.leaves(lair.grade);
        """);
    try (var connection = database.dataSource().getConnection();
        var statement = connection.createStatement()) {
      statement.execute("insert into score values (1, 'a', null)");
      try (var row =
          statement.executeQuery(
              "select current_setting('search_path') || ' ' || string_agg(name, ' ') from pg_prepared_statements where name = 'left_behind'")) {
        row.next();
        assertThat(row.getString(1)).isEqualTo("lair left_behind");
      }
    }
  }

  /** As whoever runs it is a superuser, and the table belongs to another role. */
  @Test
  void h38_soItDoesAfterAPrintedMigration(TestDatabase database) throws Exception {
    database.execute(PgOnce.migration(score(TriggerForm.STATEMENT).columns("grade").build()));
    asAttacker(spy);
    database.execute("insert into score values (1, 'a', null)");
    assertThat(database.queryString(STORED)).isEqualTo("{\"grade\":\"%s\"}".formatted(owner));
  }

  @ParameterizedTest
  @EachForm
  void h04_aCastThatFailsFailsTheWriteOrMakesADeadLetter(TriggerForm form, TestDatabase database)
      throws Exception {
    PgOnce.using(database.dataSource()).install(score(form).build());
    asAttacker(FAILS);
    assertThatThrownBy(() -> database.execute("insert into score values (1, 'a', null)"))
        .hasMessageContaining("ERROR: no");
    // Installing again takes a cast of a role that is trusted: see UntrustedCastTest.
    database.execute("alter function lair.fails(lair.grade) owner to " + owner);
    PgOnce.using(database.dataSource())
        .install(score(form).unstorable(Unstorable.DEAD_LETTER).build());
    database.execute("insert into score values (1, 'a', null)");
    assertThat(
            database.queryString(
                "select payload || ' ' || reason || ' ' || error from pgonce.dead_letter"))
        .isEqualTo("{\"id\":1} NOT_STORABLE an error of SQLSTATE P0001");
  }

  @ParameterizedTest
  @EachForm
  void h04_aDeadLetterShowsNoKeyOfATypeThatHasSuchACast(TriggerForm form, TestDatabase database)
      throws Exception {
    var marks = TriggerChannel.changesOf("mark", JsonNode.class).afterInsert().form(form);
    PgOnce.using(database.dataSource()).install(marks.unstorable(Unstorable.DEAD_LETTER).build());
    asAttacker(FAILS);
    database.execute("insert into mark values ('a'), ('b')");
    assertThat(
            database.queryString(
                "select string_agg(payload::text, ' ' order by id) from pgonce.dead_letter"))
        .isEqualToIgnoringWhitespace("{\"op\":\"INSERT\",\"new\":{}}".repeat(2));
  }
}
