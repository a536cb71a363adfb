package org.pgonce.internal.listen;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.spi.ListenAddress;
import org.pgonce.spi.WakeUpSource;
import org.pgonce.testkit.PgBouncer;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** The database ends sessions that rest, and a LISTEN session rests. */
@PgTest
class IdleSessionTest {

  private static final Duration IDLE = Duration.ofSeconds(2);

  private final Witness witness = new Witness();

  WakeUpSource source() {
    return new PgjdbcSource();
  }

  @BeforeEach
  void endSessionsThatRest(TestDatabase database) throws SQLException {
    database.execute(
        "ALTER DATABASE %s SET idle_session_timeout = %d"
            .formatted(database.name(), IDLE.toMillis()));
  }

  @AfterEach
  void leavesNoThread() {
    Leaks.awaitNoThread();
  }

  @Test
  @Tag("all")
  void h69_theListenSessionOutlivesTheIdleTimeoutOfTheDatabase(TestDatabase database)
      throws Exception {
    assertThatItStays(Addresses.of(database), database);
  }

  @Tag("all")
  @Test
  void h69_soDoesOneThroughASessionModePooler(TestDatabase database) throws Exception {
    try (var pooler = PgBouncer.start(database, "session")) {
      assertThatItStays(Addresses.of(pooler.login(database)), database);
    }
  }

  /** With the default heartbeat: between two of them it rests for longer than it may. */
  private void assertThatItStays(ListenAddress address, TestDatabase database) throws Exception {
    try (var listener =
        new NotificationListener(
            List.of(source()),
            () -> List.of(address),
            ListenConfig.DEFAULTS,
            Set.of("orders"),
            witness)) {
      listener.start();
      witness.awaitListening(1);
      var backend = listener.status().session().backendPid();

      await("the same session")
          .during(IDLE.multipliedBy(3))
          .atMost(IDLE.multipliedBy(3).plus(Received.BOUND))
          .failFast(() -> listener.status().failure() != null)
          .until(() -> listener.status().session().backendPid() == backend);
      assertThat(listener.status().reconnects()).isZero();
      assertThat(witness.failures()).isEmpty();
      database.execute("NOTIFY orders, 'after a rest'");
      witness.received().awaitMessage("orders", "after a rest");
    }
  }
}
