package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.pgonce.ChannelOptions;
import org.pgonce.KeyOrder;
import org.pgonce.PgOnce;
import org.pgonce.testkit.TestServer;

/** What a trigger runs is planned once for a session, and not for each statement of the writer. */
class KeptPlanTest {

  private static final int ROWS = 40;

  // PostgreSQL makes five plans of a statement before it keeps one.
  private static final int BEFORE = 10;

  private static final String PLANNED =
      "select string_agg(s.plans || ' of ' || s.calls || ': ' || left(s.query, 200), E'\\n') from pg_stat_statements s"
          + " join pg_database d on d.oid = s.dbid and d.datname = current_database() where not s.toplevel and s.plans > %d"
              .formatted(ROWS / 4);

  private static List<TriggerChannel<?>> channels(TriggerForm form) {
    var channels = new ArrayList<TriggerChannel<?>>();
    for (var builder :
        List.of(
            TriggerChannel.on("public.thing", Object.class)
                .afterInsert()
                .afterUpdate()
                .form(form)
                .named("rows"),
            one(form).named("whole"),
            one(form).columns("id", "name").named("columns"),
            one(form).withoutColumns("name").named("without"),
            one(form).primaryKeyOnly().named("primary"),
            one(form).when("new.id >= 0").named("condition"),
            one(form)
                .options(ChannelOptions.DEFAULT.withOrder(KeyOrder.DEAD_LETTER_PASSES))
                .orderKey("name")
                .named("ordered"),
            one(form).onlyIfChanged().named("changed"),
            one(form).onlyIfChanged("price").named("price"),
            one(form).dueAt("now() - new.price * interval '1 minute'").named("due"),
            one(form).deliveryKey("id", "price").named("keyed"))) {
      channels.add(builder.build());
    }
    return channels;
  }

  private static void singles(Statement statement, int from, int count) throws SQLException {
    for (var i = from; i < from + count; i++) {
      statement.execute("insert into thing values (%d, 'name %1$d', 1)".formatted(i));
      statement.execute("update thing set price = 2 where id = " + i);
    }
  }

  private static TriggerChannelBuilder<?> one(TriggerForm form) {
    return TriggerChannel.changesOf("public.thing", Object.class)
        .afterInsert()
        .afterUpdate()
        .form(form);
  }

  @Tag("all")
  @ParameterizedTest
  @EnumSource(
      value = TriggerForm.class,
      names = {"STATEMENT", "ROW", "DEFERRED"})
  void h06_noStatementOfATriggerIsPlannedForEachOfTheWriters(TriggerForm form) throws Exception {
    try (var server =
            TestServer.start(
                Map.of(
                    "shared_preload_libraries", "pg_stat_statements",
                    "pg_stat_statements.track", "all",
                    "pg_stat_statements.track_planning", "on"));
        var database = server.createDatabase()) {
      database.execute(
          "create extension pg_stat_statements; create table thing (id int primary key, name text, price numeric)");
      for (var channel : channels(form)) {
        PgOnce.using(database.dataSource()).install(channel);
        try (var connection = database.dataSource().getConnection();
            var statement = connection.createStatement()) {
          // A plan that is made for many rows must do for one as well, and that of one for many.
          // What PostgreSQL took plans to cost it keeps in mind when they are made anew, as for new
          // statistics.
          singles(statement, 0, BEFORE);
          database.execute("analyze pgonce.notification");
          statement.execute(
              "insert into thing select g, 'name ' || g, 1 from generate_series(1000, 1999) g");
          statement.execute("update thing set price = 2 where id >= 1000");
          singles(statement, BEFORE, BEFORE);
          statement.execute("select pg_stat_statements_reset()");
          singles(statement, 2 * BEFORE, ROWS);
        }
        assertThat(database.queryString(PLANNED)).as(channel.name()).isNull();
        assertThat(
                database.queryLong(
                    "select count(*) from pgonce.notification where subscription_id > 0"))
            .isEqualTo(2L * (1000 + 2 * BEFORE + ROWS));
        database.execute(
            "truncate thing; delete from pgonce.notification where subscription_id > 0; delete from pgonce.delivery_key");
        Triggers.drop(database.dataSource(), channel);
      }
    }
  }
}
