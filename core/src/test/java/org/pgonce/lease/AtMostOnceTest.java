package org.pgonce.lease;

import static org.assertj.core.api.Assertions.assertThat;
import static org.pgonce.stage.Stage.QUICK;

import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.pgonce.Channel;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.Publisher;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.stage.Stage.Order;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** AT_MOST_ONCE within one process; its column of the crash matrix is in CrashMatrixHandlerTest. */
@PgTest(PgOnceInstalled.class)
class AtMostOnceTest {

  private static final Channel<Order> MAILS = Channel.of("mails", Order.class, Mode.AT_MOST_ONCE);
  private static final String LETTER =
      "select string_agg(reason || ' ' || attempts || ' ' || error, ',') from pgonce.dead_letter";

  private final AtomicInteger calls = new AtomicInteger();
  private Stage stage;

  @BeforeEach
  void open(TestDatabase database) throws SQLException {
    stage = new Stage(database);
    PgOnce.using(stage.dataSource).install(MAILS);
  }

  @AfterEach
  void close() {
    stage.close();
  }

  private void publish(int count) throws SQLException {
    try (var connection = stage.dataSource.getConnection()) {
      for (var id = 1; id <= count; id++) {
        Publisher.standard().publish(connection, MAILS, new Order(id, "item"));
      }
    }
  }

  /** A mail may be missed and must not be sent twice: its failure is for a person to look at. */
  @Test
  void example_aFailureIsADeadLetterAndNeverRunsAgainByItself() throws Exception {
    var pgonce = stage.pgonce();
    pgonce
        .listen(
            MAILS,
            QUICK,
            (mail, tx) -> {
              if (calls.incrementAndGet() == 1) {
                throw new IllegalStateException("the mail server said no");
              }
            })
        .start();
    publish(1);
    stage.awaitSoon(() -> stage.deadLetters() == 1);
    assertThat(stage.database.queryString(LETTER))
        .isEqualTo("ATTEMPTS_USED_UP 1 java.lang.IllegalStateException: the mail server said no");
    assertThat(calls).hasValue(1);

    // Who has looked, and knows better, may have it run once more.
    assertThat(stage.onCall().redrive(MAILS)).isEqualTo(1);
    stage.awaitNothingWaits();
    assertThat(calls).hasValue(2);
    assertThat(stage.deadLetters()).isZero();
  }

  @Test
  void eachRunsOnce() throws Exception {
    for (var listener = 0; listener < 3; listener++) {
      stage.pgonce().listen(MAILS, (mail, tx) -> Stage.effect(mail, tx)).start();
    }
    publish(100);
    stage.awaitNothingWaits();
    assertThat(stage.eachOnce(100)).isTrue();
  }

  @Test
  void h45_aHandlerThatDoesNotReturnHasAnUnknownOutcome() throws Exception {
    var pgonce = stage.pgonce();
    pgonce
        .listen(
            MAILS,
            QUICK.withHandlerTimeout(Duration.ofSeconds(1)),
            (mail, tx) -> {
              calls.incrementAndGet();
              new CountDownLatch(1).await();
            })
        .start();
    publish(1);
    stage.awaitSoon(() -> stage.deadLetters() == 1);
    assertThat(stage.database.queryString(LETTER))
        .startsWith("OUTCOME_UNKNOWN 1 ")
        .contains("did not return within 1000 ms");
    assertThat(calls).hasValue(1);
  }

  @Test
  void h85_whatAStoppedListenerHadBegunHasAnUnknownOutcome() throws Exception {
    var begun = new CountDownLatch(1);
    var first = stage.pgonce();
    first
        .listen(
            MAILS,
            (mail, tx) -> {
              begun.countDown();
              new CountDownLatch(1).await();
            })
        .start();
    publish(1);
    Stage.awaitSoon(begun);
    assertThat(first.stop(Duration.ZERO)).isFalse();
    assertThat(stage.database.queryString(LETTER))
        .startsWith("OUTCOME_UNKNOWN 1 ")
        .contains("the listener stopped before its handler returned");
  }

  @Test
  void aChangeOfModeNeverStartsAgainWhatHasBegun() throws Exception {
    var begun = new CountDownLatch(1);
    var first = stage.pgonce();
    first
        .listen(
            MAILS,
            (mail, tx) -> {
              calls.incrementAndGet();
              begun.countDown();
              new CountDownLatch(1).await();
            })
        .start();
    publish(1);
    Stage.awaitSoon(begun);
    stage.database.execute("select pgonce.change_mode('mails', 'EXACTLY_ONCE')");
    assertThat(stage.database.queryString(LETTER))
        .isEqualTo("OUTCOME_UNKNOWN 1 its handler had begun when the channel's mode was changed");
    assertThat(calls).hasValue(1);
  }

  /** The housekeeping leaves its row to it. */
  @Test
  void h84_aHandlerAtWorkOnWhatIsDroppedEndsAsUsual() throws Exception {
    var begun = new CountDownLatch(1);
    var dropped = new CountDownLatch(1);
    var pgonce = stage.pgonce();
    pgonce
        .listen(
            MAILS,
            QUICK,
            (mail, tx) -> {
              Stage.effect(mail, tx);
              begun.countDown();
              dropped.await();
            })
        .start();
    publish(1);
    Stage.awaitSoon(begun);
    assertThat(stage.onCall().drop(MAILS, "not used")).isTrue();
    stage.database.execute("select pgonce_private.clear_leftovers()");
    dropped.countDown();
    stage.awaitSoon(() -> stage.effects() == 1);
    assertThat(stage.deadLetters()).isZero();
  }
}
