package org.pgonce.pause;

import static org.assertj.core.api.Assertions.assertThat;
import static org.pgonce.stage.Stage.ORDERS;
import static org.pgonce.stage.Stage.QUICK;

import java.sql.SQLException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.Channel;
import org.pgonce.ListenOptions;
import org.pgonce.Mode;
import org.pgonce.Notification;
import org.pgonce.PauseException;
import org.pgonce.PgOnce;
import org.pgonce.Tx;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** S15: the service that a handler calls is down. Its lot goes back, and the channel pauses. */
@PgTest(PgOnceInstalled.class)
@Tag("drivers")
class HandlerPauseTest {

  private static final String PAUSED =
      "select paused_by || ': ' || pause_reason from pgonce.channel_status where channel = 'orders'";

  private final AtomicBoolean outage = new AtomicBoolean(true);
  private final AtomicInteger begun = new AtomicInteger();
  private Stage stage;

  @BeforeEach
  void open(TestDatabase database) throws SQLException {
    stage = new Stage(database);
  }

  @AfterEach
  void close() {
    stage.close();
  }

  private void send(Notification<Stage.Order> order, Tx tx) throws Exception {
    begun.incrementAndGet();
    Stage.effect(order, tx);
    if (outage.get()) {
      throw new PauseException("mail server says 421", new IllegalStateException("421"));
    }
  }

  private PgOnce mailer(ListenOptions options) {
    return stage
        .pgonce(PgOnce.builder(stage.dataSource).instance("mailer-7"))
        .listen(ORDERS, options, this::send)
        .start();
  }

  private boolean isPaused() throws SQLException {
    return stage.database.queryString(PAUSED) != null;
  }

  private void awaitIdle(PgOnce pgonce) {
    stage.awaitSoon(
        () -> {
          var orders = pgonce.status().channels().get(0);
          return orders.paused() != null && orders.working() == 0;
        });
  }

  @Test
  void example_aHandlerPausesItsChannelAndPutsItsLotBack() throws Exception {
    var pgonce = mailer(QUICK.withConcurrency(1));
    stage.publish(5);
    awaitIdle(pgonce);
    assertThat(stage.database.queryString(PAUSED)).isEqualTo("mailer-7: mail server says 421");
    // As if it had never been tried: one handler began, and nothing of it is left.
    assertThat(begun).hasValue(1);
    assertThat(stage.effects()).isZero();
    assertThat(
            stage.database.queryLong(
                "select backlog from pgonce.channel_status where scheduled = 0"))
        .isEqualTo(5);

    outage.set(false);
    stage.onCall().by("Anna").resume(ORDERS, "mail server is up again");
    stage.awaitSoon(() -> stage.eachOnce(5));
    assertThat(stage.database.queryString("select distinct note from effect"))
        .isEqualTo("attempt 1");
    assertThat(
            stage.database.queryString(
                "select string_agg(concat_ws(' ', what, subscription, operator, reason), ', ' order by id) from pgonce.operation_log"
                    + " where what <> 'INSTALL'"))
        .isEqualTo(
            "PAUSE default mailer-7 mail server says 421, RESUME Anna mail server is up again");
  }

  @Test
  void s15_fromTheThrowOnNothingMoreIsClaimed() throws Exception {
    stage.publish(500);
    var pgonce = mailer(QUICK.withConcurrency(4));
    awaitIdle(pgonce);
    // At most those that had begun when the first one threw.
    assertThat(begun.get()).isBetween(1, 4);
    assertThat(stage.waiting()).isEqualTo(500);
    assertThat(stage.database.queryLong("select count(*) from pgonce.scheduled where attempts > 0"))
        .isZero();
    outage.set(false);
    stage.onCall().resume(ORDERS, "up again");
    stage.awaitSoon(() -> stage.eachOnce(500));
  }

  @Test
  void s15_theAttemptsThatWereCountedBeforeStay() throws Exception {
    var pgonce =
        stage
            .pgonce()
            .listen(
                ORDERS,
                QUICK,
                (order, tx) -> {
                  if (order.attempt() == 1) {
                    throw new IllegalStateException("first");
                  }
                  send(order, tx);
                })
            .start();
    stage.publish(1);
    awaitIdle(pgonce);
    assertThat(
            stage.database.queryString(
                "select attempts || ' ' || last_error || ' ' || (due_at <= now()) from pgonce.scheduled where subscription_id > 0"))
        .isEqualTo("1 java.lang.IllegalStateException: first true");
    outage.set(false);
    stage.onCall().resume(ORDERS, "up again");
    stage.awaitSoon(() -> stage.eachOnce(1));
    assertThat(stage.database.queryString("select note from effect")).isEqualTo("attempt 2");
  }

  @Test
  void s15_itIsPausedThoughItsTransactionIsLost() throws Exception {
    var pgonce =
        stage
            .pgonce()
            .listen(
                ORDERS,
                QUICK,
                (order, tx) -> {
                  try {
                    tx.query("select pg_terminate_backend(pg_backend_pid())", row -> 1);
                  } catch (SQLException ended) {
                    throw new PauseException("down with all hands", ended);
                  }
                })
            .start();
    stage.publish(1);
    awaitIdle(pgonce);
    assertThat(stage.database.queryString(PAUSED)).endsWith("down with all hands");
    // Another worker may have had it in between: its end without a word was counted then, and that
    // taken back.
    assertThat(stage.waiting()).isEqualTo(1);
    assertThat(
            stage.database.queryLong(
                "select count(*) from pgonce.scheduled where attempts > 0 or token is not null"))
        .isZero();
  }

  @Test
  void s15_whereItMayNotPauseItsAttemptHasFailed() throws Exception {
    var role = stage.database.loginRole("listener", "pgonce_listener");
    stage.database.execute("grant insert on effect to public");
    try (var pool = role.pooled(6)) {
      var pgonce = stage.pgonce(pool).listen(ORDERS, QUICK, this::send).start();
      stage.database.execute(
          "revoke execute on function pgonce.pause(text, text, text) from pgonce_listener");
      stage.publish(1);
      // With backoff, and not round and round.
      stage.awaitSoon(() -> stage.deadLetters() == 1);
      assertThat(begun).hasValue(QUICK.maxAttempts());
      assertThat(isPaused()).isFalse();
      assertThat(stage.database.queryString("select error from pgonce.dead_letter"))
          .contains("could not be recorded")
          .contains("mail server says 421");
      stage.awaitSoon(() -> pgonce.status().channels().get(0).paused() == null);
      outage.set(false);
      stage.publish(1);
      stage.awaitSoon(() -> stage.eachOnce(1));
      pgonce.close();
    }
  }

  @Test
  void s15_theRightsOfAListenerAreEnoughToPause() throws Exception {
    var role = stage.database.loginRole("listener", "pgonce_listener");
    stage.database.execute("grant insert on effect to public");
    try (var pool = role.pooled(6)) {
      var pgonce = stage.pgonce(pool).listen(ORDERS, QUICK, this::send).start();
      stage.publish(1);
      awaitIdle(pgonce);
      assertThat(isPaused()).isTrue();
      assertThat(stage.waiting()).isEqualTo(1);
      pgonce.close();
    }
  }

  @Test
  void s15_aLeasedOneGoesBackUncounted() throws Exception {
    var mails = Channel.of("mails", Stage.Order.class, Mode.AT_LEAST_ONCE);
    var pgonce =
        stage.pgonce().install(mails).listen(mails, QUICK.withConcurrency(1), this::send).start();
    publish(pgonce, mails, 3);
    awaitIdle(pgonce);
    assertThat(begun).hasValue(1);
    assertThat(stage.effects()).isZero();
    assertThat(
            stage.database.queryString(
                "select attempts || ' ' || (token is null) || ' ' || (due_at <= now()) from pgonce.scheduled where subscription_id > 0"))
        .isEqualTo("0 true true");
    assertThat(stage.waiting()).isEqualTo(3);
    outage.set(false);
    stage.onCall().resume(mails, "up again");
    stage.awaitSoon(() -> stage.eachOnce(3));
    assertThat(stage.database.queryString("select distinct note from effect"))
        .isEqualTo("attempt 1");
  }

  @Test
  void s15_whatMayNotRunTwiceIsADeadLetterAndItsChannelPausedAllTheSame() throws Exception {
    var mails = Channel.of("mails", Stage.Order.class, Mode.AT_MOST_ONCE);
    var pgonce =
        stage.pgonce().install(mails).listen(mails, QUICK.withConcurrency(1), this::send).start();
    publish(pgonce, mails, 3);
    awaitIdle(pgonce);
    assertThat(begun).hasValue(1);
    assertThat(stage.deadLetters()).isEqualTo(1);
    assertThat(stage.waiting()).isEqualTo(2);
    outage.set(false);
    stage.onCall().resume(mails, "up again");
    stage.awaitSoon(() -> stage.effects() == 2);
  }

  private void publish(PgOnce pgonce, Channel<Stage.Order> channel, int count) throws SQLException {
    var orders =
        LongStream.rangeClosed(1, count).mapToObj(id -> new Stage.Order(id, "item")).toList();
    try (var connection = stage.dataSource.getConnection()) {
      pgonce.publisher().publishAll(connection, channel, orders);
    }
  }
}
