package org.pgonce.internal.listen;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.pgonce.WakeUpSources;
import org.pgonce.internal.listen.ListenFailure.Kind;
import org.pgonce.spi.ListenAddress;
import org.pgonce.spi.WakeUpSource;
import org.pgonce.testkit.FaultProxy;
import org.pgonce.testkit.Login;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** What the owner is told when no connection comes about: one clear message each. */
@PgTest
class ListenFailureTest {

  private static final List<WakeUpSource> ALL = WakeUpSources.DEFAULT;

  private final Witness witness = new Witness();

  @AfterEach
  void leavesNoThread() {
    Leaks.awaitNoThread();
  }

  private ListenFailure firstFailure(ListenAddress address) throws InterruptedException {
    return firstFailure(() -> List.of(address), ALL);
  }

  private ListenFailure firstFailure(ListenAddresses.Lookup lookup, List<WakeUpSource> sources)
      throws InterruptedException {
    try (var listener = Listeners.started(sources, lookup, witness, "orders")) {
      var status = listener.awaitFirstAttempt(Received.BOUND);
      assertThat(status.listening()).isFalse();
      assertThat(status.source()).isEqualTo("polling");
      return status.failure();
    }
  }

  @Test
  void h64_aWrongPasswordIsSaidAtStart(TestDatabase database) throws Exception {
    var login = database.loginRole("listener");
    var wrong =
        new Login(login.host(), login.port(), login.database(), login.user(), "not-this-one");

    var failure = firstFailure(Addresses.of(wrong));

    assertThat(failure.kind()).isEqualTo(Kind.REFUSED);
    assertThat(failure.reason())
        .contains("refused the password of user \"" + login.user() + "\"")
        .contains("28P01")
        .contains("listenAddress(...)")
        .doesNotContain("not-this-one");
  }

  @Test
  void h64_aDatabaseThatDoesNotExistIsSaidAtStart(TestDatabase database) throws Exception {
    var login = database.login();
    var missing =
        new Login(login.host(), login.port(), "no_such_database", login.user(), login.password());

    var failure = firstFailure(Addresses.of(missing));

    assertThat(failure.kind()).isEqualTo(Kind.REFUSED);
    assertThat(failure.reason())
        .contains("there is no database \"no_such_database\"")
        .contains("3D000");
  }

  @Test
  void h64_aUserWithoutTheRightToConnectIsSaidAtStart(TestDatabase database) throws Exception {
    var login = database.loginRole("listener");
    database.execute("REVOKE CONNECT ON DATABASE " + database.name() + " FROM PUBLIC");

    var failure = firstFailure(Addresses.of(login));

    assertThat(failure.kind()).isEqualTo(Kind.REFUSED);
    assertThat(failure.reason())
        .contains("may not connect to the database")
        .contains("grant connect on database");
  }

  @Test
  void h64_tooManyConnectionsIsSaidAndMendsItself(TestDatabase database) throws Exception {
    var login = database.loginRole("listener");
    database.execute("ALTER ROLE \"" + login.user() + "\" CONNECTION LIMIT 0");
    try (var listener = Listeners.started(ALL, found(login), witness, "orders")) {
      var failure = listener.awaitFirstAttempt(Received.BOUND).failure();

      assertThat(failure.kind()).isEqualTo(Kind.FAILED);
      assertThat(failure.reason()).contains("has no connection left").contains("53300");

      database.execute("ALTER ROLE \"" + login.user() + "\" CONNECTION LIMIT 5");
      witness.awaitListening(1);
    }
  }

  @Test
  void h64_nobodyThereIsSaidAndMendsItself(TestDatabase database) throws Exception {
    try (var proxy = FaultProxy.to(database)) {
      proxy.refuseConnections();
      try (var listener =
          Listeners.started(ALL, found(database.login().through(proxy)), witness, "orders")) {
        var failure = listener.awaitFirstAttempt(Received.BOUND).failure();

        assertThat(failure.kind()).isEqualTo(Kind.UNREACHABLE);
        assertThat(failure.reason()).contains("no connection came about").contains("08001");
        assertThat(listener.status().failedSources()).isEmpty(); // it is nobody's fault

        proxy.pass();
        witness.awaitListening(1, Duration.ofSeconds(2).plus(Listeners.SLACK));
        assertThat(listener.status().source()).isEqualTo(ALL.get(0).name());
      }
    }
  }

  @Test
  void h64_anUnknownHostIsSaid() throws Exception {
    var failure =
        firstFailure(new ListenAddress("no-such-host.invalid", 5432, "db", "user", null, Map.of()));

    assertThat(failure.kind()).isEqualTo(Kind.UNREACHABLE);
    assertThat(failure.reason()).contains("no-such-host.invalid");
  }

  @Test
  void h64_theSameReasonIsToldOnce(TestDatabase database) throws Exception {
    var login = database.login();
    var missing =
        new Login(login.host(), login.port(), "no_such_database", login.user(), login.password());
    var tries = new java.util.concurrent.atomic.AtomicInteger();
    try (var listener =
        new NotificationListener(
            ALL,
            () -> {
              tries.incrementAndGet();
              return List.of(Addresses.of(missing));
            },
            Listeners.QUICK,
            Set.of("orders"),
            witness)) {
      listener.start();
      org.awaitility.Awaitility.await().atMost(Received.BOUND).until(() -> tries.get() >= 4);
    }
    assertThat(witness.failures()).hasSize(1);
  }

  @Test
  void theNextAddressIsTriedWhenOneDoesNotAnswer(TestDatabase database) throws Exception {
    try (var proxy = FaultProxy.to(database)) {
      proxy.refuseConnections();
      var both = List.of(Addresses.through(proxy, database), Addresses.of(database));
      try (var listener = Listeners.started(ALL, () -> both, witness, "orders")) {
        var status = listener.awaitFirstAttempt(Received.BOUND);

        assertThat(status.session().address()).isEqualTo(Addresses.of(database));
      }
    }
  }

  @Test
  void aRotatedPasswordIsPickedUpAtTheNextConnect(TestDatabase database) throws Exception {
    var login = database.loginRole("listener");
    var password = new java.util.concurrent.atomic.AtomicReference<>("old");
    try (var listener =
        new NotificationListener(
            ALL,
            () ->
                found(
                        new Login(
                            login.host(),
                            login.port(),
                            login.database(),
                            login.user(),
                            password.get()))
                    .find(),
            Listeners.QUICK,
            Set.of("orders"),
            witness)) {
      listener.start();
      assertThat(listener.awaitFirstAttempt(Received.BOUND).failure().kind())
          .isEqualTo(Kind.REFUSED);

      password.set(login.password());
      witness.awaitListening(1);
    }
  }

  @Test
  void withoutAnAddressItPollsAndSaysWhy() throws Exception {
    try (var listener =
        Listeners.started(
            ALL,
            () -> {
              throw ListenFailure.polling("nobody knows where");
            },
            witness,
            "orders")) {
      var status = listener.awaitFirstAttempt(Received.BOUND);

      assertThat(status.source()).isEqualTo("polling");
      assertThat(status.failure().kind()).isEqualTo(Kind.POLLING);
      assertThat(status.failure().reason()).isEqualTo("nobody knows where");
      Leaks.awaitNoThread(); // nothing to wait for
    }
    assertThat(witness.failures()).hasSize(1);
    assertThat(witness.listenings()).isZero();
  }

  @Test
  void withoutASourceItPollsAndSaysWhy(TestDatabase database) throws Exception {
    var failure = firstFailure(() -> List.of(Addresses.of(database)), List.of());

    assertThat(failure.kind()).isEqualTo(Kind.POLLING);
    assertThat(failure.reason()).contains("no wake-up source");
  }

  /** The only one of its class that says nothing of the server's state. */
  @Test
  void h77_aStatementTimeoutIsNotTakenForAServerThatStarts(TestDatabase database)
      throws SQLException {
    var failure =
        ListenFailure.of(
            Addresses.of(database),
            new SQLException("canceling statement due to statement timeout", "57014"));
    assertThat(failure.kind()).isEqualTo(Kind.FAILED);
    assertThat(failure.reason())
        .contains("the server cancelled a statement; look at statement_timeout")
        .doesNotContain("starting up");
  }

  @Test
  void anAddressThatCannotBeLookedUpIsTriedAgain(TestDatabase database) throws SQLException {
    var first = new java.util.concurrent.atomic.AtomicBoolean(true);
    try (var listener =
        new NotificationListener(
            ALL,
            () -> {
              if (first.getAndSet(false)) {
                throw new IllegalStateException("the secret store is down");
              }
              return List.of(Addresses.of(database));
            },
            Listeners.QUICK,
            Set.of("orders"),
            witness)) {
      listener.start();
      witness.awaitListening(1);
      assertThat(witness.failures().get(0).reason()).contains("the secret store is down");
    }
  }

  private static ListenAddresses.Lookup found(Login login) {
    return () -> List.of(Addresses.of(login));
  }
}
