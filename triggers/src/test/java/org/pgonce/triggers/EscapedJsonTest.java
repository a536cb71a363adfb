package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.pgonce.ChannelOptions;
import org.pgonce.KeyOrder;
import org.pgonce.PgOnce;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** H4: a json column may hold escapes that text cannot. They are stored as they are. */
@PgTest(PgOnceInstalled.class)
class EscapedJsonTest {

  private static final List<String> HOSTILE =
      List.of(
          "{\"a\":\"\\u0000\"}",
          "{\"a\":\"\\ud800\"}",
          "\"\\udc00\\\\u0041\\\"\"",
          "{\"\\u0000\":\"\\\\\\u0000\\\\\\\\b\"}");

  private static Stream<TriggerChannelBuilder<?>> kinds() {
    return Stream.of(
        channel().deliveryKey("id", "note").named("delivery"),
        channel()
            .options(ChannelOptions.DEFAULT.withOrder(KeyOrder.DEAD_LETTER_BLOCKS))
            .orderKey("id")
            .named("order"),
        channel().deliveryKeySql("coalesce(new.body, old.body)").named("sqlkey"),
        channel().primaryKeyOnly().named("key"),
        channel().onlyIfChanged("note").named("changed"),
        channel().onlyIfChanged("body").named("compared"),
        channel().withoutColumns("note").named("without"),
        channel().withoutColumns("body").named("bodiless"),
        channel().columns("id", "body").named("some"),
        channel().dueAt("new.at").named("due"));
  }

  private static TriggerChannelBuilder<?> channel() {
    return TriggerChannel.changesOf("entry", Object.class)
        .afterInsert()
        .afterUpdate()
        .afterDelete();
  }

  @Tag("all")
  @ParameterizedTest
  @EachForm
  void h04_noEscapeInAJsonColumnFailsTheWriteOrTheNotification(
      TriggerForm form, TestDatabase database) throws Exception {
    database.execute(
        "create table entry (id int, \"i\\u\"\"d\" int, body json, note text, at timestamptz, primary key (id, \"i\\u\"\"d\"))");
    for (var kind : kinds().toList()) {
      PgOnce.using(database.dataSource()).install(kind.form(form).build());
    }
    var round = 0;
    for (var body : HOSTILE) {
      round++;
      database.execute(
          "insert into entry values (%d, 7, %s, 'a')".formatted(round, "'" + body + "'"));
      database.execute("update entry set note = 'b'");
      database.execute("update entry set body = '%s'".formatted(body.replace("{", "{ ")));
      assertThat(payload(database, "key"))
          .contains("{\"id\":%d,\"i\\\\u\\\"d\":7}".formatted(round));
      assertThat(payload(database, "bodiless"))
          .contains("{\"id\":%d,\"i\\\\u\\\"d\":7,\"note\":\"b\",\"at\":null}".formatted(round));
      for (var kind : List.of("some", "without", "delivery", "changed")) {
        assertThat(payload(database, kind)).as(kind).contains(body.substring(1));
      }
      database.execute("delete from entry");
    }
    assertThat(
            database.queryString(
                "select string_agg(distinct delivery_key, ' ' order by delivery_key) from pgonce.notification n join pgonce.subscription s on s.id = n.subscription_id where s.of_channel = 'delivery'"))
        .isEqualTo("1:a 1:b 2:a 2:b 3:a 3:b 4:a 4:b");
  }

  /** What was stored last but deletions of the channel. */
  private static String payload(TestDatabase database, String channel) throws Exception {
    return String.valueOf(
        database.queryString(
            "select payload::text from (select n.id, n.payload from pgonce.notification n join pgonce.subscription s on s.id = n.subscription_id where s.of_channel = '%s') as n order by id desc limit 1"
                .formatted(channel)));
  }
}
