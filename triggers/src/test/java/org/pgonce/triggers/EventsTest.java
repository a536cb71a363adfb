package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import java.math.BigDecimal;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.pgonce.Channel;
import org.pgonce.ListenOptions;
import org.pgonce.PgOnce;
import org.pgonce.PgOnceException;
import org.pgonce.Publisher;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import org.pgonce.triggers.RowChange.Deleted;
import org.pgonce.triggers.RowChange.Inserted;
import org.pgonce.triggers.RowChange.Truncated;
import org.pgonce.triggers.RowChange.Updated;
import tools.jackson.databind.JsonNode;

/** Which changes of a table make notifications, and what those hold. */
@Tag("versions")
@PgTest(PgOnceInstalled.class)
class EventsTest {

  record Price(int id, String item, BigDecimal amount) {}

  private static final TriggerChannel<RowChange<Price>> CHANGES =
      TriggerChannel.changesOf("price", Price.class)
          .afterInsert()
          .afterUpdate()
          .afterDelete()
          .afterTruncate()
          .build();

  /** What is stored, in its order. */
  private static final String STORED =
      "select string_agg(replace(payload::text, ' ', ''), E'\\n' order by id) from pgonce.notification where subscription_id > 0";

  @BeforeEach
  void table(TestDatabase database) throws Exception {
    database.execute(
        "create table price (id int primary key, item text not null, amount numeric not null)");
  }

  @Test
  void example_everyChangeOfATableIsToldApart(TestDatabase database) throws Exception {
    var heard = new CopyOnWriteArrayList<RowChange<Price>>();
    try (var pgonce = PgOnce.using(database.pooled(4))) {
      pgonce.install(CHANGES);
      pgonce
          .listen(
              CHANGES,
              ListenOptions.DEFAULT.withConcurrency(1),
              (change, tx) -> heard.add(change.payload()))
          .start();

      database.execute("insert into price values (1, 'tea', 1.10)");
      database.execute("update price set amount = 1.20");
      database.execute("delete from price");
      database.execute("truncate price");

      await().atMost(Duration.ofSeconds(15)).until(() -> heard.size() == 4);
    }
    var old = new Price(1, "tea", new BigDecimal("1.10"));
    var now = new Price(1, "tea", new BigDecimal("1.20"));
    assertThat(heard)
        .containsExactly(
            new Inserted<>(old), new Updated<>(old, now), new Deleted<>(now), new Truncated<>());
  }

  @Test
  void example_whatIsPublishedFromCodeIsReadAsWhatATriggerStores(TestDatabase database)
      throws Exception {
    PgOnce.using(database.dataSource()).install(CHANGES);
    var row = new Price(1, "tea", new BigDecimal("1.10"));
    var changes =
        List.<RowChange<Price>>of(
            new Inserted<>(row), new Updated<>(row, row), new Deleted<>(row), new Truncated<>());
    try (var connection = database.dataSource().getConnection()) {
      for (var change : changes) {
        Publisher.standard().publish(connection, CHANGES, change);
      }
    }
    var heard = new CopyOnWriteArrayList<RowChange<Price>>();
    try (var pgonce = PgOnce.using(database.pooled(4))) {
      pgonce.listen(CHANGES, (change, tx) -> heard.add(change.payload())).start();
      await().atMost(Duration.ofSeconds(15)).until(() -> heard.size() == 4);
    }
    assertThat(heard).containsExactlyInAnyOrderElementsOf(changes);
  }

  /** The same events and the same payloads, whichever way the triggers fire. */
  @ParameterizedTest
  @EnumSource(TriggerForm.class)
  void h06_eachRowOfEachStatementMakesOne(TriggerForm form, TestDatabase database)
      throws Exception {
    install(database, changes().form(form));
    database.execute("insert into price values (1, 'a', 1), (2, 'b', 2), (3, 'c', 3)");
    // A changed primary key: the rows before and after still belong together.
    database.execute("update price set id = id + 10, amount = amount + 1 where id <> 2");
    database.execute(
        "insert into price values (2, 'x', 9), (4, 'd', 4) on conflict (id) do update set amount = excluded.amount");
    database.execute("insert into price values (2, 'x', 9) on conflict do nothing");
    database.execute("update price set amount = 0 where id = 999");
    database.execute("delete from price where id in (2, 4)");
    assertThat(stored(database))
        .containsExactlyInAnyOrder(
            inserted(1, "a", 1),
            inserted(2, "b", 2),
            inserted(3, "c", 3),
            updated(row(1, "a", 1), row(11, "a", 2)),
            updated(row(3, "c", 3), row(13, "c", 4)),
            updated(row(2, "b", 2), row(2, "b", 9)),
            inserted(4, "d", 4),
            "{\"op\":\"DELETE\",\"old\":" + row(2, "b", 9) + "}",
            "{\"op\":\"DELETE\",\"old\":" + row(4, "d", 4) + "}");
  }

  @Test
  void h06_aCascadeMakesOneForEachRowThatItChanges(TestDatabase database) throws Exception {
    database.execute(
        "create table offer (id int primary key, price_id int references price on update cascade on delete cascade)");
    database.execute("insert into price values (1, 'a', 1), (2, 'b', 2)");
    database.execute("insert into offer values (10, 1), (11, 1), (12, 2)");
    var channel = TriggerChannel.changesOf("offer", Map.class).afterUpdate().afterDelete().build();
    PgOnce.using(database.dataSource()).install(channel);
    database.execute("update price set id = 5 where id = 1");
    database.execute("delete from price");
    assertThat(stored(database))
        .containsExactlyInAnyOrder(
            "{\"op\":\"UPDATE\",\"old\":{\"id\":10,\"price_id\":1},\"new\":{\"id\":10,\"price_id\":5}}",
            "{\"op\":\"UPDATE\",\"old\":{\"id\":11,\"price_id\":1},\"new\":{\"id\":11,\"price_id\":5}}",
            "{\"op\":\"DELETE\",\"old\":{\"id\":10,\"price_id\":5}}",
            "{\"op\":\"DELETE\",\"old\":{\"id\":11,\"price_id\":5}}",
            "{\"op\":\"DELETE\",\"old\":{\"id\":12,\"price_id\":2}}");
  }

  @ParameterizedTest
  @EachForm
  void h07_onlyIfChangedLeavesOutUpdatesThatChangeNothing(TriggerForm form, TestDatabase database)
      throws Exception {
    install(database, changes().onlyIfChanged().form(form));
    install(database, changes().onlyIfChanged("amount").form(form).named("amount"));
    database.execute("insert into price values (1, 'a', 1.0), (2, 'b', 2)");
    database.execute("delete from pgonce.notification where subscription_id > 0");
    database.execute("update price set amount = amount");
    assertThat(stored(database)).isEmpty();
    database.execute("update price set item = 'z' where id = 1");
    assertThat(stored(database)).hasSize(1);
    database.execute("update price set amount = case id when 1 then 1.00 else amount end");
    assertThat(stored(database)).hasSize(3); // 1.0 and 1.00 are two; of one row, for both channels
  }

  @ParameterizedTest
  @EachForm
  void h07_aConditionSeesTheRowsBeforeAndAfter(TriggerForm form, TestDatabase database)
      throws Exception {
    install(
        database,
        changes()
            .form(form)
            .when("new.amount > coalesce(old.amount, 0) + 1 or tg_op = 'DELETE' and old.id = 2"));
    database.execute("insert into price values (1, 'a', 1), (2, 'b', 2)");
    database.execute("update price set amount = amount + id");
    database.execute("delete from price");
    assertThat(stored(database))
        .containsExactlyInAnyOrder(
            inserted(2, "b", 2),
            updated(row(2, "b", 2), row(2, "b", 4)),
            "{\"op\":\"DELETE\",\"old\":" + row(2, "b", 4) + "}");
  }

  /** The function is made from templates, and a printed one gets its subscriptions later. */
  @ParameterizedTest
  @EachForm
  void h07_aConditionThatHoldsAPlaceholderMeansItsText(TriggerForm form, TestDatabase database)
      throws Exception {
    var odd =
        TriggerChannel.computed("price", JsonNode.class, "new.item || '{where}'")
            .afterInsert()
            .form(form)
            .when("new.item in ('{subscriptions}', '{subscriptions1}', '{watched}')")
            .unstorable(Unstorable.DEAD_LETTER)
            .build();
    for (var printed : new boolean[] {false, true}) {
      if (printed) {
        try (var connection = database.dataSource().getConnection()) {
          database.execute(Triggers.migration(connection, odd).up());
          assertThat(Triggers.check(connection, odd)).isEmpty();
        }
      } else {
        PgOnce.using(database.dataSource()).install(odd);
      }
      database.execute(
          "insert into price values (1, '{subscriptions}', 1), (2, '{subscriptions1}', 1), (3, '{watched}', 1), (4, 'a', 1)");
      assertThat(stored(database))
          .containsExactlyInAnyOrder(
              "\"{subscriptions}{where}\"", "\"{subscriptions1}{where}\"", "\"{watched}{where}\"");
      Triggers.drop(database.dataSource(), odd);
      database.execute("delete from price; select pgonce_private.clear_leftovers()");
    }
  }

  @Test
  void h07_updateOfCountsWhatAStatementSets(TestDatabase database) throws Exception {
    install(
        database,
        TriggerChannel.on("price", Price.class).afterUpdateOf("amount").named("amount.set"));
    database.execute("insert into price values (1, 'a', 1)");
    database.execute("update price set item = 'b'");
    assertThat(stored(database)).isEmpty();
    database.execute("update price set amount = amount");
    assertThat(stored(database)).containsExactly(row(1, "b", 1));
  }

  @ParameterizedTest
  @EachForm
  void s04_aDueTimeComesFromTheRow(TriggerForm form, TestDatabase database) throws Exception {
    database.execute("alter table price add column until timestamptz");
    install(
        database,
        TriggerChannel.on("price", Price.class)
            .afterInsert()
            .dueAt("new.until - interval '6 hours'")
            .form(form));
    database.execute(
        "insert into price values (1, 'a', 1, '2199-01-01 06:00Z'), (2, 'b', 1, null), (3, 'c', 1, '-infinity')");
    assertThat(
            database.queryString(
                "select payload ->> 'id' || ' ' || extract(epoch from due_at)::bigint from pgonce.scheduled where subscription_id > 0"))
        .isEqualTo("1 " + Instant.parse("2199-01-01T00:00:00Z").getEpochSecond());
    assertThat(stored(database)).hasSize(2);
    // It would never come.
    var never = "insert into price values (4, 'd', 1, 'infinity')";
    assertThatThrownBy(() -> database.execute(never))
        .hasMessageStartingWith(
            "ERROR: the notification would be due at infinity, which never comes");
    install(
        database,
        TriggerChannel.on("price", Price.class)
            .afterInsert()
            .dueAt("new.until - interval '6 hours'")
            .unstorable(Unstorable.DEAD_LETTER)
            .form(form));
    database.execute(never);
    assertThat(
            database.queryString(
                "select concat_ws(' ', reason, payload, error) from pgonce.dead_letter"))
        .isEqualTo(
            "NOT_STORABLE {\"id\":4} the notification would be due at infinity, which never comes");
  }

  @Test
  void s04_dueAfterIsADelay(TestDatabase database) throws Exception {
    install(
        database,
        TriggerChannel.on("price", Price.class).afterInsert().dueAfter(Duration.ofHours(6)));
    database.execute("insert into price values (1, 'a', 1)");
    assertThat(
            database.queryLong(
                "select round(extract(epoch from due_at - created_at) / 60) from pgonce.scheduled where subscription_id > 0"))
        .isEqualTo(360);
  }

  @ParameterizedTest
  @EachForm
  void s12_keysAreComputedWhereAsked(TriggerForm form, TestDatabase database) throws Exception {
    install(
        database,
        TriggerChannel.on("price", Price.class)
            .afterInsert()
            .form(form)
            .deliveryKeySql("'item:' || lower(new.item)"));
    database.execute("insert into price values (1, 'A', 1), (2, 'a', 1), (3, 'b', 1)");
    database.execute("insert into price values (4, 'B', 1)");
    assertThat(stored(database)).containsExactly(row(1, "A", 1), row(3, "b", 1));
    assertThat(
            database.queryString(
                "select string_agg(delivery_key, ' ' order by id) from pgonce.notification where subscription_id > 0"))
        .isEqualTo("item:a item:b");
  }

  @ParameterizedTest
  @EachForm
  void h35_onlyTheColumnsThatAreAskedForAreStored(TriggerForm form, TestDatabase database)
      throws Exception {
    install(database, changes().columns("id", "amount").form(form).named("some"));
    install(database, changes().withoutColumns("item").form(form).named("without"));
    install(database, changes().primaryKeyOnly().form(form).named("key"));
    database.execute("insert into price values (1, 'secret', 1)");
    database.execute("update price set amount = 2");
    database.execute("delete from price");
    assertThat(String.join("\n", stored(database))).doesNotContain("secret");
    assertThat(stored(database))
        .containsExactlyInAnyOrder(
            "{\"op\":\"INSERT\",\"new\":{\"id\":1}}",
            "{\"op\":\"INSERT\",\"new\":{\"id\":1,\"amount\":1}}",
            "{\"op\":\"INSERT\",\"new\":{\"id\":1,\"amount\":1}}",
            "{\"op\":\"UPDATE\",\"old\":{\"id\":1},\"new\":{\"id\":1}}",
            "{\"op\":\"UPDATE\",\"old\":{\"id\":1,\"amount\":1},\"new\":{\"id\":1,\"amount\":2}}",
            "{\"op\":\"UPDATE\",\"old\":{\"id\":1,\"amount\":1},\"new\":{\"id\":1,\"amount\":2}}",
            "{\"op\":\"DELETE\",\"old\":{\"id\":1}}",
            "{\"op\":\"DELETE\",\"old\":{\"id\":1,\"amount\":2}}",
            "{\"op\":\"DELETE\",\"old\":{\"id\":1,\"amount\":2}}");
  }

  @Test
  void example_aPayloadIsComputed(TestDatabase database) throws Exception {
    record Total(int id, BigDecimal total) {}
    install(
        database,
        TriggerChannel.computed(
                "price", Total.class, "json_build_object('id', new.id, 'total', new.amount * 1.19)")
            .afterInsert());
    database.execute("insert into price values (1, 'a', 100)");
    assertThat(stored(database)).containsExactly("{\"id\":1,\"total\":119.00}");
  }

  /** A column may have any name, that of a row or of a variable too. */
  @ParameterizedTest
  @EachForm
  void h30_columnsOfAnyNameAreStored(TriggerForm form, TestDatabase database) throws Exception {
    database.execute(
        "create table odd (id int primary key, new int, old int, n int, o int, r int, t int, place int, payload int, trouble int, channel int, \"a'b\" int, \"a\"\"b\" int)");
    for (var builder :
        List.of(
            TriggerChannel.changesOf("odd", Object.class).named("whole"),
            TriggerChannel.changesOf("odd", Object.class)
                .columns("new", "a'b", "a\"b")
                .named("some"),
            TriggerChannel.changesOf("odd", Object.class).withoutColumns("a'b").named("without"),
            TriggerChannel.changesOf("odd", Object.class).when("new.new = 2").named("when"))) {
      install(database, builder.afterUpdate().onlyIfChanged("new").deliveryKey("a\"b").form(form));
    }
    database.execute("insert into odd values (1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1)");
    database.execute("update odd set new = 2");
    assertThat(stored(database)).hasSize(4).allMatch(payload -> payload.contains("\"new\":2"));
  }

  @Test
  void api_whatDoesNotGoTogetherIsRefused() {
    assertRefused(price().afterInsert().afterDelete(), "could not tell a deleted row");
    assertRefused(price().afterTruncate(), "captures TRUNCATE, which has no row");
    assertRefused(
        price().afterInsert().onlyIfChanged(), "asks onlyIfChanged, but captures no update");
    assertRefused(
        price().afterUpdateOf("id").form(TriggerForm.STATEMENT),
        "asks afterUpdateOf with a trigger");
    assertThatThrownBy(() -> price().columns("id").primaryKeyOnly())
        .hasMessageContaining("is said twice");
    assertThatThrownBy(() -> price().when(" ")).hasMessageContaining("is empty");
    assertThatThrownBy(() -> price().dueAfter(Duration.ofMillis(-1)))
        .hasMessageContaining("cannot be negative");
  }

  @Test
  void h10_sqlThatCannotBeComputedIsRefusedWhenItIsInstalled(TestDatabase database) {
    assertNotInstalled(database, price().when("new.gone = 1"), "column new.gone does not exist");
    assertNotInstalled(database, price().when("true) or (true"), "syntax error");
    assertNotInstalled(database, price().when("old.amount"), "must be type boolean");
    assertNotInstalled(database, price().dueAt("new.id"), "its due time cannot be computed");
    assertNotInstalled(
        database, price().when("count(*) > 0"), "aggregate functions are not allowed");
    assertNotInstalled(
        database, price().when("row_number() over () = 1"), "window functions are not allowed");
    assertNotInstalled(
        database,
        price().deliveryKeySql("generate_series(1, new.id)"),
        "set-returning functions are not allowed");
    assertNotInstalled(database, price().columns("gone"), "the payload reads column gone");
  }

  /** PL/pgSQL takes a column for it where the table has one. */
  @ParameterizedTest
  @EachForm
  void h10_aVariableOfTheTriggerThatIsAColumnTooIsRefused(TriggerForm form, TestDatabase database)
      throws Exception {
    assertNotInstalled(database, price().form(form).when("tg_nargs = 0"), "does not exist");
    assertNotInstalled(database, price().form(form).when("pgonce_row is null"), "does not exist");
    assertNotInstalled(database, price().form(form).when("event is null"), "does not exist");
    var builder = price().form(form).when("tg_op = 'UPDATE'");
    install(database, builder.afterUpdate());
    database.execute("alter table price add column tg_op text default 'UPDATE'");
    try (var connection = database.dataSource().getConnection()) {
      assertThat(Triggers.check(connection, builder.build()))
          .anyMatch(
              problem -> problem.contains("\"tg_op\" is ambiguous (write new. or old. before"));
    }
    assertNotInstalled(database, builder.named("again"), "\"tg_op\" is ambiguous");
    Triggers.drop(database.dataSource(), builder.named("price_updated").build());
    install(database, price().form(form).afterUpdate().when("new.tg_op = 'UPDATE'").named("own"));
    database.execute("insert into price values (1, 'a', 1)");
    database.execute("update price set amount = 2");
    assertThat(stored(database)).hasSize(1);
  }

  @Test
  void h10_withoutAPrimaryKeyNothingCanBeStoredOfIt(TestDatabase database) throws Exception {
    database.execute("alter table price drop constraint price_pkey");
    assertThatThrownBy(
            () ->
                install(
                    database,
                    TriggerChannel.changesOf("price", Object.class).afterUpdate().primaryKeyOnly()))
        .hasMessageContaining("table public.price has no primary key");
  }

  private static void assertNotInstalled(
      TestDatabase database, TriggerChannelBuilder<Price> builder, String why) {
    assertThatThrownBy(() -> install(database, builder.afterUpdate()))
        .isInstanceOf(PgOnceException.class)
        .hasMessageContaining(why);
  }

  private static void assertRefused(TriggerChannelBuilder<?> builder, String why) {
    assertThatThrownBy(builder::build)
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining(why);
  }

  private static TriggerChannelBuilder<Price> price() {
    return TriggerChannel.on("price", Price.class);
  }

  private static TriggerChannelBuilder<RowChange<Object>> changes() {
    return TriggerChannel.changesOf("price", Object.class)
        .afterInsert()
        .afterUpdate()
        .afterDelete();
  }

  private static void install(TestDatabase database, TriggerChannelBuilder<?> builder)
      throws SQLException {
    Channel<?> channel = builder.build();
    PgOnce.using(database.dataSource()).install(channel);
    try (var connection = database.dataSource().getConnection()) {
      assertThat(Triggers.check(connection, (TriggerChannel<?>) channel)).isEmpty();
    }
  }

  private static List<String> stored(TestDatabase database) throws SQLException {
    var stored = database.queryString(STORED);
    return stored == null ? List.of() : List.of(stored.split("\n"));
  }

  private static String row(int id, String item, int amount) {
    return "{\"id\":%d,\"item\":\"%s\",\"amount\":%d}".formatted(id, item, amount);
  }

  private static String inserted(int id, String item, int amount) {
    return "{\"op\":\"INSERT\",\"new\":" + row(id, item, amount) + "}";
  }

  private static String updated(String before, String after) {
    return "{\"op\":\"UPDATE\",\"old\":%s,\"new\":%s}".formatted(before, after);
  }
}
