package org.pgonce.pause;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.pgonce.stage.Stage.ORDERS;
import static org.pgonce.stage.Stage.QUICK;

import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.PgOnceBuilder;
import org.pgonce.PgOnceException;
import org.pgonce.Publisher;
import org.pgonce.Status.Paused;
import org.pgonce.spi.Event;
import org.pgonce.spi.Observer;
import org.pgonce.stage.OnCall;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** H86 and what else is promised of a pause, within one process; {@link PauseProcessTest} kills. */
@PgTest(PgOnceInstalled.class)
@Tag("drivers")
class PauseTest {

  /** Of the same listeners, and never paused: what is published here last is handled last. */
  private static final Channel<Integer> WITNESS = Channel.of("witness", Integer.class);

  private static final Duration NEVER = Duration.ofHours(1);

  private final List<Integer> witnessed = new CopyOnWriteArrayList<>();
  private final List<PgOnce> listeners = new CopyOnWriteArrayList<>();
  private Stage stage;
  private OnCall operations;

  @BeforeEach
  void open(TestDatabase database) throws SQLException {
    stage = new Stage(database);
    PgOnce.using(stage.dataSource).install(WITNESS);
    operations = stage.onCall();
  }

  @AfterEach
  void close() {
    listeners.forEach(PgOnce::close);
    stage.close();
  }

  /** A listener that learns nothing from a scan that nobody asked for, unless it is told how. */
  private PgOnce listener(PgOnceBuilder builder, Duration pollInterval) {
    var listener = builder.pollInterval(pollInterval).stopTimeout(Duration.ofSeconds(2)).build();
    listeners.add(listener);
    return listener.listen(WITNESS, (number, tx) -> witnessed.add(number.payload()));
  }

  private PgOnce hearing() {
    return listener(PgOnce.builder(stage.dataSource), NEVER);
  }

  private static Paused paused(PgOnce listener) {
    return listener.status().channels().stream()
        .filter(one -> one.channel().equals("orders"))
        .findFirst()
        .orElseThrow()
        .paused();
  }

  private static boolean isIdle(PgOnce listener) {
    return listener.status().channels().stream().allMatch(one -> one.working() == 0);
  }

  /** Waits until the listeners have handled something that was published after all the rest. */
  private void awaitWitness(int number) throws SQLException {
    try (var connection = stage.dataSource.getConnection()) {
      Publisher.standard().publish(connection, WITNESS, number);
    }
    stage.awaitSoon(
        () -> witnessed.contains(number) && listeners.stream().allMatch(PauseTest::isIdle));
  }

  @Test
  void example_pauseAndResume() throws Exception {
    var pgonce = stage.pgonce().listen(ORDERS, QUICK, Stage::effect).start();
    stage.onCall().by("Anna").pause(ORDERS, "the warehouse moves house");
    stage.publish(3);

    assertThat(
            stage.database.queryString(
                "select concat_ws(': ', paused_by, pause_reason, backlog) from pgonce.channel_status"
                    + " where channel = 'orders' and paused_since <= now()"))
        .isEqualTo("Anna: the warehouse moves house: 3");
    stage.awaitSoon(() -> paused(pgonce) != null);
    assertThat(paused(pgonce).by()).isEqualTo("Anna");
    assertThat(paused(pgonce).reason()).isEqualTo("the warehouse moves house");
    assertThat(stage.effects()).isZero();

    stage.onCall().by("Anna").resume(ORDERS, "it has moved");
    stage.awaitSoon(() -> stage.eachOnce(3) && paused(pgonce) == null);
    assertThat(
            stage.database.queryString(
                "select string_agg(concat_ws(' ', what, operator, reason), ', ' order by id) from pgonce.operation_log"
                    + " where what <> 'INSTALL'"))
        .isEqualTo("PAUSE Anna the warehouse moves house, RESUME Anna it has moved");
  }

  @Test
  void ops_pausedByAnotherSessionBothListenersStopAndGoOnAtOnce() throws Exception {
    var first = hearing().listen(ORDERS, QUICK, Stage::effect).start();
    var second = hearing().listen(ORDERS, QUICK, Stage::effect).start();
    awaitWitness(1);

    stage.database.execute("select pgonce.pause('orders', 'by hand')");
    stage.awaitSoon(() -> paused(first) != null && paused(second) != null);
    stage.publish(20);
    awaitWitness(2);
    assertThat(stage.effects()).isZero();

    stage.database.execute("select pgonce.resume('orders', 'by hand')");
    stage.awaitSoon(() -> stage.eachOnce(20) && paused(first) == null && paused(second) == null);
  }

  @Test
  void ops_aListenerThatHearsNothingStopsWithinItsPollInterval() throws Exception {
    var deaf =
        listener(PgOnce.builder(stage.dataSource).wakeUpBy(), Duration.ofMillis(300))
            .listen(ORDERS, QUICK, Stage::effect)
            .start();
    awaitWitness(1);
    operations.pause(ORDERS, "for a test");
    stage.awaitSoon(() -> paused(deaf) != null);
    stage.publish(5);
    awaitWitness(2);
    assertThat(stage.effects()).isZero();
    operations.resume(ORDERS, "for a test");
    stage.awaitSoon(() -> stage.eachOnce(5));
  }

  @Test
  void h86_whatIsBeingHandledIsFinishedAndNothingElseBegun() throws Exception {
    var begun = new CountDownLatch(1);
    var goOn = new CountDownLatch(1);
    var listener =
        hearing()
            .listen(
                ORDERS,
                QUICK.withConcurrency(1),
                (order, tx) -> {
                  begun.countDown();
                  Stage.effect(order, tx);
                  goOn.await();
                })
            .start();
    try {
      stage.publish(5);
      begun.await();
      operations.pause(ORDERS, "during a run");
      stage.awaitSoon(() -> paused(listener) != null);
    } finally {
      goOn.countDown();
    }
    stage.awaitSoon(() -> stage.waiting() == 4);
    awaitWitness(1);
    assertThat(stage.effects()).isEqualTo(1);
    assertThat(stage.waiting()).isEqualTo(4);
    operations.resume(ORDERS, "go on");
    stage.awaitSoon(() -> stage.eachOnce(5));
  }

  @Test
  void h86_aListenerThatStartsWhilePausedStaysPausedAndSaysWhy() throws Exception {
    var heard = new CopyOnWriteArrayList<String>();
    Observer observer =
        event -> {
          if (event instanceof Event.Paused said) {
            heard.add(
                String.join(" ", said.channel(), said.subscription(), said.by(), said.reason()));
          }
          if (event instanceof Event.Resumed) {
            heard.add("resumed");
          }
        };
    operations.by("Ben").pause(ORDERS, "before the start");
    stage.publish(5);
    var listener =
        listener(PgOnce.builder(stage.dataSource).observer(observer), NEVER)
            .listen(ORDERS, QUICK, Stage::effect)
            .start();
    awaitWitness(1);
    assertThat(paused(listener).reason()).isEqualTo("before the start");
    assertThat(stage.effects()).isZero();
    operations.resume(ORDERS, "after the start");
    stage.awaitSoon(() -> stage.eachOnce(5));
    stage.awaitSoon(() -> heard.size() == 2);
    assertThat(heard).containsExactly("orders default Ben before the start", "resumed");
  }

  @Test
  void h86_whatIsDueWhilePausedWaitsAndIsHandledAfterIt() throws Exception {
    var listener = hearing().listen(ORDERS, QUICK, Stage::effect).start();
    awaitWitness(1);
    operations.pause(ORDERS, "for a test");
    stage.awaitSoon(() -> paused(listener) != null);
    stage.database.execute(
        "insert into pgonce.scheduled (subscription_id, id, due_at, attempts, created_at, payload)"
            + " select s.id, 77, now(), 1, now(), '{\"id\": 7, \"item\": \"x\"}' from pgonce.subscription s"
            + " join pgonce.channel c on c.id = s.channel_id where c.name = 'orders';"
            + " select pgonce.wake_up('orders', 'due')");
    awaitWitness(2);
    assertThat(stage.effects()).isZero();
    operations.resume(ORDERS, "for a test");
    stage.awaitSoon(() -> stage.effects() == 1);
  }

  @Tag("all")
  @Test
  void ops_aPauseIsKnownToTheScanThoughHandlersHoldAllConnections() throws Exception {
    var begun = new CountDownLatch(2);
    var goOn = new CountDownLatch(1);
    try (var small = stage.database.pooled(2)) {
      var listener =
          listener(PgOnce.builder(small), NEVER)
              .listen(
                  ORDERS,
                  QUICK.withConcurrency(2),
                  (order, tx) -> {
                    begun.countDown();
                    goOn.await();
                    Stage.effect(order, tx);
                  })
              .start();
      stage.publish(10);
      begun.await();
      operations.pause(ORDERS, "for a test");
      // It has heard: the scan that is to confirm it waits for a connection.
      stage.awaitSoon(() -> small.getHikariPoolMXBean().getThreadsAwaitingConnection() == 1);
      goOn.countDown();
      stage.awaitSoon(() -> paused(listener) != null && isIdle(listener));
      assertThat(stage.effects()).isEqualTo(2);
      operations.resume(ORDERS, "for a test");
      stage.awaitSoon(() -> stage.eachOnce(10));
      listener.close();
    } finally {
      goOn.countDown();
    }
  }

  @Test
  void h86_leasedOnesAreFinishedAndNothingElseBegun() throws Exception {
    var mails = Channel.of("mails", Integer.class, Mode.AT_LEAST_ONCE);
    var begun = new CountDownLatch(2);
    var goOn = new CountDownLatch(1);
    var sent = new CopyOnWriteArrayList<Integer>();
    var listener =
        hearing()
            .install(mails)
            .listen(
                mails,
                QUICK.withConcurrency(2),
                (mail, tx) -> {
                  begun.countDown();
                  goOn.await();
                  sent.add(mail.payload());
                })
            .start();
    try {
      try (var connection = stage.dataSource.getConnection()) {
        listener.publisher().publishAll(connection, mails, List.of(1, 2, 3, 4, 5, 6));
      }
      begun.await();
      operations.pause(mails, "during a run");
      stage.awaitSoon(
          () -> listener.status().channels().stream().anyMatch(one -> one.paused() != null));
    } finally {
      goOn.countDown();
    }
    awaitWitness(1);
    stage.awaitSoon(() -> stage.waiting() == 4);
    assertThat(sent).hasSize(2);
    operations.resume(mails, "go on");
    stage.awaitSoon(() -> sent.size() == 6 && stage.waiting() == 0);
  }

  @Test
  void ops_oneSubscriptionIsPausedAlone() throws Exception {
    var channel =
        Channel.of(
            "mails",
            Integer.class,
            Mode.EXACTLY_ONCE,
            ChannelOptions.DEFAULT.withSubscriptions("billing", "audit"));
    var sent = new CopyOnWriteArrayList<String>();
    var listener =
        hearing()
            .install(channel)
            .listen(channel, "billing", QUICK, (mail, tx) -> sent.add("billing " + mail.payload()))
            .listen(channel, "audit", QUICK, (mail, tx) -> sent.add("audit " + mail.payload()))
            .start();
    assertThat(operations.pause(channel, "billing", "no invoices today")).isEqualTo(1);
    for (var number = 1; number <= 2; number++) {
      try (var connection = stage.dataSource.getConnection()) {
        listener.publisher().publish(connection, channel, number);
      }
    }
    stage.awaitSoon(() -> sent.size() == 2);
    awaitWitness(1);
    assertThat(sent).containsExactlyInAnyOrder("audit 1", "audit 2");
    // Those that are paused already keep their reason.
    assertThat(operations.pause(channel, "all of it")).isEqualTo(1);
    assertThat(
            stage.database.queryString(
                "select string_agg(subscription || ': ' || pause_reason, ', ' order by subscription) from pgonce.channel_status where channel = 'mails'"))
        .isEqualTo("audit: all of it, billing: no invoices today");
    assertThat(operations.resume(channel, "go on")).isEqualTo(2);
    stage.awaitSoon(() -> sent.size() == 4);
  }

  @Tag("all")
  @Test
  void ops_pausedAndResumedTwentyTimesUnderLoadNothingIsLost() throws Exception {
    var first = stage.pgonce().listen(ORDERS, QUICK, Stage::effect).start();
    var second = hearing().listen(ORDERS, QUICK, Stage::effect).start();
    var each = 50;
    for (var round = 0; round < 20; round++) {
      publishFrom(1 + round * each, each);
      operations.pause(ORDERS, "round " + round);
      if (round % 2 == 0) {
        stage.awaitSoon(() -> paused(first) != null && paused(second) != null);
      }
      publishFrom(10_000 + round * each, each);
      operations.resume(ORDERS, "round " + round);
    }
    stage.awaitNothingWaits();
    assertThat(stage.eachOnce(20 * 2 * each)).isTrue();
    assertThat(stage.deadLetters()).isZero();
    stage.awaitSoon(() -> paused(first) == null && paused(second) == null);
  }

  private void publishFrom(int first, int count) throws SQLException {
    stage.database.execute(
        "select pgonce.publish_all('orders', (select json_agg(json_build_object('id', n, 'item', 'x')) from generate_series(%d, %d) n))"
            .formatted(first, first + count - 1));
  }

  @Test
  void h39_forgedPausesAndResumesDecideNothing() throws Exception {
    var listener = hearing().listen(ORDERS, QUICK, Stage::effect).start();
    for (var i = 0; i < 100; i++) {
      stage.database.execute("notify pgonce_orders, 'pause'");
      publishFrom(1 + i, 1);
    }
    stage.awaitSoon(() -> stage.eachOnce(100));
    assertThat(paused(listener)).isNull();

    operations.pause(ORDERS, "for a test");
    stage.awaitSoon(() -> paused(listener) != null);
    publishFrom(1_000, 10);
    for (var i = 0; i < 100; i++) {
      stage.database.execute("notify pgonce_orders, 'resume'");
    }
    awaitWitness(1);
    assertThat(stage.effects()).isEqualTo(100);
    operations.resume(ORDERS, "for a test");
    stage.awaitSoon(() -> stage.effects() == 110);
  }

  @Test
  void ops_whatCannotBePausedIsRefusedInWords() throws Exception {
    var broadcast = Channel.of("news", String.class, Mode.BROADCAST);
    PgOnce.using(stage.dataSource).install(broadcast);
    assertThatThrownBy(() -> operations.pause(broadcast, "for a test"))
        .isInstanceOf(PgOnceException.class)
        .hasMessageContaining("stop its listeners instead");
    assertThatThrownBy(() -> operations.pause(Channel.of("nowhere", String.class), "for a test"))
        .hasMessageContaining("channel \"nowhere\" is not installed");
    assertThatThrownBy(() -> operations.resume(ORDERS, "other", "for a test"))
        .hasMessageContaining("is not installed")
        .hasMessageContaining("with a subscription \"other\"");
    stage.database.execute("select pgonce.install_channel('bare', 'EXACTLY_ONCE', 'published')");
    stage.database.execute("select pgonce.drop_subscription('bare', 'default')");
    assertThatThrownBy(() -> operations.pause(Channel.of("bare", String.class), "for a test"))
        .hasMessageContaining("has no subscription any more")
        .hasMessageNotContaining("is not installed");
    assertThatThrownBy(() -> stage.database.execute("select pgonce.pause('orders', ' ')"))
        .hasMessageContaining("say why");
    operations.pause(ORDERS, "for a test");
    assertThatThrownBy(
            () -> stage.database.execute("select pgonce.change_mode('orders', 'BROADCAST')"))
        .hasMessageContaining("resume it first");
  }
}
