package org.pgonce.internal.wakeup;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.pgonce.internal.wakeup.AddressLookup.Found;
import org.pgonce.internal.wakeup.AddressLookup.Unknown;
import org.pgonce.internal.wakeup.Deafness.Kind;
import org.pgonce.spi.ListenAddress;
import org.pgonce.spi.WakeUpSource;
import org.pgonce.testkit.FaultProxy;
import org.pgonce.testkit.Login;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** What the owner is told when no connection comes about: one clear message each. */
@PgTest
class HearingFailureTest {

  private static final List<WakeUpSource> BOTH = List.of(new PgjdbcNgSource(), new PgjdbcSource());

  private final Witness witness = new Witness();

  @AfterEach
  void leavesNoThread() {
    Leaks.awaitNoThread();
  }

  private Deafness firstDeafness(ListenAddress address) throws InterruptedException {
    return firstDeafness(AddressLookup.found(address), BOTH);
  }

  private Deafness firstDeafness(AddressLookup lookup, List<WakeUpSource> sources)
      throws InterruptedException {
    try (var hearing = Hearings.started(sources, lookup, witness, "orders")) {
      var status = hearing.awaitFirstAttempt(Heard.BOUND);
      assertThat(status.listening()).isFalse();
      assertThat(status.source()).isEqualTo("polling");
      return status.deafness();
    }
  }

  @Test
  void h64_aWrongPasswordIsSaidAtStart(TestDatabase database) throws Exception {
    var login = database.loginRole("listener");
    var wrong =
        new Login(login.host(), login.port(), login.database(), login.user(), "not-this-one");

    var deafness = firstDeafness(Addresses.of(wrong));

    assertThat(deafness.kind()).isEqualTo(Kind.REFUSED);
    assertThat(deafness.permanent()).isTrue();
    assertThat(deafness.reason())
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

    var deafness = firstDeafness(Addresses.of(missing));

    assertThat(deafness.permanent()).isTrue();
    assertThat(deafness.reason())
        .contains("there is no database \"no_such_database\"")
        .contains("3D000");
  }

  @Test
  void h64_aUserWithoutTheRightToConnectIsSaidAtStart(TestDatabase database) throws Exception {
    var login = database.loginRole("listener");
    database.execute("REVOKE CONNECT ON DATABASE " + database.name() + " FROM PUBLIC");

    var deafness = firstDeafness(Addresses.of(login));

    assertThat(deafness.permanent()).isTrue();
    assertThat(deafness.reason())
        .contains("may not connect to the database")
        .contains("grant connect on database");
  }

  @Test
  void h64_tooManyConnectionsIsSaidAndMendsItself(TestDatabase database) throws Exception {
    var login = database.loginRole("listener");
    database.execute("ALTER ROLE \"" + login.user() + "\" CONNECTION LIMIT 0");
    try (var hearing = Hearings.started(BOTH, found(login), witness, "orders")) {
      var deafness = hearing.awaitFirstAttempt(Heard.BOUND).deafness();

      assertThat(deafness.kind()).isEqualTo(Kind.FULL);
      assertThat(deafness.permanent()).isFalse();
      assertThat(deafness.reason()).contains("has no connection left").contains("53300");

      database.execute("ALTER ROLE \"" + login.user() + "\" CONNECTION LIMIT 5");
      witness.awaitListening(1);
    }
  }

  @Test
  void h64_nobodyThereIsSaidAndMendsItself(TestDatabase database) throws Exception {
    try (var proxy = FaultProxy.to(database)) {
      proxy.refuseConnections();
      try (var hearing =
          Hearings.started(BOTH, found(database.login().through(proxy)), witness, "orders")) {
        var deafness = hearing.awaitFirstAttempt(Heard.BOUND).deafness();

        assertThat(deafness.kind()).isEqualTo(Kind.UNREACHABLE);
        assertThat(deafness.reason()).contains("no connection came about").contains("08001");
        assertThat(hearing.status().failedSources()).isEmpty(); // it is nobody's fault

        proxy.pass();
        witness.awaitListening(1, Duration.ofSeconds(2).plus(Hearings.SLACK));
        assertThat(hearing.status().source()).isEqualTo("pgjdbc-ng");
      }
    }
  }

  @Test
  void h64_anUnknownHostIsSaid() throws Exception {
    var deafness =
        firstDeafness(
            new ListenAddress("no-such-host.invalid", 5432, "db", "user", null, Map.of()));

    assertThat(deafness.kind()).isEqualTo(Kind.UNREACHABLE);
    assertThat(deafness.reason()).contains("no-such-host.invalid is unknown");
  }

  @Test
  void h64_theSameReasonIsToldOnce(TestDatabase database) throws Exception {
    var login = database.login();
    var missing =
        new Login(login.host(), login.port(), "no_such_database", login.user(), login.password());
    var tries = new java.util.concurrent.atomic.AtomicInteger();
    AddressLookup lookup = found(missing);
    try (var hearing =
        new Hearing(
            BOTH,
            () -> {
              tries.incrementAndGet();
              return lookup;
            },
            Hearings.QUICK,
            Set.of("orders"),
            witness)) {
      hearing.start();
      org.awaitility.Awaitility.await().atMost(Heard.BOUND).until(() -> tries.get() >= 4);
    }
    assertThat(witness.deafnesses()).hasSize(1);
  }

  @Test
  void theNextAddressIsTriedWhenOneDoesNotAnswer(TestDatabase database) throws Exception {
    try (var proxy = FaultProxy.to(database)) {
      proxy.refuseConnections();
      var both = new Found(List.of(Addresses.through(proxy, database), Addresses.of(database)));
      try (var hearing = Hearings.started(BOTH, both, witness, "orders")) {
        var status = hearing.awaitFirstAttempt(Heard.BOUND);

        assertThat(status.session().address()).isEqualTo(Addresses.of(database));
      }
    }
  }

  @Test
  void aRotatedPasswordIsPickedUpAtTheNextConnect(TestDatabase database) throws Exception {
    var login = database.loginRole("listener");
    var password = new java.util.concurrent.atomic.AtomicReference<>("old");
    try (var hearing =
        new Hearing(
            BOTH,
            () ->
                found(
                    new Login(
                        login.host(),
                        login.port(),
                        login.database(),
                        login.user(),
                        password.get())),
            Hearings.QUICK,
            Set.of("orders"),
            witness)) {
      hearing.start();
      assertThat(hearing.awaitFirstAttempt(Heard.BOUND).deafness().permanent()).isTrue();

      password.set(login.password());
      witness.awaitListening(1);
    }
  }

  @Test
  void withoutAnAddressItPollsAndSaysWhy() throws Exception {
    try (var hearing =
        Hearings.started(BOTH, new Unknown("nobody knows where"), witness, "orders")) {
      var status = hearing.awaitFirstAttempt(Heard.BOUND);

      assertThat(status.source()).isEqualTo("polling");
      assertThat(status.deafness()).isEqualTo(new Deafness(Kind.POLLING, "nobody knows where"));
      Leaks.awaitNoThread(); // nothing to wait for
    }
    assertThat(witness.deafnesses()).hasSize(1);
    assertThat(witness.listenings()).isZero();
  }

  @Test
  void withoutASourceItPollsAndSaysWhy(TestDatabase database) throws Exception {
    var deafness = firstDeafness(AddressLookup.found(Addresses.of(database)), List.of());

    assertThat(deafness.kind()).isEqualTo(Kind.POLLING);
    assertThat(deafness.reason()).contains("no wake-up source");
  }

  @Test
  void anAddressThatCannotBeLookedUpIsTriedAgain(TestDatabase database) throws SQLException {
    var first = new java.util.concurrent.atomic.AtomicBoolean(true);
    try (var hearing =
        new Hearing(
            BOTH,
            () -> {
              if (first.getAndSet(false)) {
                throw new IllegalStateException("the secret store is down");
              }
              return AddressLookup.found(Addresses.of(database));
            },
            Hearings.QUICK,
            Set.of("orders"),
            witness)) {
      hearing.start();
      witness.awaitListening(1);
      assertThat(witness.deafnesses().get(0).reason()).contains("the secret store is down");
    }
  }

  private static AddressLookup found(Login login) {
    return AddressLookup.found(Addresses.of(login));
  }
}
