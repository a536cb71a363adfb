package org.pgonce.internal.wakeup;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.pgonce.internal.wakeup.Deafness.Kind;
import org.pgonce.spi.WakeUpSource;
import org.pgonce.testkit.PgBouncer;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** Hearing with a real PgBouncer between. */
@PgTest
class PoolerTest {

  private final Witness witness = new Witness();

  static Stream<WakeUpSource> sources() {
    return Stream.of(new PgjdbcNgSource(), new PgjdbcSource());
  }

  @AfterEach
  void leavesNoThread() {
    Leaks.awaitNoThread();
  }

  @ParameterizedTest
  @MethodSource("sources")
  void h61_aTransactionModePoolerIsToldByNameAndPollingGoesOn(
      WakeUpSource source, TestDatabase database) throws Exception {
    try (var pooler = PgBouncer.start(database, "transaction");
        var hearing =
            Hearings.started(source, Addresses.of(pooler.login(database)), witness, "orders")) {
      var status = hearing.awaitFirstAttempt(Heard.BOUND);

      assertThat(status.source()).isEqualTo("polling");
      assertThat(status.deafness().kind()).isEqualTo(Kind.POOLER);
      assertThat(status.deafness().permanent()).isFalse();
      assertThat(status.deafness().reason())
          .contains(
              "a transaction-mode pooler such as PgBouncer stands between; give the server's own"
                  + " address with listenAddress(...)");
      assertThat(witness.listenings()).isZero();
    }
  }

  /**
   * The trap that a probe on one session falls into. With pgjdbc alone: pgjdbc-ng needs prepared
   * statements before it is connected, and this pooler mixes them up.
   */
  @Test
  void h61_theEchoOfItsOwnNotifyComesBackThroughATransactionModePooler(TestDatabase database)
      throws Exception {
    var heard = new Heard();
    var deadline = Duration.ofSeconds(5);
    try (var pooler = PgBouncer.start(database, "transaction");
        var connection =
            new PgjdbcSource().open(Addresses.of(pooler.login(database)), heard, deadline)) {
      connection.listen(List.of("self"), deadline);
      connection.notify("self", "token", deadline);

      heard.awaitMessage("self", "token");
      assertThat(connection.pooled()).isTrue();
    }
  }

  @ParameterizedTest
  @MethodSource("sources")
  void h61_aSessionModePoolerIsHeardThrough(WakeUpSource source, TestDatabase database)
      throws Exception {
    try (var pooler = PgBouncer.start(database, "session");
        var hearing =
            Hearings.started(source, Addresses.of(pooler.login(database)), witness, "orders")) {
      var status = hearing.awaitFirstAttempt(Heard.BOUND);
      assertThat(status.listening()).as("%s", status).isTrue();

      database.execute("NOTIFY orders, 'through'");
      witness.ears().awaitMessage("orders", "through");
    }
  }

  @Test
  void h61_thePoolerIsTheReasonThoughPgjdbcNgCannotEvenConnectToIt(TestDatabase database)
      throws Exception {
    try (var pooler = PgBouncer.start(database, "transaction");
        var hearing =
            Hearings.started(
                List.of(new PgjdbcNgSource(), new PgjdbcSource()),
                AddressLookup.found(Addresses.of(pooler.login(database))),
                witness,
                "orders")) {
      var status = hearing.awaitFirstAttempt(Heard.BOUND);

      assertThat(status.deafness().kind()).isEqualTo(Kind.POOLER);
      assertThat(status.deafness().reason()).contains("LISTEN is accepted but nothing is heard");
      assertThat(status.failedSources()).containsOnlyKeys("pgjdbc-ng");
    }
  }

  @Test
  void h61_noListenIsLeftOnAConnectionThatThePoolerLendsToOthers(TestDatabase database)
      throws Exception {
    try (var pooler = PgBouncer.start(database, "transaction")) {
      try (var hearing =
          Hearings.started(
              new PgjdbcSource(), Addresses.of(pooler.login(database)), witness, "orders")) {
        hearing.awaitFirstAttempt(Heard.BOUND);
      }
      try (var next = pooler.login(database).dataSource().getConnection();
          var statement = next.createStatement();
          var rows = statement.executeQuery("SELECT pg_listening_channels()")) {
        assertThat(rows.next()).isFalse();
      }
    }
  }
}
