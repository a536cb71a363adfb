package org.pgonce.operations;

import static org.assertj.core.api.Assertions.assertThat;
import static org.pgonce.operations.Stage.ORDERS;
import static org.pgonce.operations.Stage.QUICK;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.Backoff;
import org.pgonce.ListenOptions;
import org.pgonce.PublishOptions;
import org.pgonce.RejectedException;
import org.pgonce.operations.Explanation.Cause;
import org.pgonce.testkit.PgTest;

/** What waits for its time or its next attempt, and what has none left. */
@PgTest(PgOnceInstalled.class)
@Tag("drivers")
@Tag("versions")
class ExplainAttemptsTest extends ExplainStage {

  private static final ListenOptions PATIENT =
      QUICK.withBackoff(new Backoff(Duration.ofMinutes(30), Duration.ofHours(1)));

  @Test
  void explain_scheduledUntil() throws Exception {
    var id = publish(ORDERS, PublishOptions.DEFAULT.withDelay(Duration.ofHours(1)));
    var answer = explain(ORDERS, id);
    assertThat(answer.cause()).isEqualTo(Cause.SCHEDULED);
    assertThat(answer.until()).isEqualTo(operations.peek(ORDERS, 1).get(0).dueAt());
    assertThat(answer.detail()).endsWith("; no process listens to the subscription");
    assertThat(answer.advice())
        .startsWith("Start the service that handles it. ")
        .contains("pgonce.retry_now('orders', " + id);
  }

  /** Microseconds since 1970 of PostgreSQL's last years are beyond a bigint. */
  @Test
  void ops_whatIsDueAtTheEndOfTimeHidesNothingElse() throws Exception {
    var id = publish(ORDERS);
    stage.database.execute("select pgonce.publish('orders', '1', due_at => '294276-12-31')");
    var waiting = operations.peek(ORDERS, 10);
    assertThat(waiting).extracting(Operations.Waiting::id).containsExactly(id, id + 1);
    assertThat(waiting.get(1).dueAt()).isAfter(Instant.parse("+294246-01-01T00:00:00Z"));
    assertThat(explain(ORDERS, id + 1).until()).isEqualTo(waiting.get(1).dueAt());
  }

  /** As a listener of version 1 puts back what version 2 has published. */
  @Test
  void explain_ofALaterVersionThanItsListeners() throws Exception {
    stage.database.execute("select pgonce.publish('orders', '{\"id\": 1}', version => 2)");
    stage.pgonce().listen(ORDERS, QUICK, Stage::effect).start();
    // It is due again each time, after a second at first.
    stage.awaitSoon(
        () ->
            operations.explain(ORDERS).stream()
                .anyMatch(
                    answer ->
                        answer.cause() == Cause.SCHEDULED
                            && answer.detail().startsWith("put back, no attempt counted: ")
                            && answer
                                .advice()
                                .startsWith("Deploy listeners of the later version.")));
  }

  /** It looks at the first 10,000. */
  @Test
  void explain_retryingSaysWhereMoreMayHaveFailed() throws Exception {
    stage.database.execute(
        """
        insert into pgonce.scheduled (subscription_id, id, due_at, attempts, created_at, last_error, payload)
        select id, n, now() + interval '1 h', 1, now(), 'mail server says 421', '1' from pgonce.subscription, generate_series(1, 10001) n where of_channel = 'orders'
        """);
    assertThat(explain(ORDERS, 1).detail())
        .contains(
            "; at least 9999 more of the subscription have failed and wait, 9999 of them with the same error");
    publish(ORDERS);
    assertThat(operations.explain(ORDERS).get(0).detail())
        .contains("besides, at least 10000 have failed and wait for their next attempt, 10000 of");
  }

  @Test
  void explain_retryingWithItsErrorUntilWhen() throws Exception {
    var id = publish(ORDERS);
    stage
        .pgonce()
        .listen(
            ORDERS,
            PATIENT,
            (order, tx) -> {
              throw new IllegalStateException("mail server says 421");
            })
        .start();
    awaitCause(ORDERS, id, Cause.RETRYING);
    var answer = explain(ORDERS, id);
    assertThat(answer.detail()).startsWith("attempt 1 failed").contains("mail server says 421");
    assertThat(answer.detail())
        .endsWith(
            "; 0 more of the subscription have failed and wait, 0 of them with the same error");
    assertThat(answer.advice())
        .startsWith("Mend what fails")
        .contains("the last one (the 10th, unless its listener has ListenOptions.withMaxAttempts)")
        .contains("pgonce.retry_now('orders'");
    // What it says is the default.
    assertThat(ListenOptions.DEFAULT.maxAttempts()).isEqualTo(10);
    assertThat(answer.until()).isAfter(answer.createdAt());
    assertThat(answer.since()).isNull();
    assertThat(operations.retryNow(ORDERS, List.of(id), "it is back")).isEqualTo(1);
    stage.awaitSoon(() -> explain(ORDERS, id).detail().startsWith("attempt 2 failed"));
    var other = publish(ORDERS);
    awaitCause(ORDERS, other, Cause.RETRYING);
    assertThat(explain(ORDERS, id).detail())
        .contains("; 1 more of the subscription have failed and wait, 1 of them with the same");
  }

  @Test
  void h46_whatIsTriedAgainRightNowDoesNotWaitForItsNextAttempt() throws Exception {
    var id = publish(ORDERS);
    stage
        .pgonce()
        .listen(
            ORDERS,
            QUICK,
            (order, tx) -> {
              if (order.attempt() == 1) {
                throw new IllegalStateException("mail server says 421");
              }
              begun.countDown();
              goOn.await();
            })
        .start();
    begun.await();
    var answer = operations.explain(ORDERS).get(0);
    assertThat(answer.id()).isEqualTo(id);
    assertThat(answer.cause()).isEqualTo(Cause.AT_WORK);
    assertThat(answer.detail()).startsWith("attempt 2, ").doesNotContain("wait for their next");
    assertThat(answer.needsPerson()).isFalse();
  }

  @Test
  void aRedriveOfWhatIsTooDeepIsSaidToKeepItsDepth() throws Exception {
    stage.database.execute(
        "insert into pgonce.dead_letter (subscription_id, id, attempts, created_at, reason, error, payload) select id, 1, 1, now(), 'TOO_DEEP', 'a loop', '1' from pgonce.subscription where of_channel = 'orders'");
    assertThat(explain(ORDERS, 1).advice())
        .startsWith("Look for a loop of handlers, and mend it. A redrive keeps the depth")
        .contains("ChannelOptions.withMaxDepth", "pgonce.redrive('orders', 1");
  }

  @Test
  void explain_deadForWhatReason() throws Exception {
    var id = publish(ORDERS);
    stage
        .pgonce()
        .listen(
            ORDERS,
            QUICK,
            (order, tx) -> {
              throw new RejectedException("no such article");
            })
        .start();
    awaitCause(ORDERS, id, Cause.DEAD);
    var answer = explain(ORDERS, id);
    assertThat(answer.detail()).startsWith("REJECTED after 1 attempts").contains("no such article");
    assertThat(answer.since()).isEqualTo(operations.deadLetters().of(ORDERS, 1).get(0).diedAt());
    // Asked why nothing comes, it does not say that all is done.
    var first = operations.explain(ORDERS).get(0);
    assertThat(first.cause()).isEqualTo(Cause.DEAD);
    assertThat(first.id()).isNull();
    assertThat(first.createdAt()).isNull();
    assertThat(first.since()).isEqualTo(answer.since());
    assertThat(first.detail())
        .startsWith("nothing waits; dead letters: 1 (1 REJECTED), the newest of 2")
        .contains("no such article");
    assertThat(first.advice()).contains("pgonce.redrive('orders', reason => 'why')");
    publish(ORDERS, PublishOptions.DEFAULT.withDelay(Duration.ofHours(1)));
    assertThat(operations.explain(ORDERS).get(0).detail()).contains("; besides, dead letters: 1 ");
  }
}
