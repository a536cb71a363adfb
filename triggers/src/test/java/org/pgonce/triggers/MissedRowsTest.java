package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.pgonce.ChannelOptions;
import org.pgonce.KeyOrder;
import org.pgonce.PgOnce;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** Rows that were written while a trigger was disabled are published by hand as explain says. */
@PgTest(PgOnceInstalled.class)
@Tag("versions")
class MissedRowsTest {

  record Author(long id, String name) {}

  private static final String PLAIN =
      "create table author (id bigint primary key, name text, born date default '2001-02-03', created_at timestamptz default now())";
  private static final String PARTITIONED =
      "create table author (id bigint not null, name text, created_at timestamptz default now()) partition by list (id);"
          + " create table author_1 (created_at timestamptz default now(), name text, id bigint not null);"
          + " alter table author attach partition author_1 for values in (1, 2, 3)";

  static List<TriggerChannel<?>> channels() {
    return List.of(
        rows().build(),
        rows().form(TriggerForm.ROW).columns("name", "id").build(),
        rows().form(TriggerForm.DEFERRED).withoutColumns("born").build(),
        rows().deliveryKey("id").dueAt("new.created_at + interval '1 day'").build(),
        rows()
            .when("new.name <> 'Cid'")
            .orderKey("name")
            .options(ChannelOptions.DEFAULT.withOrder(KeyOrder.DEAD_LETTER_BLOCKS))
            .build(),
        TriggerChannel.computed("author", String.class, "new.name").afterInsert().build(),
        TriggerChannel.changesOf("author", Author.class)
            .afterInsert()
            .afterUpdate()
            .afterDelete()
            .build());
  }

  private static TriggerChannelBuilder<Author> rows() {
    return TriggerChannel.on("author", Author.class).afterInsert();
  }

  @ParameterizedTest
  @MethodSource("channels")
  void theyAreStoredAsTheTriggerStoresThem(TriggerChannel<?> channel, TestDatabase database)
      throws Exception {
    isStoredAlike(PLAIN, channel, database);
  }

  @Test
  void aPartitionsRowsAreStoredAsItsTriggerStoresThem(TestDatabase database) throws Exception {
    isStoredAlike(PARTITIONED, rows().deliveryKey("id").build(), database);
  }

  private static void isStoredAlike(String table, TriggerChannel<?> channel, TestDatabase database)
      throws SQLException {
    database.execute(table);
    PgOnce.using(database.dataSource()).install(channel);
    database.execute("insert into author (id, name) values (1, 'Ann'), (2, 'Bob'), (3, 'Cid')");
    var stored = stored(database);
    assertThat(stored).contains("Ann");
    for (var each : List.of("notification", "scheduled", "delivery_key")) {
      database.execute("delete from pgonce.%s".formatted(each));
    }
    database.execute(
        "alter table %s disable trigger user"
            .formatted(table.equals(PLAIN) ? "author" : "author_1"));
    var script = script(database, channel);
    // Until it says which rows.
    assertThatThrownBy(() -> database.execute(script)).isInstanceOf(SQLException.class);
    assertThat(stored(database)).isNull();
    database.execute(script.replace("'...'", "'-infinity'"));
    assertThat(stored(database)).isEqualTo(stored);
  }

  /** All but ids and times of storing. */
  private static String stored(TestDatabase database) throws SQLException {
    return database.queryString(
        """
        select string_agg(concat_ws(' ', w.payload, w.delivery_key, nullif(left(w.order_key, 1), chr(1)), w.due_at), '; ' order by w.payload::text)
          from (select n.subscription_id, n.payload, n.delivery_key, n.order_key, null::timestamptz as due_at from pgonce.notification n
                union all
                select d.subscription_id, d.payload, d.delivery_key, d.order_key, d.due_at from pgonce.scheduled d) w where w.subscription_id > 0
        """);
  }

  private static String script(TestDatabase database, TriggerChannel<?> channel)
      throws SQLException {
    return database.queryString(
        "select substring(advice from '(BEGIN; .*; COMMIT)\\.') from pgonce.explain('%s')"
            .formatted(channel.name()));
  }

  @Test
  void theDocumentationShowsWhatTheAdviceHas(TestDatabase database) throws Exception {
    database.execute(PLAIN);
    var channel = rows().build();
    PgOnce.using(database.dataSource()).install(channel);
    database.execute("alter table author disable trigger user");
    assertThat(Files.readString(Path.of("..", "docs", "operations.md")))
        .contains(script(database, channel).replace("; ", ";\n") + ";\n");
  }

  /** What the rows were before is gone. */
  @ParameterizedTest
  @ValueSource(strings = {"update", "delete"})
  void ofUpdatesAndDeletesNoneIsGiven(String event, TestDatabase database) throws Exception {
    database.execute(PLAIN);
    var builder = TriggerChannel.on("author", Author.class);
    var channel =
        event.equals("update") ? builder.afterUpdate().build() : builder.afterDelete().build();
    PgOnce.using(database.dataSource()).install(channel);
    database.execute("alter table author disable trigger user");
    assertThat(
            database.queryString(
                "select advice from pgonce.explain('%s')".formatted(channel.name())))
        .startsWith("ALTER TABLE public.author ENABLE TRIGGER ")
        .contains("SELECT pgonce.publish('%s', payload)".formatted(channel.name()))
        .doesNotContain("missed (");
  }
}
