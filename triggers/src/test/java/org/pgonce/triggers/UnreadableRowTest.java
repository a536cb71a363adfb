package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.math.BigDecimal;
import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.pgonce.PgOnce;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import org.pgonce.triggers.OnCall.DeadLetter;

/**
 * A value that Java has no place for becomes a dead letter with its reason; those behind it flow.
 */
@PgTest(PgOnceInstalled.class)
class UnreadableRowTest {

  record Event(int id, @Nullable Instant at, @Nullable BigDecimal amount) {}

  private static final TriggerChannel<Event> ADDED =
      TriggerChannel.on("event", Event.class).afterInsert().build();

  @Test
  void h22_becomesADeadLetterAndTheOthersAreHandled(TestDatabase database) throws Exception {
    database.execute("create table event (id int not null, at timestamptz, amount numeric)");
    var handled = new CopyOnWriteArrayList<Integer>();
    try (var pgonce = PgOnce.using(database.pooled(4))) {
      pgonce.install(ADDED);
      pgonce.listen(ADDED, (added, tx) -> handled.add(added.payload().id())).start();

      database.execute(
          """
          insert into event values (1, 'infinity', 0), (2, '-infinity', 0), (3, '0044-03-15 BC', 0),
            (4, '294276-12-31 23:59:59.999999+00', 0), (5, now(), 'NaN'), (6, now(), 1.5)
          """);

      await()
          .atMost(Duration.ofSeconds(30))
          .untilAsserted(
              () ->
                  assertThat(handled.size() + OnCall.deadLetters(database, ADDED).size())
                      .isEqualTo(6));
      assertThat(handled).containsExactly(6);
      assertThat(OnCall.deadLetters(database, ADDED))
          .allMatch(letter -> letter.reason().equals("UNREADABLE"))
          .extracting(DeadLetter::error)
          .filteredOn(
              error -> error.contains(" at .at: ") && error.endsWith("expected java.time.Instant"))
          .hasSize(4);
      assertThat(OnCall.deadLetters(database, ADDED))
          .extracting(DeadLetter::error)
          .anyMatch(
              error ->
                  error.contains(" at .amount") && error.endsWith("expected java.math.BigDecimal"));
    }
  }

  @Test
  void h24_aPrimitiveThatIsMissingIsNoZero(TestDatabase database) throws Exception {
    database.execute("create table event (id int not null, at timestamptz, amount numeric)");
    try (var pgonce = PgOnce.using(database.pooled(4))) {
      pgonce.install(ADDED);
      pgonce.listen(ADDED, (added, tx) -> {}).start();

      database.execute("alter table event drop column id; insert into event values (now(), 1.5)");

      await()
          .atMost(Duration.ofSeconds(30))
          .untilAsserted(
              () ->
                  assertThat(OnCall.deadLetters(database, ADDED))
                      .singleElement()
                      .satisfies(letter -> assertThat(letter.error()).contains("id")));
    }
  }
}
