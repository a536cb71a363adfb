package org.pgonce.internal.listen;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.pgonce.spi.WakeUpSource;
import org.pgonce.testkit.PgBouncer;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** What is particular to pgjdbc behind a real PgBouncer. */
@PgTest
class PgjdbcPoolerTest {

  private static final WakeUpSource SOURCE = new PgjdbcSource();

  @AfterEach
  void leavesNoThread() {
    Leaks.awaitNoThread();
  }

  /**
   * The trap that a probe on one session falls into. pgjdbc-ng needs prepared statements before it
   * is connected, and this pooler mixes them up.
   */
  @Test
  void h61_theEchoOfItsOwnNotifyComesBackThroughATransactionModePooler(TestDatabase database)
      throws Exception {
    var received = new Received();
    var deadline = Duration.ofSeconds(5);
    try (var pooler = PgBouncer.start(database, "transaction");
        var connection =
            BoundedConnection.open(
                SOURCE, Addresses.of(pooler.login(database)), received, deadline)) {
      connection.listen(List.of("self"), deadline);
      connection.notify("self", "token", deadline);

      received.awaitMessage("self", "token");
      assertThat(connection.pooled()).isTrue();
    }
  }

  @Test
  void h61_noListenIsLeftOnAConnectionThatThePoolerLendsToOthers(TestDatabase database)
      throws Exception {
    try (var pooler = PgBouncer.start(database, "transaction")) {
      try (var listener =
          Listeners.started(
              SOURCE, Addresses.of(pooler.login(database)), new Witness(), "orders")) {
        listener.awaitFirstAttempt(Received.BOUND);
      }
      assertThatNobodyListensBehind(pooler, database);
    }
  }

  @Test
  void h61_unlistenIsRunThoughTheClosingThreadIsInterrupted(TestDatabase database)
      throws Exception {
    var deadline = Duration.ofSeconds(5);
    try (var pooler = PgBouncer.start(database, "transaction")) {
      var connection =
          BoundedConnection.open(
              SOURCE, Addresses.of(pooler.login(database)), new Received(), deadline);
      connection.listen(List.of("self"), deadline);
      Thread.currentThread().interrupt();
      connection.close();

      assertThat(Thread.interrupted()).isTrue();
      assertThatNobodyListensBehind(pooler, database);
    }
  }

  private static void assertThatNobodyListensBehind(PgBouncer pooler, TestDatabase database)
      throws Exception {
    try (var next = pooler.login(database).dataSource().getConnection();
        var statement = next.createStatement();
        var rows = statement.executeQuery("SELECT pg_listening_channels()")) {
      assertThat(rows.next()).isFalse();
    }
  }
}
