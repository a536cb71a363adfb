package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assumptions.assumeThat;

import java.sql.SQLException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.pgonce.PgOnce;
import org.pgonce.PgOnceException;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** SQL of a definition over columns whose types belong to a user, or whose names are unusual. */
@Tag("versions")
@PgTest(PgOnceInstalled.class)
class TypesInSqlTest {

  private static final String STORED =
      """
      select string_agg(payload::text, ' ' order by id) from pgonce.notification
       where subscription_id > 0
      """;

  private static TriggerChannelBuilder<?> changed(TriggerForm form, String expression) {
    return TriggerChannel.computed("pet", Object.class, expression)
        .afterInsert()
        .afterUpdate()
        .afterDelete()
        .form(form)
        .named("pet");
  }

  /** Its null is where there is no such row, and makes no value of the domain. */
  @ParameterizedTest
  @EnumSource
  void h12_aDomainThatTakesNoNullIsNullWhereThereIsNoRow(TriggerForm form, TestDatabase database)
      throws Exception {
    database.execute(
        """
        create domain age as int not null check (value is not null);
        create domain ages as age[] check (value is not null);
        create table pet (id int primary key, age age, ages ages)
        """);
    var channel =
        changed(form, "json_build_array(old, new, new.age - old.age)")
            .when("old.age is distinct from new.age and old.ages is distinct from new.ages")
            .build();
    PgOnce.using(database.dataSource()).install(channel);

    database.execute("insert into pet values (1, 2, '{1}')");
    database.execute("update pet set age = 3, ages = '{2}'");
    database.execute("delete from pet");

    assertThat(database.queryString(STORED))
        .isEqualTo(
            """
            [{"age":null,"ages":null,"id":null}, {"age":2,"ages":[1],"id":1}, null] \
            [{"age":2,"ages":[1],"id":1}, {"age":3,"ages":[2],"id":1}, 1] \
            [{"age":3,"ages":[2],"id":1}, {"age":null,"ages":null,"id":null}, null]""");
  }

  /** A function's text has names, which lead nowhere then. */
  @ParameterizedTest
  @EnumSource
  void h10_aTypeThatIsRenamedOrDroppedWithItsColumnBreaksNoWrite(
      TriggerForm form, TestDatabase database) throws Exception {
    database.execute(
        """
        create type mood as enum ('glad', 'sad');
        create domain age as int check (value > 0);
        create table pet (id int primary key, mood mood, moods mood[], age age)
        """);
    var channel =
        changed(form, "coalesce(new.mood, old.mood)")
            .when(
                "old.age is distinct from new.age and 'sad' = any (coalesce(new.moods, old.moods, '{sad}'))")
            .build();
    PgOnce.using(database.dataSource()).install(channel);

    database.execute("insert into pet values (1, 'glad', '{sad}', 1)");
    database.execute("alter type mood rename to feeling; alter domain age rename to years");
    database.execute("insert into pet values (2, 'sad', '{sad}', 2)");
    assertThat(database.queryString(STORED)).isEqualTo("\"glad\" \"sad\"");
    assertThat(check(database, channel)).isEmpty();

    database.execute("alter table pet drop moods, drop age; drop domain years");
    database.execute("insert into pet values (3, 'glad')");
    assertThat(database.queryString(STORED)).isEqualTo("\"glad\" \"sad\"");
  }

  /** There its name is in the SQL anyway. */
  @ParameterizedTest
  @EnumSource
  void h10_anEnumColumnThatIsDroppedBreaksNoWriteOfSqlThatNamesItsType(
      TriggerForm form, TestDatabase database) throws Exception {
    database.execute(
        """
        create type "Mood" as enum ('glad', 'sad');
        create table pet (id int primary key, mood "Mood", moods "Mood"[])
        """);
    var channel =
        changed(form, "new.id")
            .when(
                "(new.mood = 'sad'::public.\"Mood\" or new.moods && '{sad}'::public.\"Mood\"[]) is not true")
            .build();
    PgOnce.using(database.dataSource()).install(channel);

    database.execute("insert into pet values (1, 'sad', '{}'), (2, 'glad', '{glad}')");
    database.execute("alter table pet drop mood, drop moods");
    database.execute("insert into pet values (3)");
    assertThat(database.queryString(STORED)).isEqualTo("2 3");
  }

  @Test
  void h12_namesOfColumnsAndRowsAreFoldedAsPostgresqlDoes(TestDatabase database) throws Exception {
    database.execute("create table pet (GR\u00d6SSE int, \"gr\u00f6sse\" int)");
    PgOnce.using(database.dataSource())
        .install(
            TriggerChannel.computed(
                    "pet", Integer.class, "\"new\".GR\u00d6SSE - New.\"gr\u00f6sse\"")
                .afterInsert()
                .build());

    database.execute("insert into pet values (9, 2)");

    assertThat(database.queryString(STORED)).isEqualTo("7");
  }

  @Test
  void h12_sqlOverAColumnThatNoTriggerSeesIsRefusedWithTheReason(TestDatabase database)
      throws Exception {
    assumeThat(database.queryLong("select current_setting('server_version_num')::int"))
        .describedAs("virtual generated columns came with PostgreSQL 18")
        .isGreaterThanOrEqualTo(180_000);
    database.execute("create table pet (id int, twice int generated always as (id * 2) virtual)");
    var channel =
        TriggerChannel.on("pet", Object.class).afterInsert().when("new.twice > 1").build();

    assertThatThrownBy(() -> PgOnce.using(database.dataSource()).install(channel))
        .isInstanceOf(PgOnceException.class)
        .hasMessageContaining(
            "its condition reads column twice of table public.pet, which is generated when it is read and not seen by triggers: make it STORED");
  }

  private static Iterable<String> check(TestDatabase database, TriggerChannel<?> channel)
      throws SQLException {
    try (var connection = database.dataSource().getConnection()) {
      return Triggers.check(connection, channel);
    }
  }
}
