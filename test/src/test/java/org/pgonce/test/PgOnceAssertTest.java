package org.pgonce.test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.pgonce.Channel;
import org.pgonce.Handler;
import org.pgonce.PublishOptions;
import org.pgonce.RejectedException;

/** What each assertion says when it fails. */
@PgOnceTest
class PgOnceAssertTest {

  record Greeted(long userId) {}

  private static final Channel<Greeted> GREETED = Channel.of("greeted", Greeted.class);
  private static final PublishOptions LATER =
      PublishOptions.DEFAULT.withDelay(Duration.ofHours(6)).withDeliveryKey("a");

  @BeforeEach
  void install(PgOnceTester pgonce) {
    pgonce.install(GREETED);
  }

  private static void fails(ThrowingCallable assertion, String message) {
    assertThatThrownBy(assertion).isInstanceOf(AssertionError.class).hasMessage(message);
  }

  @Test
  void api_hasPublished(PgOnceTester pgonce) {
    fails(
        () -> assertThat(pgonce).hasPublished(GREETED),
        "channel greeted should have a notification that is committed and not yet handled. What waits in it: nothing");
    pgonce.publish(GREETED, new Greeted(1));
    pgonce.publish(GREETED, new Greeted(2), LATER);
    var rows =
        "\n  greeted id 1 {\"user_id\":1}\n  greeted id 2 {\"user_id\":2}, delivery key a, delay PT6H";
    assertThat(pgonce).hasPublished(GREETED).times(2);
    assertThat(pgonce)
        .hasPublished(GREETED)
        .withPayload(new Greeted(2))
        .withDelay(Duration.ofHours(6))
        .withDeliveryKey("a")
        .once();
    assertThat(pgonce).hasPublished(GREETED).withDelay(Duration.ZERO).once();
    assertThatThrownBy(() -> assertThat(pgonce).hasPublished(GREETED).once())
        .hasMessageStartingWith(
            "channel greeted should have 1, but has 2. What waits in it:" + rows);
    assertThatThrownBy(() -> assertThat(pgonce).hasPublished(GREETED).withPayload(new Greeted(3)))
        .hasMessageStartingWith(
            "channel greeted should have a notification with payload Greeted[userId=3] that is committed and not yet handled. What waits in it:"
                + rows);
    assertThatThrownBy(
            () -> assertThat(pgonce).hasPublished(GREETED).withDelay(Duration.ofHours(5)))
        .hasMessageContaining("a notification with delay PT5H that is");
    assertThatThrownBy(
            () ->
                assertThat(pgonce)
                    .hasPublished(GREETED)
                    .withPayload("of a user above 1", greeted -> greeted.userId() > 1)
                    .withDeliveryKey("b"))
        .hasMessageContaining("with payload of a user above 1 and delivery key b that is");
    assertThatThrownBy(() -> assertThat(pgonce).hasPublished(GREETED).times(0))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("times(0): for none use hasNotPublished");
  }

  @Test
  void api_aDescriptionIsTold(PgOnceTester pgonce) {
    assertThatThrownBy(() -> assertThat(pgonce).as("the greeting").hasPublished(GREETED))
        .hasMessageStartingWith("[the greeting] channel greeted should have");
    pgonce.publish(GREETED, new Greeted(1));
    assertThatThrownBy(
            () ->
                assertThat(pgonce)
                    .as("the greeting")
                    .hasPublished(GREETED)
                    .withPayload(new Greeted(1))
                    .times(2))
        .hasMessageStartingWith("[the greeting] channel greeted should have 2");
    Handler<Greeted> strict =
        (greeted, tx) -> {
          throw new RejectedException("no such user");
        };
    assertThatThrownBy(() -> pgonce.drain(GREETED, strict)).hasMessage("no such user");
    assertThatThrownBy(
            () ->
                assertThat(pgonce)
                    .as("the greeting")
                    .hasDeadLetter(GREETED)
                    .because("another reason"))
        .hasMessageStartingWith("[the greeting] channel greeted should have a dead letter");
  }

  @Test
  void api_withDelayHoldsAfterAdvance(PgOnceTester pgonce) {
    pgonce.publish(GREETED, new Greeted(2), LATER);
    pgonce.advance(Duration.ofHours(5));
    assertThat(pgonce).hasPublished(GREETED).withDelay(Duration.ofHours(6)).once();
  }

  @Test
  void api_hasNotPublished(PgOnceTester pgonce) {
    assertThat(pgonce).hasNotPublished(GREETED);
    pgonce.publish(GREETED, new Greeted(1));
    fails(
        () -> assertThat(pgonce).hasNotPublished(GREETED),
        "nothing should wait in channel greeted, but:\n  greeted id 1 {\"user_id\":1}");
    assertThat(pgonce).hasNotPublished(GREETED, new Greeted(2));
    fails(
        () -> assertThat(pgonce).hasNotPublished(GREETED, new Greeted(1)),
        "nothing with payload Greeted[userId=1] should wait in channel greeted, but:\n  greeted id 1 {\"user_id\":1}");
  }

  @Test
  void api_isEmpty(PgOnceTester pgonce) {
    assertThat(pgonce).isEmpty();
    for (var i = 1; i <= 21; i++) {
      pgonce.publish(GREETED, new Greeted(i));
    }
    assertThatThrownBy(() -> assertThat(pgonce).as("at the end").isEmpty())
        .hasMessageStartingWith(
            "[at the end] nothing should be left, but:\n  greeted id 1 {\"user_id\":1}\n")
        .hasMessageEndingWith("\n  and 1 more");
  }

  @Test
  void api_isEmptyBeforeAnythingIsInstalled(PgOnceTester pgonce) {
    pgonce.execute("drop schema pgonce cascade");
    assertThat(pgonce).isEmpty();
  }

  @Test
  void api_hasDeadLetter(PgOnceTester pgonce) {
    pgonce.publish(GREETED, new Greeted(1));
    fails(
        () -> assertThat(pgonce).hasDeadLetter(GREETED),
        "channel greeted should have a dead letter, but there is none. What waits in it:\n  greeted id 1 {\"user_id\":1}");
    Handler<Greeted> rejects =
        (greeted, tx) -> {
          throw new RejectedException("no such user");
        };
    assertThatThrownBy(() -> pgonce.drain(GREETED, rejects)).isInstanceOf(RejectedException.class);
    assertThat(pgonce).hasDeadLetter(GREETED).because("no such user").because("REJECTED");
    assertThatThrownBy(() -> assertThat(pgonce).hasDeadLetter(GREETED).because("too late"))
        .hasMessageStartingWith(
            "channel greeted should have a dead letter because of «too late», but has:\n  greeted id 1 {\"user_id\":1}, dead letter (REJECTED): ");
    assertThatThrownBy(() -> assertThat(pgonce).isEmpty()).isInstanceOf(AssertionError.class);
    assertThat(pgonce).hasNotPublished(GREETED);
  }

  @Test
  void api_aFailedAttemptIsShown(PgOnceTester pgonce) {
    pgonce.publish(GREETED, new Greeted(1));
    Handler<Greeted> fails =
        (greeted, tx) -> {
          throw new IllegalStateException("mail server is down");
        };
    assertThatThrownBy(() -> pgonce.drain(GREETED, fails)).hasMessage("mail server is down");
    assertThatThrownBy(() -> assertThat(pgonce).isEmpty())
        .hasMessageContaining(
            "greeted id 1 {\"user_id\":1}, failed attempts: 1, the last: java.lang.IllegalStateException: mail server is down");
    assertThatThrownBy(() -> assertThat(pgonce).hasPublished(GREETED).withDelay(Duration.ZERO))
        .isInstanceOf(AssertionError.class);
  }
}
