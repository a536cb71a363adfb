package org.pgonce.test;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.pgonce.Channel;
import org.pgonce.Handler;
import org.pgonce.PublishOptions;

/** docs/testing.md quotes what is between the marks. */
// quoted: test
@PgOnceTest
class SignUpTest {

  record SignedUp(long userId) {}

  record Greeted(long userId) {}

  static final Channel<SignedUp> SIGNED_UP = Channel.of("signed_up", SignedUp.class);
  static final Channel<Greeted> GREETED = Channel.of("greeted", Greeted.class);

  final OutsideCalls mails = new OutsideCalls();

  final Handler<SignedUp> greet =
      (signedUp, tx) -> {
        var user = signedUp.payload().userId();
        tx.update("insert into greeting (user_id) values (?)", user);
        var later = PublishOptions.DEFAULT.withDelay(Duration.ofHours(6));
        tx.publish(GREETED, new Greeted(user), later);
      };

  final Handler<Greeted> mail = (greeted, tx) -> mails.call(greeted.deliveryKey());

  @BeforeEach
  void install(PgOnceTester pgonce) {
    pgonce.execute("create table greeting (user_id bigint primary key)");
    pgonce.install(SIGNED_UP, GREETED);
  }

  @Test
  void greets(PgOnceTester pgonce) {
    pgonce.publish(SIGNED_UP, new SignedUp(42));
    pgonce.drain(SIGNED_UP, greet); // on this thread, in order, rethrows
    assertThat(pgonce)
        .hasPublished(GREETED)
        .withPayload(new Greeted(42))
        .withDelay(Duration.ofHours(6))
        .once();
    pgonce.advance(Duration.ofHours(6)); // moves due times, not the clock
    pgonce.drain(GREETED, mail);
    assertThat(mails.effects()).isEqualTo(1);
    assertThat(pgonce).isEmpty();
  }

  @Test
  void survives(PgOnceTester pgonce) {
    // One for a run without a fault, and one for each fault.
    pgonce.publishAll(
        SIGNED_UP, List.of(new SignedUp(1), new SignedUp(2), new SignedUp(3), new SignedUp(4)));
    pgonce
        .chaos(SIGNED_UP, greet)
        .killBeforeCommit()
        .loseCommitAnswer()
        .runTwice()
        .assertEffectsOnce("select count(*) from greeting");
  }
}
// end
