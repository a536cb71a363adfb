package org.pgonce.internal.listen;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.awaitility.Awaitility.await;

import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.pgonce.internal.listen.ListenFailure.Kind;
import org.pgonce.internal.listen.Received.Message;
import org.pgonce.spi.WakeUpConnection;
import org.pgonce.spi.WakeUpSource;
import org.pgonce.testkit.FaultProxy;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** What {@link NotificationListener} promises with every source; here with pgjdbc. */
@PgTest
class NotificationListenerTest {

  private final Witness witness = new Witness();
  private final AtomicReference<WakeUpConnection> latest = new AtomicReference<>();
  private TestDatabase database;
  private FaultProxy proxy;

  WakeUpSource source() {
    return new PgjdbcSource();
  }

  @BeforeEach
  void begin(TestDatabase fresh) {
    database = fresh;
    proxy = FaultProxy.to(database);
  }

  @AfterEach
  void leavesNothing() {
    proxy.close();
    Leaks.awaitNone(database);
  }

  private NotificationListener listener(String... channels) {
    return Listeners.started(remembering(), Addresses.of(database), witness, channels);
  }

  private NotificationListener patientListener(String... channels) {
    return Listeners.startedPatiently(source(), Addresses.of(database), witness, channels);
  }

  private NotificationListener listenerThroughProxy(String... channels) {
    return Listeners.started(source(), Addresses.through(proxy, database), witness, channels);
  }

  private NotificationListener patientListenerThroughProxy(String... channels) {
    return Listeners.startedPatiently(
        source(), Addresses.through(proxy, database), witness, channels);
  }

  /** The source; the connection it opened last is kept for a test that has to reach into it. */
  private WakeUpSource remembering() {
    return new DecoratedSource(
        source(),
        opened -> {
          latest.set(opened);
          return opened;
        });
  }

  private void run(String statement) throws SQLException {
    latest.get().execute(List.of(statement), Received.BOUND);
  }

  @Test
  void listensAndSaysSo() throws Exception {
    try (var listener = patientListener("orders")) {
      var status = listener.awaitFirstAttempt(Received.BOUND);

      assertThat(status.listening()).isTrue();
      assertThat(status.source()).isEqualTo(source().name());
      assertThat(status.session().address()).isEqualTo(Addresses.of(database));
      assertThat(status.session().backendPid())
          .isEqualTo(database.backends().awaitNamed("pgonce listen"));
      assertThat(status.failedSources()).isEmpty();
      assertThat(status.failure()).isNull();
      assertThat(status.reconnects()).isZero();
      assertThat(witness.listenings()).isEqualTo(1);

      database.execute("NOTIFY others, 'not this'; NOTIFY orders, 'this'");
      witness.received().awaitMessage("orders", "this");
      assertThat(witness.received().messages()).containsExactly(new Message("orders", "this"));
    }
  }

  @Test
  void heartbeatsGoOn() throws Exception {
    var heartbeats = new AtomicInteger();
    var source = new DecoratedSource(source(), opened -> StatementTap.counting(opened, heartbeats));
    try (var listener =
        Listeners.startedPatiently(source, Addresses.of(database), witness, "orders")) {
      listener.awaitFirstAttempt(Received.BOUND);
      var before = heartbeats.get();

      await().atMost(Received.BOUND).until(() -> heartbeats.get() >= before + 3);
      assertThat(witness.failures()).isEmpty();
      assertThat(witness.received().messages()).isEmpty();
    }
  }

  @Test
  void h63_whatCommitsWhileTheOwnerBeginsItsPollArrives() {
    var scanning =
        new Witness() {
          @Override
          public void listening() {
            try {
              database.execute("NOTIFY orders, 'between'");
            } catch (SQLException e) {
              throw new IllegalStateException(e);
            }
            super.listening();
          }
        };
    try (var listener =
        Listeners.startedPatiently(source(), Addresses.of(database), scanning, "orders")) {
      scanning.received().awaitMessage("orders", "between");
      assertThat(listener.status().listening()).isTrue();
    }
  }

  @Test
  void h60_aTerminatedBackendIsNoticedAtOnceAndReplaced() throws Exception {
    try (var listener = patientListener("orders")) {
      var old = listener.awaitFirstAttempt(Received.BOUND).session().backendPid();
      database.backends().terminate(old);

      assertThat(witness.awaitDisconnected(Listeners.NOTICED).kind()).isEqualTo(Kind.UNREACHABLE);
      witness.awaitListening(2);
      database.execute("NOTIFY orders, 'again'");
      witness.received().awaitMessage("orders", "again");
      assertThat(listener.status().reconnects()).isEqualTo(1);
      assertThat(listener.status().session().backendPid()).isNotEqualTo(old);
    }
  }

  @Test
  void h60_aFrozenBackendIsNoticedWithinHeartbeatAndEchoDeadlineAndReplaced() throws Exception {
    try (var listener = listener("orders")) {
      var frozen = listener.awaitFirstAttempt(Received.BOUND).session().backendPid();
      database.backends().sigstop(frozen);
      try {
        witness.awaitDisconnected(Listeners.NOTICED);
        witness.awaitListening(2); // though the old one is still frozen
        database.execute("NOTIFY orders, 'again'");
        witness.received().awaitMessage("orders", "again");
      } finally {
        database.backends().sigcont(frozen);
      }
    }
  }

  @Test
  void h60_aSilentNetworkIsNoticedWithinHeartbeatAndEchoDeadline() throws Exception {
    try (var listener = listenerThroughProxy("orders")) {
      listener.awaitFirstAttempt(Received.BOUND);
      proxy.silence();

      witness.awaitDisconnected(Listeners.NOTICED);
      assertThat(listener.status().source()).isEqualTo("polling");

      proxy.pass();
      witness.awaitListening(2);
      proxy.cutAll(); // the old one's other end does not know yet
    }
  }

  @Test
  void h60_aConnectionCutWithAHeartbeatInFlightIsNoticedAndReplaced() throws Exception {
    try (var listener = patientListenerThroughProxy("orders")) {
      listener.awaitFirstAttempt(Received.BOUND);
      proxy.cutAfterForwarding("NOTIFY").awaitSprung(Received.BOUND);

      witness.awaitDisconnected(Listeners.NOTICED);
      witness.awaitListening(2);
      assertThat(listener.status().reconnects()).isEqualTo(1);
    }
  }

  @Test
  void h60_garbageCollectionDoesNotEndIt() throws Exception {
    try (var listener = patientListener("orders")) {
      var pid = listener.awaitFirstAttempt(Received.BOUND).session().backendPid();
      for (int round = 0; round < 5; round++) {
        System.gc();
        database.execute("NOTIFY orders, '" + round + "'");
        witness.received().awaitMessage("orders", Integer.toString(round));
      }
      assertThat(listener.status().session().backendPid()).isEqualTo(pid);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"UNLISTEN *", "DISCARD ALL"})
  void h62_aSessionThatWasMadeToUnlistenIsReplaced(String statement) throws Exception {
    try (var listener = listener("orders")) {
      listener.awaitFirstAttempt(Received.BOUND);
      run(statement);

      var failure = witness.awaitDisconnected(Listeners.NOTICED);
      assertThat(failure.reason()).contains("fell silent").contains("UNLISTEN");
      witness.awaitListening(2);
      database.execute("NOTIFY orders, 'again'");
      witness.received().awaitMessage("orders", "again");
    }
  }

  @Test
  void h31_forgedEchoesDoNotKeepABrokenSessionAlive() throws Exception {
    var mute = new AtomicBoolean();
    var source = new DecoratedSource(source(), opened -> StatementTap.muting(opened, mute));
    try (var listener = Listeners.started(source, Addresses.of(database), witness, "orders")) {
      var pid = listener.awaitFirstAttempt(Received.BOUND).session().backendPid();
      await("the statement that names its own channel")
          .atMost(Received.BOUND)
          .until(() -> selfChannel(pid) != null);
      var self = selfChannel(pid);
      mute.set(true); // its own heartbeats are lost from now on

      await("disconnected in spite of the forged ones")
          .pollInterval(Duration.ofMillis(20))
          .atMost(Listeners.NOTICED)
          .until(
              () -> {
                database.execute("NOTIFY \"" + self + "\", 'forged'");
                return !witness.failures().isEmpty();
              });
      mute.set(false);
      witness.awaitListening(2);
      assertThat(witness.received().messages()).isEmpty();
    }
  }

  private String selfChannel(int pid) throws SQLException {
    return database.queryString(
        "SELECT substring(query FROM 'pgonce_self_[0-9a-f]+') FROM pg_stat_activity"
            + " WHERE pid = "
            + pid);
  }

  @Test
  void h31_aFloodOfWakeUpsNeitherBlocksNorDisconnects() throws Exception {
    try (var listener = patientListener("flooded", "orders")) {
      listener.awaitFirstAttempt(Received.BOUND);
      var begin = System.nanoTime();
      // 100 kB each, twenty of them: each in one transaction, a message of 1 kB a notification.
      for (int burst = 0; burst < 20; burst++) {
        database.execute(
            "SELECT pg_notify('flooded', repeat('x', 990) || "
                + burst
                + " || '-' || n)"
                + " FROM generate_series(1, 100) n");
      }
      database.execute("NOTIFY orders, 'after the flood'");

      witness.received().awaitMessage("orders", "after the flood");
      assertThat(Duration.ofNanos(System.nanoTime() - begin)).isLessThan(Received.BOUND);
      assertThat(witness.received().payloads("flooded")).hasSize(2_000);
      assertThat(witness.failures()).isEmpty();
    }
  }

  @Test
  void aCallbackThatThrowsDoesNotEndListening() {
    var clumsy =
        new Witness() {
          @Override
          public void notified(String channel, String payload) {
            super.notified(channel, payload);
            throw new IllegalStateException("on purpose");
          }

          @Override
          public void listening() {
            super.listening();
            throw new IllegalStateException("on purpose");
          }
        };
    try (var listener =
        Listeners.startedPatiently(source(), Addresses.of(database), clumsy, "orders")) {
      clumsy.awaitListening(1);
      for (var payload : List.of("one", "two")) {
        clumsy.received().notified("test", payload);
        try {
          database.execute("NOTIFY orders, '" + payload + "'");
        } catch (SQLException e) {
          throw new IllegalStateException(e);
        }
        clumsy.received().awaitMessage("orders", payload);
      }
      assertThat(listener.status().listening()).isTrue();
      assertThat(clumsy.failures()).isEmpty();
    }
  }

  @Test
  void h60_aCallbackThatInterruptsItsThreadDoesNotEndListening() {
    var times = new AtomicInteger();
    var interrupting =
        new Witness() {
          @Override
          public void listening() {
            super.listening();
            if (times.incrementAndGet() == 1) {
              Thread.currentThread().interrupt();
            }
          }

          @Override
          public void disconnected(ListenFailure failure) {
            super.disconnected(failure);
            Thread.currentThread().interrupt();
          }
        };
    try (var listener =
        Listeners.started(remembering(), Addresses.of(database), interrupting, "orders")) {
      await().atMost(Duration.ofSeconds(20)).until(() -> times.get() >= 2);
    }
  }

  @Test
  void closingWhileItConnectsToNobodyIsPrompt() {
    proxy.silence();
    var listener = patientListenerThroughProxy("orders");
    await().atMost(Received.BOUND).until(() -> proxyIsReached());

    closesWithin(listener, Duration.ofSeconds(1));
    proxy.cutAll();
    assertThat(listener.status().failure().kind()).isEqualTo(Kind.POLLING);
  }

  private static boolean proxyIsReached() {
    return Thread.getAllStackTraces().keySet().stream()
        .anyMatch(thread -> thread.getName().equals("pgonce-call"));
  }

  @Test
  void closingWhileTheBackendIsFrozenIsPrompt() throws Exception {
    var listener = listener("orders");
    var pid = listener.awaitFirstAttempt(Received.BOUND).session().backendPid();
    database.backends().sigstop(pid);
    try {
      closesWithin(listener, Duration.ofSeconds(2));
      Leaks.awaitNoThread();
    } finally {
      database.backends().sigcont(pid);
    }
  }

  @Test
  void closingTwiceAndStartingTwiceAreClear() throws Exception {
    var listener = patientListener("orders");
    listener.awaitFirstAttempt(Received.BOUND);
    assertThatIllegalStateException().isThrownBy(listener::start);
    listener.close();
    listener.close();
    assertThatIllegalStateException().isThrownBy(listener::start);
    assertThat(listener.status().source()).isEqualTo("polling");
    assertThat(witness.failures()).isEmpty();
  }

  @Test
  void closingBeforeStartingIsPossible() {
    var listener =
        new NotificationListener(
            List.of(source()),
            () -> List.of(Addresses.of(database)),
            Listeners.QUICK,
            Set.of("orders"),
            witness);
    listener.close();
    assertThatIllegalStateException().isThrownBy(listener::start);
  }

  private static void closesWithin(NotificationListener listener, Duration bound) {
    var begin = System.nanoTime();
    listener.close();
    assertThat(Duration.ofNanos(System.nanoTime() - begin)).isLessThan(bound.plus(Listeners.SLACK));
  }
}
