package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.pgonce.PgOnce;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/**
 * A table changes under its channels: no write ever fails, whatever its session has done before.
 */
@PgTest(PgOnceInstalled.class)
class SchemaChangeTest {

  private static final List<String> CHANGES =
      List.of(
          "alter table thing add column extra int default 7",
          "alter table thing alter column amount type text",
          "alter table thing alter column id type bigint",
          "alter table thing rename column note to remark",
          "alter table thing drop column amount",
          "alter table thing add column amount int",
          "alter table thing drop column secret",
          "alter table thing drop constraint thing_pkey",
          "alter table thing rename to things; alter table things rename to thing",
          // Nothing of the table's name is to be found where a plan looks for it.
          "create schema elsewhere; alter table thing set schema elsewhere",
          "alter table elsewhere.thing alter column amount type numeric",
          "alter table elsewhere.thing set schema public");

  private static final Map<String, TriggerChannelBuilder<?>> KINDS =
      Map.of(
          "whole", channel(),
          "keyed", channel().deliveryKey("id", "note"),
          "changed", channel().onlyIfChanged("amount", "note"),
          "some", channel().columns("id", "amount", "note").deliveryKey("note"),
          "without", channel().withoutColumns("secret"),
          "key", channel().primaryKeyOnly(),
          "when", buried().when("coalesce(new.amount, old.amount) > 0 and tg_op <> 'none'"),
          "due", buried().dueAt("now() + coalesce(new.amount, old.amount) * interval '1 second'"),
          "sqlkey", channel().deliveryKeySql("coalesce(new.note, old.note) || random()"),
          "computed",
              TriggerChannel.computed(
                      "thing", Object.class, "json_build_object('a', new.amount, 'o', old)")
                  .afterInsert()
                  .afterUpdate()
                  .afterDelete()
                  .unstorable(Unstorable.DEAD_LETTER));

  private static TriggerChannelBuilder<?> channel() {
    return TriggerChannel.changesOf("thing", Object.class)
        .afterInsert()
        .afterUpdate()
        .afterDelete();
  }

  // SQL of the user's own can fail for a column that has another type.
  private static TriggerChannelBuilder<?> buried() {
    return channel().unstorable(Unstorable.DEAD_LETTER);
  }

  @ParameterizedTest
  @EachForm
  void h10_noWriteFailsWhateverBecomesOfTheTable(TriggerForm form, TestDatabase database)
      throws Exception {
    database.execute("create table thing (id int primary key, amount int, note text, secret text)");
    for (var kind : KINDS.entrySet()) {
      PgOnce.using(database.dataSource())
          .install(kind.getValue().form(form).named(kind.getKey()).build());
    }
    try (var writer = database.dataSource().getConnection()) {
      writer.createStatement().execute("set search_path = public, elsewhere");
      write(writer, 0); // its session has plans of all functions now
      var stored = captured(database);
      assertThat(stored).as("all kinds, three events of two rows").isGreaterThanOrEqualTo(54);
      for (var change : CHANGES) {
        database.execute(change);
        write(writer, CHANGES.indexOf(change) + 1);
        var now = captured(database);
        // What cannot be stored as it is defined is a dead letter, and nothing is without a trace.
        assertThat(now - stored).as(change).isGreaterThanOrEqualTo(48);
        stored = now;
      }
    }
    assertThat(
            database.queryLong(
                "select count(*) from pgonce.dead_letter d join pgonce.subscription s on s.id = d.subscription_id join pgonce.channel c on c.id = s.channel_id where c.name in ('whole', 'keyed', 'changed', 'some', 'without', 'key')"))
        .isZero();
    assertThat(
            database.queryLong(
                "select count(*) from pgonce.dead_letter where reason <> 'NOT_STORABLE' or payload::text like '%hush%'"))
        .isZero();
  }

  /** Stored if and only if the write is: it says so itself, with PostgreSQL's error. */
  @Test
  void h10_sqlOverARetypedColumnFailsTheWriteUnlessDeadLettersAreAskedFor(TestDatabase database)
      throws Exception {
    database.execute("create table thing (id int primary key, amount int, note text)");
    PgOnce.using(database.dataSource())
        .install(channel().when("coalesce(new.amount, old.amount) > 0").named("when").build());
    database.execute("alter table thing alter column amount type jsonb using null");
    assertThatThrownBy(() -> database.execute("insert into thing values (1, '{}')"))
        .hasMessageContaining("operator does not exist: jsonb > integer");
    assertThat(database.queryLong("select count(*) from thing")).isZero();
  }

  /** The table that is watched is looked up by the migration, where it runs. */
  @ParameterizedTest
  @EachForm
  void h10_soItIsWhereAMigrationHasInstalledIt(TriggerForm form, TestDatabase database)
      throws Exception {
    database.execute("create table thing (id int primary key, amount int, note text)");
    var kept = channel().columns("id", "amount").form(form).named("kept").build();
    try (var writer = database.dataSource().getConnection();
        var statement = writer.createStatement()) {
      statement.execute(Triggers.migration(writer, kept).up());
      assertThat(Triggers.check(writer, kept)).isEmpty();
      statement.execute("set search_path = public, elsewhere");
      write(writer, 0);
      database.execute("create schema elsewhere; alter table thing set schema elsewhere");
      write(writer, 1);
      database.execute("alter table elsewhere.thing alter column amount type numeric");
      write(writer, 2);
      database.execute("alter table elsewhere.thing set schema public");
      database.execute("alter table thing rename to things; alter table things rename to thing");
      write(writer, 3);
      assertThat(Triggers.check(writer, kept)).isEmpty();
    }
    assertThat(captured(database)).as("four rounds of two rows").isEqualTo(4 * 2 * 4);
  }

  private static void write(Connection writer, int round) throws SQLException {
    try (var statement = writer.createStatement()) {
      statement.execute(
          "insert into thing (id) values (%1$d), (%1$d + 1)".formatted(10 * round + 1));
      for (var column : List.of("amount", "note", "remark", "secret")) {
        if (has(writer, column)) {
          var value = column.equals("amount") ? "1" : "hush";
          statement.execute("update thing set %s = '%s'".formatted(column, value));
        }
      }
      statement.execute("delete from thing");
    }
  }

  private static boolean has(Connection writer, String column) throws SQLException {
    try (var statement = writer.createStatement();
        var row =
            statement.executeQuery(
                "select from pg_attribute where attrelid = 'thing'::regclass and not attisdropped and attname = '"
                    + column
                    + "'")) {
      return row.next();
    }
  }

  private static long captured(TestDatabase database) throws SQLException {
    return database.queryLong(
        "select (select count(*) from pgonce.notification where subscription_id > 0) + (select count(*) from pgonce.scheduled where subscription_id > 0) + (select count(*) from pgonce.dead_letter)");
  }

  private static Stream<Arguments> keysThatChange() {
    var unknown = "{\"id\":null}";
    var changes =
        Map.of(
            "alter table thing rename column id to ident",
            unknown,
            // Another column has its name by then.
            "alter table thing rename column id to was; alter table thing add column id int default 7",
            "{\"id\":7}",
            "alter table thing drop column id; alter table thing add column ident int generated always as identity primary key",
            unknown,
            "alter table thing drop constraint thing_pkey; alter table thing add primary key (x)",
            "{\"id\":1}");
    return Stream.of(TriggerForm.values())
        .flatMap(
            form ->
                changes.entrySet().stream()
                    .map(change -> Arguments.of(form, change.getKey(), change.getValue())));
  }

  /** By the names that the function has for it, whatever of the catalog the writer can see. */
  @ParameterizedTest
  @Tag("all")
  @MethodSource("keysThatChange")
  void h10_aPrimaryKeyThatChangesAfterTheWritersSnapshotIsToldByItsNames(
      TriggerForm form, String change, String key, TestDatabase database) throws Exception {
    database.execute("create table thing (id int primary key default 1, x int)");
    PgOnce.using(database.dataSource())
        .install(
            added(form)
                .named("buried")
                .when("1 / new.x > 0")
                .unstorable(Unstorable.DEAD_LETTER)
                .build(),
            channel().primaryKeyOnly().form(form).named("change").build(),
            added(form).named("row").primaryKeyOnly().build());
    try (var writer = database.dataSource().getConnection();
        var statement = writer.createStatement()) {
      statement.execute("begin isolation level repeatable read");
      statement.execute("select count(*) from pg_attribute");
      database.execute(change);
      statement.execute("insert into thing (x) values (0)");
      statement.execute("commit");
    }
    assertThat(
            database.queryString(
                """
                select string_agg(s.of_channel || ' ' || n.found || ' ' || n.payload, ' ' order by s.of_channel)
                  from (select subscription_id, payload, 'told' as found from pgonce.notification
                        union all select subscription_id, payload, 'dead' from pgonce.dead_letter) n
                  join pgonce.subscription s on s.id = n.subscription_id
                """))
        .isEqualToIgnoringWhitespace(
            """
            buried dead %1$s
            change told {"op":"INSERT","new":%1$s}
            row told %1$s
            """
                .formatted(key));
    assertThat(
            database.queryString(
                "select error from pgonce.dead_letter l join pgonce.subscription s on s.id = l.subscription_id where s.of_channel = 'buried'"))
        .isEqualTo("an error of SQLSTATE 22012");
  }

  private static TriggerChannelBuilder<Object> added(TriggerForm form) {
    return TriggerChannel.on("thing", Object.class).afterInsert().form(form);
  }

  @ParameterizedTest
  @EachForm
  void h10_aSessionThatWroteBeforeStoresTheColumnsThatHaveTheNamesNow(
      TriggerForm form, TestDatabase database) throws Exception {
    database.execute("create table thing (id int, price int, cost int)");
    PgOnce.using(database.dataSource())
        .install(
            TriggerChannel.on("thing", Object.class)
                .afterInsert()
                .columns("id", "price")
                .when("new.price > 0")
                .form(form)
                .build());
    try (var writer = database.dataSource().getConnection();
        var statement = writer.createStatement()) {
      statement.execute("insert into thing (id, price, cost) values (1, 10, 0)");
      database.execute("alter table thing rename column price to was");
      database.execute("alter table thing rename column cost to price");
      statement.execute("insert into thing (id, was, price) values (2, 20, 5), (3, 20, -1)");
    }
    assertThat(
            database.queryString(
                "select string_agg(payload::text, ' ' order by id) from pgonce.notification where subscription_id > 0"))
        .isEqualTo("{\"id\":1,\"price\":10} {\"id\":2,\"price\":5}");
  }

  @ParameterizedTest
  @EachForm
  void h10_aColumnThatIsComparedAndGoneCountsAsChanged(TriggerForm form, TestDatabase database)
      throws Exception {
    database.execute("create table thing (id int, price int); insert into thing values (1, 10)");
    var compared =
        TriggerChannel.on("thing", Object.class).afterUpdate().onlyIfChanged("price").form(form);
    PgOnce.using(database.dataSource())
        .install(
            compared.named("whole").build(), compared.named("when").when("new.id > 0").build());
    database.execute("update thing set price = price");
    assertThat(captured(database)).isZero();
    database.execute("alter table thing drop column price");
    database.execute("update thing set id = id");
    assertThat(captured(database)).as("better one too many, of each channel").isEqualTo(2);
  }

  /**
   * PostgreSQL keeps such a column from being dropped or retyped: that is told beforehand, and no
   * surprise.
   */
  @Test
  void h10_aColumnOfAnUpdateOfCannotBeDroppedOrRetyped(TestDatabase database) throws Exception {
    database.execute("create table thing (id int primary key, amount int)");
    PgOnce.using(database.dataSource())
        .install(TriggerChannel.on("thing", Object.class).afterUpdateOf("amount").build());
    assertThatThrownBy(() -> database.execute("alter table thing drop column amount"))
        .hasMessageContaining("trigger pgonce_thing_updated");
    assertThatThrownBy(() -> database.execute("alter table thing alter amount type bigint"))
        .hasMessageContaining("cannot alter type of a column used in a trigger definition");
    database.execute("drop trigger pgonce_thing_updated on thing");
    database.execute("alter table thing alter amount type bigint");
  }
}
