package org.pgonce.internal.wakeup;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.pgonce.internal.wakeup.Deafness.Kind;
import org.pgonce.spi.WakeUpSource;
import org.pgonce.testkit.TestDatabase;
import org.pgonce.testkit.TestServer;

/** What happens to hearing when the server itself is restarted, stuck or promoted. */
class HearingServerTest {

  private final Witness witness = new Witness();
  private TestServer server;
  private TestDatabase database;

  static Stream<WakeUpSource> sources() {
    return Stream.of(new PgjdbcNgSource(), new PgjdbcSource());
  }

  @BeforeEach
  void startServer() {
    server = TestServer.start(Map.of("synchronous_commit", "on"));
    database = server.createDatabase();
  }

  @AfterEach
  void leavesNothing() {
    try {
      Leaks.awaitNone(database);
    } finally {
      server.close();
    }
  }

  private Hearing hearing(WakeUpSource source, HearingConfig config) {
    var hearing =
        new Hearing(
            List.of(source),
            () -> AddressLookup.found(Addresses.of(database)),
            config,
            Set.of("orders"),
            witness);
    hearing.start();
    return hearing;
  }

  @ParameterizedTest
  @MethodSource("sources")
  void h70_hearsAgainWithinTwoSecondsOfTheServerBeingUp(WakeUpSource source) throws Exception {
    try (var hearing = hearing(source, HearingConfig.DEFAULTS)) { // the promise is the defaults'
      hearing.awaitFirstAttempt(Heard.BOUND);
      server.stopImmediately();
      // Not by the heartbeat: a closed connection is seen at once.
      witness.awaitDeaf(Duration.ofSeconds(1).plus(Hearings.SLACK));
      server.restart();

      witness.awaitListening(2, Duration.ofSeconds(2).plus(Hearings.SLACK));
      database.execute("NOTIFY orders, 'again'");
      witness.ears().awaitMessage("orders", "again");
      assertThat(hearing.status().reconnects()).isEqualTo(1);
    }
  }

  @ParameterizedTest
  @MethodSource("sources")
  void h60_aConnectionKilledWithAHeartbeatInFlightIsNoticedAndReplaced(WakeUpSource source)
      throws Exception {
    // Its own deadline shall not be over before the backend is ended.
    try (var hearing = hearing(source, Hearings.PATIENT)) {
      var pid = hearing.awaitFirstAttempt(Heard.BOUND).session().backendPid();
      var writer = writerThatHoldsTheNotifyLock();
      try {
        await("the heartbeat waits for the lock that a committing NOTIFY holds (PostgreSQL 14-18)")
            .pollInterval(Duration.ofMillis(1))
            .atMost(Heard.BOUND)
            .until(() -> waitsForALock(pid));
        database.backends().terminate(pid);

        assertThat(witness.awaitDeaf(Hearings.NOTICED).kind()).isEqualTo(Kind.LOST);
      } finally {
        standbyNames("''");
        writer.join();
      }
      witness.awaitListening(2);
      database.execute("NOTIFY orders, 'again'");
      witness.ears().awaitMessage("orders", "again");
    }
  }

  /** Its commit waits for a standby that does not exist, and others' NOTIFY waits for it. */
  private CompletableFuture<Void> writerThatHoldsTheNotifyLock() throws SQLException {
    database.execute("CREATE TABLE written (at timestamptz DEFAULT clock_timestamp())");
    standbyNames("'nobody'");
    while (true) {
      var writer = CompletableFuture.runAsync(this::writeAndNotify);
      await("a writer that has committed, or waits for the standby")
          .pollInterval(Duration.ofMillis(1))
          .atMost(Heard.BOUND)
          .until(() -> writer.isDone() || waitsForTheStandby());
      if (!writer.isDone()) {
        return writer;
      }
      writer.join(); // it came before the checkpointer had read the new name, which it does alone
    }
  }

  private void writeAndNotify() {
    try {
      database.execute("BEGIN; INSERT INTO written DEFAULT VALUES; NOTIFY x; COMMIT");
    } catch (SQLException e) {
      throw new IllegalStateException(e);
    }
  }

  private boolean waitsForTheStandby() throws SQLException {
    return database.queryLong("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
        > 0;
  }

  private void standbyNames(String names) throws SQLException {
    database.execute("ALTER SYSTEM SET synchronous_standby_names = " + names);
    database.execute("SELECT pg_reload_conf()");
  }

  private boolean waitsForALock(int pid) throws SQLException {
    return database.queryLong(
            "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND pid = " + pid)
        == 1;
  }

  @ParameterizedTest
  @MethodSource("sources")
  void h64_aStandbyIsToldApartAndHeardOnceItIsPromoted(WakeUpSource source) throws Exception {
    var data = Path.of(database.queryString("SHOW data_directory"));
    server.stopImmediately();
    Files.createFile(data.resolve("standby.signal"));
    server.restart();
    try (var hearing = hearing(source, Hearings.QUICK)) {
      var deafness = hearing.awaitFirstAttempt(Heard.BOUND).deafness();

      assertThat(deafness.kind()).isEqualTo(Kind.STANDBY);
      assertThat(deafness.permanent()).isFalse();
      assertThat(deafness.reason()).contains("a standby refuses LISTEN").contains("25006");
      assertThat(hearing.status().failedSources()).isEmpty();

      database.queryString("SELECT pg_promote()");
      witness.awaitListening(1);
      database.execute("NOTIFY orders, 'from the new primary'");
      witness.ears().awaitMessage("orders", "from the new primary");
    }
  }
}
