package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.PgOnce;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import org.pgonce.triggers.OnCall.DeadLetter;
import tools.jackson.databind.JsonNode;

/** H21: whatever JSON a column holds, it is data or a dead letter, and those behind it flow. */
@PgTest(PgOnceInstalled.class)
class HostileJsonTest {

  record Entry(int id, JsonNode body) {}

  record Typed(int id, @Nullable Object body) {}

  @Test
  @Tag("all")
  void h21_whateverJsonAColumnHoldsIsDataOrADeadLetter(TestDatabase database) throws Exception {
    database.execute("create table entry (id int not null, body json)");
    var added = TriggerChannel.on("entry", Entry.class).afterInsert().build();
    var handled = new ConcurrentHashMap<Integer, JsonNode>();
    try (var pgonce = PgOnce.using(database.pooled(4))) {
      pgonce.install(added);
      pgonce.listen(
          added, (entry, tx) -> handled.put(entry.payload().id(), entry.payload().body()));
      pgonce.start();

      database.execute(
          """
          insert into entry values
            (1, (repeat('[', 1001) || repeat(']', 1001))::json),
            (2, to_json(repeat('x', 21 * 1024 * 1024))),
            (3, '{"a": 1, "a": 2}'),
            (4, '{"@class": "java.lang.ProcessBuilder", "@type": "java.net.URL", "command": ["true"]}'),
            (5, '["javax.script.ScriptEngineManager", {}]'),
            (6, ('{"n": ' || repeat('9', 200000) || '}')::json),
            (7, '"\\u0000 \\ud83d\\ude00"'),
            (8, '{"fine": true}')
          """);

      await()
          .atMost(Duration.ofSeconds(30))
          .untilAsserted(
              () ->
                  assertThat(handled.size() + OnCall.deadLetters(database, added).size())
                      .isEqualTo(8));
      assertThat(handled).containsOnlyKeys(2, 4, 5, 7, 8);
      assertThat(handled.get(2).asString()).hasSize(21 * 1024 * 1024);
      assertThat(handled.get(4).get("@class").asString()).isEqualTo("java.lang.ProcessBuilder");
      assertThat(handled.get(7).asString()).isEqualTo("\u0000 \uD83D\uDE00");
      assertThat(OnCall.deadLetters(database, added))
          .allMatch(letter -> letter.reason().equals("UNREADABLE"))
          .extracting(DeadLetter::error)
          .as("too deep, the same key twice, a number that is too long")
          .hasSize(3);
    }
  }

  @Test
  void h21_aTypeNameInAPayloadIsAMapAndNoObjectOfThatType(TestDatabase database) throws Exception {
    database.execute("create table entry (id int not null, body json)");
    var added = TriggerChannel.on("entry", Typed.class).afterInsert().build();
    var handled = new ConcurrentHashMap<Integer, Object>();
    try (var pgonce = PgOnce.using(database.pooled(4))) {
      pgonce.install(added);
      pgonce.listen(
          added,
          (entry, tx) -> {
            var body = entry.payload().body();
            handled.put(entry.payload().id(), body == null ? List.of() : body);
          });
      pgonce.start();

      database.execute(
          """
          insert into entry values (1, '{"@class": "java.util.Date"}'), (2, '["java.util.Date", 7]')
          """);

      await().atMost(Duration.ofSeconds(30)).until(() -> handled.size() == 2);
      assertThat(handled.get(1)).isEqualTo(java.util.Map.of("@class", "java.util.Date"));
      assertThat(handled.get(2)).isEqualTo(List.of("java.util.Date", 7));
    }
  }
}
