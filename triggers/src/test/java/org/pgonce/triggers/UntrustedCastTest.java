package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.pgonce.PgOnce;
import org.pgonce.PgOnceException;
import org.pgonce.spi.Event;
import org.pgonce.spi.Observer;
import org.pgonce.testkit.Login;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import tools.jackson.databind.JsonNode;

/**
 * H38: casts to json, which run in the writer's session, and the roles that their functions have.
 */
@Tag("versions")
@PgTest(PgOnceInstalled.class)
class UntrustedCastTest {

  // What it sets and writes is undone; a prepared statement stays.
  private static final String CAST =
      """
      create function lair.leave(lair.grade) returns json language plpgsql as $$
      begin
        execute 'prepare left_behind as select 1';
        return '"seen"';
      exception when duplicate_prepared_statement then
        return '"seen"';
      end $$;
      create cast (lair.grade as json) with function lair.leave(lair.grade);
      create function lair.leave(lair.span) returns json language sql as 'select ''1''::json';
      create cast (lair.span as json) with function lair.leave(lair.span);
      """;

  private static final TriggerChannel<JsonNode> SCORED =
      TriggerChannel.on("score", JsonNode.class).afterInsert().named("scored").build();

  private Login attacker;

  @BeforeEach
  void setUp(TestDatabase database) throws Exception {
    attacker = database.loginRole("attacker");
    database.execute("create schema lair authorization \"%s\"".formatted(attacker.user()));
    asAttacker(
        """
        grant usage on schema lair to public;
        create type lair.grade as enum ('a', 'b');
        create domain lair.mark as lair.grade;
        create type lair.pair as (one int, marks lair.mark[]);
        create type lair.span as range (subtype = int)
        """);
  }

  private void asAttacker(String sql) throws Exception {
    try (var connection = attacker.dataSource().getConnection();
        var statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }

  private static void createTable(TestDatabase database, String type) throws Exception {
    database.execute("create table score (id int primary key, grade %s)".formatted(type));
  }

  private static List<String> check(TestDatabase database) throws Exception {
    try (var connection = database.dataSource().getConnection()) {
      return Triggers.check(connection, SCORED);
    }
  }

  @Tag("all")
  @ParameterizedTest
  @ValueSource(
      strings = {
        "lair.grade",
        "lair.grade[]",
        "lair.mark",
        "lair.pair",
        "lair.pair[]",
        "lair.span"
      })
  void h38_aCastOfAnotherRoleIsRefusedAtTheInstallation(String type, TestDatabase database)
      throws Exception {
    createTable(database, type);
    asAttacker(CAST);
    var why =
        "type %s of table public.score has a cast to json by function lair.leave(%1$s) of role %s"
            .formatted(type.equals("lair.span") ? type : "lair.grade", attacker.user());
    assertThatThrownBy(() -> PgOnce.using(database.dataSource()).install(SCORED))
        .isInstanceOf(PgOnceException.class)
        .hasMessageContaining(why)
        .hasMessageContaining("DROP CAST (");
    try (var connection = database.dataSource().getConnection()) {
      assertThat(Triggers.plan(connection, SCORED).obstacles())
          .singleElement()
          .asString()
          .startsWith(why);
    }
    database.execute(
        "alter function lair.leave(lair.grade) owner to pgonce_owner; alter function lair.leave(lair.span) owner to pgonce_owner");
    PgOnce.using(database.dataSource()).install(SCORED);
    assertThat(check(database)).isEmpty();
  }

  /** By a trigger of its own it can do the same to whoever writes to its table. */
  @Test
  void h38_aCastOfTheTablesOwnerIsTaken(TestDatabase database) throws Exception {
    createTable(database, "lair.grade");
    asAttacker(CAST);
    database.execute("alter table score owner to \"%s\"".formatted(attacker.user()));
    PgOnce.using(database.dataSource()).install(SCORED);
    assertThat(check(database)).isEmpty();
  }

  @Test
  void h38_aCastOfAMemberOfPgonceOwnerIsTaken(TestDatabase database) throws Exception {
    createTable(database, "lair.grade");
    asAttacker(CAST);
    database.execute("grant pgonce_owner to \"%s\"".formatted(attacker.user()));
    PgOnce.using(database.dataSource()).install(SCORED);
    assertThat(check(database)).isEmpty();
  }

  /** It would be too late to refuse, and a role that owns a type must not stop listeners. */
  @Test
  void h38_aCastThatIsMadeLaterIsReportedByCheckAndWarnedOfAtTheStart(TestDatabase database)
      throws Exception {
    createTable(database, "lair.grade");
    PgOnce.using(database.dataSource()).install(SCORED);
    assertThat(check(database)).isEmpty();
    asAttacker(CAST);
    var why =
        "channel scored: type lair.grade of table public.score has a cast to json by function";
    assertThat(check(database)).singleElement().asString().startsWith(why);

    PgOnce.using(database.dataSource()).install(SCORED);
    var told = new CopyOnWriteArrayList<String>();
    Observer observer =
        event -> {
          if (event instanceof Event.FeedTrouble said) {
            told.add(said.problem());
          }
        };
    try (var pgonce = PgOnce.builder(database.pooled(4)).observer(observer).build()) {
      pgonce.listen(SCORED, (scored, tx) -> {}).start();
      assertThat(told).singleElement().asString().startsWith(why);
    }
  }

  /** The limit as it stands in the README: until the next check such a cast runs. */
  @Test
  void h38_whatACastPreparesStaysInTheWritersSession(TestDatabase database) throws Exception {
    createTable(database, "lair.grade");
    PgOnce.using(database.dataSource()).install(SCORED);
    asAttacker(CAST);
    try (var connection = database.dataSource().getConnection();
        var statement = connection.createStatement()) {
      statement.execute("insert into score values (1, 'a')");
      try (var row =
          statement.executeQuery(
              "select count(*) from pg_prepared_statements where name = 'left_behind'")) {
        row.next();
        assertThat(row.getLong(1)).isOne();
      }
    }
    assertThat(
            database.queryString(
                "select payload->>'grade' from pgonce.notification where subscription_id > 0"))
        .isEqualTo("seen");
  }
}
