package org.pgonce.internal.wakeup;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
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

  static Stream<WakeUpSource> sources() {
    return Stream.of(new PgjdbcNgSource(), new PgjdbcSource());
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

  @ParameterizedTest
  @MethodSource("sources")
  void h69_theListenSessionOutlivesTheIdleTimeoutOfTheDatabase(
      WakeUpSource source, TestDatabase database) throws Exception {
    assertThatItStays(source, Addresses.of(database), database);
  }

  @Tag("all")
  @ParameterizedTest
  @MethodSource("sources")
  void h69_soDoesOneThroughASessionModePooler(WakeUpSource source, TestDatabase database)
      throws Exception {
    try (var pooler = PgBouncer.start(database, "session")) {
      assertThatItStays(source, Addresses.of(pooler.login(database)), database);
    }
  }

  /** With the default heartbeat: between two of them it rests for longer than it may. */
  private void assertThatItStays(WakeUpSource source, ListenAddress address, TestDatabase database)
      throws Exception {
    try (var hearing =
        new Hearing(
            List.of(source),
            () -> AddressLookup.found(address),
            HearingConfig.DEFAULTS,
            Set.of("orders"),
            witness)) {
      hearing.start();
      witness.awaitListening(1);
      var backend = hearing.status().session().backendPid();

      await("the same session")
          .during(IDLE.multipliedBy(3))
          .atMost(IDLE.multipliedBy(3).plus(Heard.BOUND))
          .failFast(() -> hearing.status().deafness() != null)
          .until(() -> hearing.status().session().backendPid() == backend);
      assertThat(hearing.status().reconnects()).isZero();
      assertThat(witness.deafnesses()).isEmpty();
      database.execute("NOTIFY orders, 'after a rest'");
      witness.ears().awaitMessage("orders", "after a rest");
    }
  }
}
