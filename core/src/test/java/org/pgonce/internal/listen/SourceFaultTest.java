package org.pgonce.internal.listen;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.awaitility.Awaitility.await;

import java.lang.ref.WeakReference;
import java.net.ServerSocket;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.spi.WakeUpSource;
import org.pgonce.testkit.FaultProxy;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** What every wake-up source promises when server, network or caller misbehave; here pgjdbc. */
@Tag("all")
@PgTest
class SourceFaultTest {

  // Longer than whatever is to come before it may take on a busy machine.
  private static final Duration DEADLINE = Duration.ofSeconds(30);
  private static final Duration SHORT = Duration.ofMillis(400);

  private final Received received = new Received();
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

  private BoundedConnection listening(String channel) throws SQLException {
    var connection = BoundedConnection.open(source(), Addresses.of(database), received, DEADLINE);
    connection.listen(List.of(channel), DEADLINE);
    return connection;
  }

  private BoundedConnection listeningThroughProxy(String channel) throws SQLException {
    var connection =
        BoundedConnection.open(source(), Addresses.through(proxy, database), received, DEADLINE);
    connection.listen(List.of(channel), DEADLINE);
    return connection;
  }

  @Test
  void h60_aTerminatedIdleConnectionSaysSo() throws SQLException {
    try (var connection = listening("orders")) {
      database.backends().terminate(connection.backendPid());

      await().atMost(DEADLINE).until(() -> !received.losses().isEmpty());
    }
  }

  @Test
  void h60_aConnectionKilledWithAStatementInFlightFailsThatStatement() throws Exception {
    try (var connection = listeningThroughProxy("orders")) {
      var trap = proxy.holdAnswerTo("NOTIFY");
      var statement =
          CompletableFuture.supplyAsync(
              () ->
                  catchThrowableOfType(
                      SQLException.class, () -> connection.notify("orders", "x", DEADLINE)));
      trap.awaitSprung(DEADLINE);
      database.backends().terminate(connection.backendPid());
      trap.release();

      // The held answer comes first, so the statement may also have succeeded just before the end.
      var failure = statement.get(DEADLINE.toMillis(), TimeUnit.MILLISECONDS);
      if (failure == null) {
        await().atMost(DEADLINE).until(() -> !received.losses().isEmpty());
      }
    }
  }

  @Test
  void h60_aFrozenBackendEndsAStatementAtItsDeadlineAndDoesNotHoldUpClose() throws SQLException {
    var connection = listening("orders");
    int pid = connection.backendPid();
    database.backends().sigstop(pid);
    try {
      var failure = failsWithin(SHORT, () -> connection.notify("orders", "x", SHORT));
      assertThat(failure.getSQLState()).startsWith("08");

      closesWithin(connection);
    } finally {
      database.backends().sigcont(pid);
    }
  }

  @Test
  void h60_aSilentNetworkEndsAStatementAtItsDeadlineAndDoesNotHoldUpClose() throws SQLException {
    var connection = listeningThroughProxy("orders");
    proxy.silence();

    failsWithin(SHORT, () -> connection.notify("orders", "x", SHORT));
    closesWithin(connection);
  }

  @Test
  void h60_aStalledNetworkDoesNotHoldUpClose() throws SQLException {
    var connection = listeningThroughProxy("orders");
    proxy.stall();
    closesWithin(connection);
    proxy.pass();
  }

  @Test
  void h60_aConnectionThatOnlyItsHolderKnowsIsNotCollected() throws SQLException {
    try (var connection = listening("orders")) {
      for (int round = 0; round < 5; round++) {
        collectGarbage();
        database.execute("NOTIFY orders, '" + round + "'");
        received.awaitMessage("orders", Integer.toString(round));
      }
      assertThat(database.backends().named("pgonce listen"))
          .containsExactly(connection.backendPid());
    }
  }

  private static void collectGarbage() {
    var garbage = new WeakReference<>(new byte[1 << 20]);
    await()
        .atMost(DEADLINE)
        .until(
            () -> {
              System.gc();
              return garbage.get() == null;
            });
  }

  @Test
  void h64_nobodyThereIsSaidAtOnce() {
    proxy.refuseConnections();

    var failure =
        failsWithin(
            Duration.ofSeconds(1),
            () ->
                BoundedConnection.open(
                    source(), Addresses.through(proxy, database), received, DEADLINE));
    assertThat(failure.getSQLState()).isEqualTo("08001");
  }

  @Test
  void h64_connectingToAPeerThatNeverAnswersEndsAtItsDeadline() {
    proxy.silence();

    var failure =
        failsWithin(
            SHORT,
            () ->
                BoundedConnection.open(
                    source(), Addresses.through(proxy, database), received, SHORT));
    assertThat(failure.getSQLState()).isEqualTo("08001");
    proxy.cutAll(); // lets the abandoned attempt end
  }

  @Test
  void h64_connectingToAPortThatNobodyAcceptsEndsAtItsDeadline() throws Exception {
    // A full backlog: the kernel answers no further SYN.
    try (var mute = new ServerSocket(0, 1, java.net.InetAddress.getLoopbackAddress())) {
      var address =
          new org.pgonce.spi.ListenAddress(
              mute.getInetAddress().getHostAddress(),
              mute.getLocalPort(),
              "none",
              "nobody",
              null,
              java.util.Map.of());
      failsWithin(SHORT, () -> BoundedConnection.open(source(), address, received, SHORT));
    }
  }

  @Test
  void aConnectionThatComesUpAfterTheDeadlineIsClosed() throws Exception {
    var deadline = Duration.ofSeconds(3);
    var greeting = proxy.holdAnswerTo("pg_backend_pid()");

    var opening =
        CompletableFuture.supplyAsync(
            () ->
                failsWithin(
                    deadline,
                    () ->
                        BoundedConnection.open(
                            source(), Addresses.through(proxy, database), received, deadline)));
    database.backends().awaitNamed("pgonce listen");
    assertThat((Throwable) opening.get(DEADLINE.toSeconds(), TimeUnit.SECONDS)).isNotNull();
    greeting.release(); // nobody waits for it any more
    Leaks.awaitNone(database);
  }

  @Test
  void closingEndsAStatementInFlight() throws Exception {
    var connection = listening("orders");
    int pid = connection.backendPid();
    database.backends().sigstop(pid);
    try {
      var begun = new CountDownLatch(1);
      var statement =
          CompletableFuture.supplyAsync(
              () -> {
                begun.countDown();
                return catchThrowableOfType(
                    SQLException.class, () -> connection.notify("orders", "x", DEADLINE));
              });
      begun.await();
      closesWithin(connection);
      assertThat((Throwable) statement.get(10, TimeUnit.SECONDS)).isNotNull();
    } finally {
      database.backends().sigcont(pid);
    }
  }

  @Test
  void anInterruptEndsConnectingAtOnce() throws Exception {
    proxy.silence();
    var ended = new CompletableFuture<Boolean>();
    var thread =
        new Thread(
            () -> {
              var failure =
                  catchThrowableOfType(
                      SQLException.class,
                      () ->
                          BoundedConnection.open(
                              source(), Addresses.through(proxy, database), received, DEADLINE));
              ended.complete(failure != null && Thread.currentThread().isInterrupted());
            });
    thread.start();
    thread.interrupt();

    assertThat(ended.get(10, TimeUnit.SECONDS)).isTrue();
    proxy.cutAll();
  }

  @Test
  void h65_aTricklingNetworkIsSlowButRight() throws SQLException {
    try (var connection = listeningThroughProxy("orders")) {
      proxy.trickle();
      connection.notify("orders", "one byte at a time", DEADLINE);

      received.awaitMessage("orders", "one byte at a time");
    }
  }

  private static SQLException failsWithin(
      Duration bound, org.assertj.core.api.ThrowableAssert.ThrowingCallable call) {
    var begin = System.nanoTime();
    var failure = catchThrowableOfType(SQLException.class, call);
    var took = Duration.ofNanos(System.nanoTime() - begin);
    assertThat((Throwable) failure).isNotNull();
    assertThat(took).isLessThan(bound.plus(Listeners.SLACK));
    return failure;
  }

  private static void closesWithin(BoundedConnection connection) {
    var begin = System.nanoTime();
    connection.close();
    assertThat(Duration.ofNanos(System.nanoTime() - begin))
        .isLessThan(Duration.ofSeconds(1).plus(Listeners.SLACK));
  }
}
