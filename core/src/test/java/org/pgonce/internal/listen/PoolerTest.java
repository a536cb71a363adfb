package org.pgonce.internal.listen;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.pgonce.internal.listen.ListenFailure.Kind;
import org.pgonce.spi.WakeUpSource;
import org.pgonce.testkit.PgBouncer;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** A listener with a real PgBouncer between; here with pgjdbc. */
@PgTest
class PoolerTest {

  private final Witness witness = new Witness();

  WakeUpSource source() {
    return new PgjdbcSource();
  }

  @AfterEach
  void leavesNoThread() {
    Leaks.awaitNoThread();
  }

  @Test
  void h61_aTransactionModePoolerIsToldByNameAndPollingGoesOn(TestDatabase database)
      throws Exception {
    try (var pooler = PgBouncer.start(database, "transaction");
        var listener =
            Listeners.started(source(), Addresses.of(pooler.login(database)), witness, "orders")) {
      var status = listener.awaitFirstAttempt(Received.BOUND);

      assertThat(status.source()).isEqualTo("polling");
      assertThat(status.failure().kind()).isEqualTo(Kind.POOLER);
      assertThat(status.failure().reason())
          .contains(
              "a transaction-mode pooler such as PgBouncer stands between; give the server's own"
                  + " address with listenAddress(...)");
      assertThat(witness.listenings()).isZero();
    }
  }

  @Test
  void h61_aSessionModePoolerIsListenedThrough(TestDatabase database) throws Exception {
    try (var pooler = PgBouncer.start(database, "session");
        var listener =
            Listeners.started(source(), Addresses.of(pooler.login(database)), witness, "orders")) {
      var status = listener.awaitFirstAttempt(Received.BOUND);
      assertThat(status.listening()).as("%s", status).isTrue();

      database.execute("NOTIFY orders, 'through'");
      witness.received().awaitMessage("orders", "through");
    }
  }
}
