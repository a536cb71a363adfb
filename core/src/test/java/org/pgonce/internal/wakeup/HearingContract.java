package org.pgonce.internal.wakeup;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.awaitility.Awaitility.await;

import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.pgonce.internal.wakeup.Deafness.Kind;
import org.pgonce.internal.wakeup.Heard.Message;
import org.pgonce.spi.WakeUpConnection;
import org.pgonce.spi.WakeUpSource;
import org.pgonce.testkit.FaultProxy;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** What {@link Hearing} promises with every source. */
@PgTest
abstract class HearingContract {

  private final Witness witness = new Witness();
  private final AtomicReference<WakeUpConnection> latest = new AtomicReference<>();
  private TestDatabase database;
  private FaultProxy proxy;

  abstract WakeUpSource source();

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

  private Hearing hearing(String... channels) {
    return Hearings.started(remembering(), Addresses.of(database), witness, channels);
  }

  private Hearing patientHearing(String... channels) {
    return Hearings.startedPatiently(source(), Addresses.of(database), witness, channels);
  }

  private Hearing hearingThroughProxy(String... channels) {
    return Hearings.started(source(), Addresses.through(proxy, database), witness, channels);
  }

  private Hearing patientHearingThroughProxy(String... channels) {
    return Hearings.startedPatiently(
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
    var sql = List.of(statement);
    if (latest.get() instanceof PgjdbcNgConnection ng) {
      ng.execute(sql, Heard.BOUND);
    } else {
      ((PgjdbcConnection) latest.get()).execute(sql, Heard.BOUND);
    }
  }

  @Test
  void listensAndSaysSo() throws Exception {
    try (var hearing = patientHearing("orders")) {
      var status = hearing.awaitFirstAttempt(Heard.BOUND);

      assertThat(status.listening()).isTrue();
      assertThat(status.source()).isEqualTo(source().name());
      assertThat(status.session().address()).isEqualTo(Addresses.of(database));
      assertThat(status.session().backendPid())
          .isEqualTo(database.backends().awaitNamed("pgonce listen"));
      assertThat(status.session().lastEchoNanos()).isPositive();
      assertThat(status.failedSources()).isEmpty();
      assertThat(status.deafness()).isNull();
      assertThat(status.reconnects()).isZero();
      assertThat(witness.listenings()).isEqualTo(1);

      database.execute("NOTIFY others, 'not this'; NOTIFY orders, 'this'");
      witness.ears().awaitMessage("orders", "this");
      assertThat(witness.ears().messages()).containsExactly(new Message("orders", "this"));
    }
  }

  @Test
  void heartbeatsRenewTheEcho() throws Exception {
    try (var hearing = patientHearing("orders")) {
      var first = hearing.awaitFirstAttempt(Heard.BOUND).session().lastEchoNanos();

      await().atMost(Heard.BOUND).until(() -> hearing.status().session().lastEchoNanos() != first);
      assertThat(witness.deafnesses()).isEmpty();
      assertThat(witness.ears().messages()).isEmpty();
    }
  }

  @Test
  void h63_whatCommitsWhileTheOwnerBeginsItsScanIsHeard() {
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
    try (var hearing =
        Hearings.startedPatiently(source(), Addresses.of(database), scanning, "orders")) {
      scanning.ears().awaitMessage("orders", "between");
      assertThat(hearing.status().listening()).isTrue();
    }
  }

  @Test
  void h60_aTerminatedBackendIsNoticedAtOnceAndReplaced() throws Exception {
    try (var hearing = patientHearing("orders")) {
      var old = hearing.awaitFirstAttempt(Heard.BOUND).session().backendPid();
      database.backends().terminate(old);

      assertThat(witness.awaitDeaf(Hearings.NOTICED).kind()).isEqualTo(Kind.LOST);
      witness.awaitListening(2);
      database.execute("NOTIFY orders, 'again'");
      witness.ears().awaitMessage("orders", "again");
      assertThat(hearing.status().reconnects()).isEqualTo(1);
      assertThat(hearing.status().session().backendPid()).isNotEqualTo(old);
    }
  }

  @Test
  void h60_aFrozenBackendIsNoticedWithinHeartbeatAndEchoDeadlineAndReplaced() throws Exception {
    try (var hearing = hearing("orders")) {
      var frozen = hearing.awaitFirstAttempt(Heard.BOUND).session().backendPid();
      database.backends().sigstop(frozen);
      try {
        witness.awaitDeaf(Hearings.NOTICED);
        witness.awaitListening(2); // though the old one is still frozen
        database.execute("NOTIFY orders, 'again'");
        witness.ears().awaitMessage("orders", "again");
      } finally {
        database.backends().sigcont(frozen);
      }
    }
  }

  @Test
  void h60_aSilentNetworkIsNoticedWithinHeartbeatAndEchoDeadline() throws Exception {
    try (var hearing = hearingThroughProxy("orders")) {
      hearing.awaitFirstAttempt(Heard.BOUND);
      proxy.silence();

      witness.awaitDeaf(Hearings.NOTICED);
      assertThat(hearing.status().source()).isEqualTo("polling");

      proxy.pass();
      witness.awaitListening(2);
      proxy.cutAll(); // the old one's other end does not know yet
    }
  }

  @Test
  void h60_aConnectionCutWithAHeartbeatInFlightIsNoticedAndReplaced() throws Exception {
    try (var hearing = patientHearingThroughProxy("orders")) {
      hearing.awaitFirstAttempt(Heard.BOUND);
      proxy.cutAfterForwarding("NOTIFY").awaitSprung(Heard.BOUND);

      witness.awaitDeaf(Hearings.NOTICED);
      witness.awaitListening(2);
      assertThat(hearing.status().reconnects()).isEqualTo(1);
    }
  }

  @Test
  void h60_garbageCollectionDoesNotMakeItDeaf() throws Exception {
    try (var hearing = patientHearing("orders")) {
      var pid = hearing.awaitFirstAttempt(Heard.BOUND).session().backendPid();
      for (int round = 0; round < 5; round++) {
        System.gc();
        database.execute("NOTIFY orders, '" + round + "'");
        witness.ears().awaitMessage("orders", Integer.toString(round));
      }
      assertThat(hearing.status().session().backendPid()).isEqualTo(pid);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"UNLISTEN *", "DISCARD ALL"})
  void h62_aSessionThatWasMadeToUnlistenIsReplaced(String statement) throws Exception {
    try (var hearing = hearing("orders")) {
      hearing.awaitFirstAttempt(Heard.BOUND);
      run(statement);

      var deafness = witness.awaitDeaf(Hearings.NOTICED);
      assertThat(deafness.reason()).contains("fell silent").contains("UNLISTEN");
      witness.awaitListening(2);
      database.execute("NOTIFY orders, 'again'");
      witness.ears().awaitMessage("orders", "again");
    }
  }

  @Test
  void h31_forgedEchoesDoNotKeepADeafSessionAlive() throws Exception {
    var mute = new AtomicBoolean();
    var source = new DecoratedSource(source(), opened -> new MuteConnection(opened, mute));
    try (var hearing = Hearings.started(source, Addresses.of(database), witness, "orders")) {
      var pid = hearing.awaitFirstAttempt(Heard.BOUND).session().backendPid();
      await("the statement that names its own channel")
          .atMost(Heard.BOUND)
          .until(() -> selfChannel(pid) != null);
      var self = selfChannel(pid);
      mute.set(true); // its own heartbeats are lost from now on

      await("deaf in spite of the forged ones")
          .pollInterval(Duration.ofMillis(20))
          .atMost(Hearings.NOTICED)
          .until(
              () -> {
                database.execute("NOTIFY \"" + self + "\", 'forged'");
                return !witness.deafnesses().isEmpty();
              });
      mute.set(false);
      witness.awaitListening(2);
      assertThat(witness.ears().messages()).isEmpty();
    }
  }

  private String selfChannel(int pid) throws SQLException {
    return database.queryString(
        "SELECT substring(query FROM 'pgonce_self_[0-9a-f]+') FROM pg_stat_activity"
            + " WHERE pid = "
            + pid);
  }

  @Test
  void h31_aFloodOfWakeUpsNeitherBlocksNorMakesItDeaf() throws Exception {
    try (var hearing = patientHearing("flooded", "orders")) {
      hearing.awaitFirstAttempt(Heard.BOUND);
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

      witness.ears().awaitMessage("orders", "after the flood");
      assertThat(Duration.ofNanos(System.nanoTime() - begin)).isLessThan(Heard.BOUND);
      assertThat(witness.ears().payloads("flooded")).hasSize(2_000);
      assertThat(witness.deafnesses()).isEmpty();
    }
  }

  @Test
  void aSinkThatThrowsDoesNotEndHearing() {
    var clumsy =
        new Witness() {
          @Override
          public void heard(String channel, String payload) {
            super.heard(channel, payload);
            throw new IllegalStateException("on purpose");
          }

          @Override
          public void listening() {
            super.listening();
            throw new IllegalStateException("on purpose");
          }
        };
    try (var hearing =
        Hearings.startedPatiently(source(), Addresses.of(database), clumsy, "orders")) {
      clumsy.awaitListening(1);
      for (var payload : List.of("one", "two")) {
        clumsy.ears().heard("test", payload);
        try {
          database.execute("NOTIFY orders, '" + payload + "'");
        } catch (SQLException e) {
          throw new IllegalStateException(e);
        }
        clumsy.ears().awaitMessage("orders", payload);
      }
      assertThat(hearing.status().listening()).isTrue();
      assertThat(clumsy.deafnesses()).isEmpty();
    }
  }

  @Test
  void closingWhileItConnectsToNobodyIsPrompt() {
    proxy.silence();
    var hearing = patientHearingThroughProxy("orders");
    await().atMost(Heard.BOUND).until(() -> proxyIsReached());

    closesWithin(hearing, Duration.ofSeconds(1));
    proxy.cutAll();
    assertThat(hearing.status().deafness().kind()).isEqualTo(Kind.CLOSED);
  }

  private static boolean proxyIsReached() {
    return Thread.getAllStackTraces().keySet().stream()
        .anyMatch(thread -> thread.getName().equals("pgonce-call"));
  }

  @Test
  void closingWhileTheBackendIsFrozenIsPrompt() throws Exception {
    var hearing = hearing("orders");
    var pid = hearing.awaitFirstAttempt(Heard.BOUND).session().backendPid();
    database.backends().sigstop(pid);
    try {
      closesWithin(hearing, Duration.ofSeconds(2));
      Leaks.awaitNoThread();
    } finally {
      database.backends().sigcont(pid);
    }
  }

  @Test
  void closingTwiceAndStartingTwiceAreClear() throws Exception {
    var hearing = patientHearing("orders");
    hearing.awaitFirstAttempt(Heard.BOUND);
    assertThatIllegalStateException().isThrownBy(hearing::start);
    hearing.close();
    hearing.close();
    assertThatIllegalStateException().isThrownBy(hearing::start);
    assertThat(hearing.status().source()).isEqualTo("polling");
    assertThat(witness.deafnesses()).isEmpty();
  }

  @Test
  void h30_aNameThatPostgresWouldCutIsRefusedBeforeAnySql() {
    assertThatIllegalArgumentException()
        .isThrownBy(
            () ->
                new Hearing(
                    List.of(source()),
                    () -> AddressLookup.found(Addresses.of(database)),
                    Hearings.QUICK,
                    Set.of("x".repeat(64)),
                    witness));
  }

  @Test
  void closingBeforeStartingIsPossible() {
    var hearing =
        new Hearing(
            List.of(source()),
            () -> AddressLookup.found(Addresses.of(database)),
            Hearings.QUICK,
            Set.of("orders"),
            witness);
    hearing.close();
    assertThatIllegalStateException().isThrownBy(hearing::start);
  }

  private static void closesWithin(Hearing hearing, Duration bound) {
    var begin = System.nanoTime();
    hearing.close();
    assertThat(Duration.ofNanos(System.nanoTime() - begin)).isLessThan(bound.plus(Hearings.SLACK));
  }
}
