package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.pgonce.PgOnce;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** An update's rows before and after, together. */
@PgTest(PgOnceInstalled.class)
class UpdatePairsTest {

  private static final int ROWS = 4_000;

  private static Stream<TriggerChannelBuilder<?>> paired() {
    return Stream.of(
        TriggerChannel.changesOf("thing", Object.class).afterUpdate(),
        TriggerChannel.on("thing", Object.class).afterUpdate().onlyIfChanged(),
        TriggerChannel.on("thing", Object.class).afterUpdate().onlyIfChanged("n"),
        TriggerChannel.on("thing", Object.class).afterUpdate().when("new.n > old.n"));
  }

  /** 26 s where the plan of the first is a nested loop, and 0.2 s where it is not. */
  @ParameterizedTest
  @MethodSource("paired")
  void h06_aLargeUpdateAfterASmallOneIsAsFastAsWithoutIt(
      TriggerChannelBuilder<?> builder, TestDatabase database) throws Exception {
    database.execute(
        "create table thing (id int primary key, n int); insert into thing select g, 0 from generate_series(1, %d) g"
            .formatted(ROWS));
    PgOnce.using(database.dataSource()).install(builder.named("thing").build());
    long fresh;
    try (var connection = database.dataSource().getConnection()) {
      fresh = millisOf(connection, ROWS);
    }
    try (var connection = database.dataSource().getConnection()) {
      for (var i = 0; i < 8; i++) {
        millisOf(connection, 1);
      }
      assertThat(millisOf(connection, ROWS)).isLessThan(8_000 + 5 * fresh);
    }
    assertThat(
            database.queryLong(
                "select count(*) from pgonce.notification where subscription_id > 0"))
        .isEqualTo(2L * ROWS + 8);
  }

  private static long millisOf(Connection connection, int upTo) throws SQLException {
    try (var update =
        connection.prepareStatement("update thing set n = n + 1 where id between 1 and ?")) {
      update.setInt(1, upTo);
      var before = System.nanoTime();
      assertThat(update.executeUpdate()).isEqualTo(upTo);
      return (System.nanoTime() - before) / 1_000_000;
    }
  }

  /** Values are compared as they are stored, and no change of one is lost. */
  @ParameterizedTest
  @EachForm
  void h07_everyChangeOfAColumnCounts(TriggerForm form, TestDatabase database) throws Exception {
    database.execute(
        "create table thing (id int primary key, doc jsonb, plain json, list int[], amount numeric); insert into thing values (1, null, null, '{1,2}', 1.0)");
    for (var column : new String[] {"doc", "plain", "list", "amount"}) {
      PgOnce.using(database.dataSource())
          .install(
              TriggerChannel.on("thing", Object.class)
                  .afterUpdate()
                  .onlyIfChanged(column)
                  .form(form)
                  .named(column)
                  .build());
    }
    database.execute("update thing set doc = doc, plain = plain, list = list, amount = amount");
    assertThat(stored(database)).isNull();
    database.execute("update thing set doc = 'null'");
    database.execute("update thing set plain = 'null'");
    database.execute("update thing set list = '[5:6]={1,2}'");
    database.execute("update thing set amount = 1.00");
    assertThat(stored(database)).isEqualTo("doc plain list amount");
  }

  private static @Nullable String stored(TestDatabase database) throws SQLException {
    return database.queryString(
        "select string_agg(s.of_channel, ' ' order by n.id) from pgonce.notification n join pgonce.subscription s on s.id = n.subscription_id");
  }

  /** A column may have any name. */
  @Tag("all")
  @ParameterizedTest
  @EachForm
  void h30_aNameThatIsPartOfTheFunctionIsAColumnsToo(TriggerForm form, TestDatabase database)
      throws Exception {
    var names =
        new String[] {"$pgonce$", "$capture$", "q := NULL::", "pgonce_row", "t", "before_row"};
    var columns = new StringBuilder();
    for (var name : names) {
      columns.append(", \"").append(name).append("\" int");
    }
    database.execute("create table thing (id int primary key" + columns + ")");
    for (var name : names) {
      PgOnce.using(database.dataSource())
          .install(
              TriggerChannel.changesOf("thing", Object.class)
                  .afterInsert()
                  .afterUpdate()
                  .afterDelete()
                  .columns("id", name)
                  .onlyIfChanged(name)
                  .deliveryKey(name)
                  .form(form)
                  .named("c" + List.of(names).indexOf(name))
                  .build(),
              TriggerChannel.changesOf("thing", Object.class)
                  .afterInsert()
                  .afterUpdate()
                  .afterDelete()
                  .when("'$pgonce$' <> '$capture$'")
                  .deliveryKey("id", name)
                  .form(form)
                  .named("w" + List.of(names).indexOf(name))
                  .build(),
              TriggerChannel.changesOf("thing", Object.class)
                  .afterInsert()
                  .afterUpdate()
                  .deliveryKey("id", name)
                  .form(form)
                  .named("a" + List.of(names).indexOf(name))
                  .build());
    }
    database.execute("insert into thing values (1, 1, 1, 1, 1, 1, 1)");
    database.execute(
        "update thing set \"$pgonce$\" = 2, \"$capture$\" = 2, \"q := NULL::\" = 2, pgonce_row = 2, t = 2, before_row = 2");
    assertThat(
            database.queryLong(
                "select count(*) from pgonce.notification where subscription_id > 0 and payload -> 'new' ->> 'id' = '1' and delivery_key is not null"))
        .isEqualTo(6L * names.length);
    assertThat(database.queryLong("select count(*) from pgonce.dead_letter")).isZero();
  }
}
