package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.sql.Connection;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.pgonce.PgOnce;
import org.pgonce.PgOnceException;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** Which kinds of table can feed a channel. */
@PgTest(PgOnceInstalled.class)
class TableFormTest {

  record Row(int id) {}

  @Test
  void h12_whatCannotFeedAChannelIsRefusedWithTheReason(TestDatabase database) throws Exception {
    database.execute(
        """
        create table base (id int not null);
        create view a_view as select * from base;
        create materialized view a_matview as select * from base;
        create sequence a_sequence;
        create foreign data wrapper nothing;
        create server nowhere foreign data wrapper nothing;
        create foreign table a_foreign (id int not null) server nowhere
        """);

    assertRefused(database, "pg_catalog.pg_class", "is PostgreSQL's own, which takes no trigger");
    assertRefused(database, "a_view", "is a view: watch the table behind it");
    assertRefused(database, "a_matview", "is a materialized view");
    assertRefused(database, "a_sequence", "is no table");
    assertRefused(database, "a_foreign", "is a foreign table");
    assertRefused(database, "absent", "does not exist on the search path (public) of database");
    assertRefused(database, "app.base", "does not exist in database");
    assertRefused(database, "app.base", "; there is public.base");
    PgOnce.using(database.dataSource()).install();
    assertRefused(database, "pgonce.notification", "is pgonce's own");
  }

  @Test
  void h12_aTemporaryTableIsNotFoundByItsNameAlone(TestDatabase database) throws Exception {
    database.execute("create table base (id int not null)");
    try (var connection = database.dataSource().getConnection();
        var statement = connection.createStatement()) {
      statement.execute("create temp table base (id text); create temp table own (id int)");

      assertThat(obstacles(connection, "base")).isEmpty();
      assertThat(obstacles(connection, "own")).contains("does not exist");
      try (var row = statement.executeQuery("select pg_my_temp_schema()::regnamespace")) {
        row.next();
        assertThat(obstacles(connection, row.getString(1) + ".own")).contains("is temporary");
      }
    }
  }

  @Test
  void h09_insertsIntoAPartitionedTableAreCaptured(TestDatabase database) throws Exception {
    database.execute(
        """
        create table whole (id int not null) partition by list (id);
        create table part1 partition of whole for values in (1);
        create table part2 partition of whole default
        """);
    var channel = TriggerChannel.on("whole", Row.class).afterInsert().build();
    PgOnce.using(database.dataSource()).install(channel);

    database.execute("insert into whole values (1), (2), (3)");

    assertThat(
            database.queryLong(
                "select count(*) from pgonce.notification where subscription_id > 0"))
        .isEqualTo(3);
    assertWarned(database, channel, "is partitioned");
  }

  @Test
  void h09_inheritanceAndUnloggedTablesAreWarnedOf(TestDatabase database) throws Exception {
    database.execute(
        "create unlogged table parent (id int not null); create table child () inherits (parent)");
    var channel = TriggerChannel.on("parent", Row.class).afterInsert().build();
    PgOnce.using(database.dataSource()).install(channel);

    assertWarned(database, channel, "other tables inherit from table public.parent");
    assertWarned(database, channel, "is unlogged");
  }

  /** PostgreSQL fires such a trigger for the table that is named, and has no copies of it. */
  @Test
  void h08_aTruncateOfAPartitionByItsOwnNameIsNotSeenAndWarnedOf(TestDatabase database)
      throws Exception {
    database.execute(
        "create table whole (id int not null) partition by range (id); create table part partition of whole default");
    var channel =
        TriggerChannel.changesOf("whole", Row.class)
            .afterInsert()
            .afterTruncate()
            .form(TriggerForm.ROW)
            .named("whole")
            .build();
    PgOnce.using(database.dataSource()).install(channel);
    var stored = "select count(*) from pgonce.notification where subscription_id > 0";
    database.execute("truncate part");
    assertThat(database.queryLong(stored)).isZero();
    database.execute("truncate whole");
    assertThat(database.queryLong(stored)).isOne();

    assertWarned(
        database, channel, "a TRUNCATE of one of those by its own name makes no notification");
  }

  @Test
  void h08_aDeferredTriggerIsWarnedOf(TestDatabase database) throws Exception {
    database.execute("create table thing (id int not null)");
    var channel =
        TriggerChannel.on("thing", Row.class).afterInsert().form(TriggerForm.DEFERRED).build();
    PgOnce.using(database.dataSource()).install(channel);
    assertWarned(database, channel, "cannot TRUNCATE or ALTER it before");
    for (var change : List.of("truncate thing", "alter table thing add column note text")) {
      try (var connection = database.dataSource().getConnection();
          var statement = connection.createStatement()) {
        connection.setAutoCommit(false);
        statement.execute("insert into thing values (1)");
        var before = connection.setSavepoint();
        assertThatThrownBy(() -> statement.execute(change))
            .hasMessageContaining("pending trigger events");
        connection.rollback(before);
        statement.execute("set constraints all immediate");
        statement.execute(change);
        connection.commit();
      }
    }
  }

  private static void assertRefused(TestDatabase database, String table, String why) {
    var channel = TriggerChannel.on(table, Row.class).afterInsert().named("c").build();
    assertThatThrownBy(() -> PgOnce.using(database.dataSource()).install(channel))
        .isInstanceOf(PgOnceException.class)
        .hasMessageContaining(why);
  }

  private static void assertWarned(TestDatabase database, TriggerChannel<?> channel, String warning)
      throws Exception {
    try (var connection = database.dataSource().getConnection()) {
      assertThat(Triggers.plan(connection, channel).warnings())
          .anyMatch(line -> line.contains(warning));
    }
  }

  private static String obstacles(Connection connection, String table) throws Exception {
    var channel = TriggerChannel.on(table, Row.class).afterInsert().named("c").build();
    return String.join("\n", Triggers.plan(connection, channel).obstacles());
  }

  @Test
  void h10_aColumnIsRetypedInTheMidstOfASessionOfADefinitionWithoutASchema(TestDatabase database)
      throws Exception {
    database.execute("create schema app; create table app.thing (id int, note text)");
    var sql = TriggerChannel.on("thing", Object.class).afterInsert().form(TriggerForm.ROW);
    try (var connection = database.dataSource().getConnection();
        var statement = connection.createStatement()) {
      statement.execute("set search_path = app");
      assertThat(Triggers.plan(connection, some("thing")).warnings()).isEmpty();
      connection.setAutoCommit(false);
      var withSql = sql.when("new.note <> ''").named("with_sql").build();
      Triggers.apply(connection, some("thing"), withSql);
      connection.commit();
      for (var n = 0; n < 10; n++) {
        statement.execute("insert into thing values (%d, 'x')".formatted(n));
      }
      statement.execute("alter table thing alter id type bigint, alter note type varchar(9)");
      statement.execute("insert into thing values (1 + 2147483647::bigint, 'y')");
      connection.commit();
    }
    assertThat(
            database.queryLong(
                "select count(*) from pgonce.notification where payload ->> 'id' = '2147483648'"))
        .isEqualTo(2);
  }

  private static TriggerChannel<?> some(String table) {
    return TriggerChannel.on(table, Object.class)
        .afterInsert()
        .columns("id")
        .form(TriggerForm.ROW)
        .build();
  }
}
