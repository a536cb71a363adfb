package org.pgonce.internal.listen;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.internal.jdbc.Statements;
import org.pgonce.internal.jdbc.Transactions;
import org.pgonce.internal.listen.ListenFailure.Kind;
import org.pgonce.spi.WakeUpSource;
import org.pgonce.testkit.TappedSource;
import org.pgonce.testkit.TestDatabase;
import org.pgonce.testkit.TestServer;

/** What happens to a listener when the server itself is restarted, stuck or promoted. */
@Tag("all")
class ServerRestartTest {

  private static final String INSERT = "INSERT INTO item VALUES (1)";

  private final Witness witness = new Witness();
  private TestServer server;
  private TestDatabase database;

  WakeUpSource source() {
    return new PgjdbcSource();
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

  private NotificationListener listener(ListenConfig config) {
    var listener =
        new NotificationListener(
            List.of(source()),
            () -> List.of(Addresses.of(database)),
            config,
            Set.of("orders"),
            witness);
    listener.start();
    return listener;
  }

  @Test
  void h70_listensAgainWithinTwoSecondsOfTheServerBeingUp() throws Exception {
    try (var listener = listener(ListenConfig.DEFAULTS)) { // the promise is the defaults'
      listener.awaitFirstAttempt(Received.BOUND);
      server.stopImmediately();
      // Not by the heartbeat: a closed connection is seen at once.
      witness.awaitDisconnected(Duration.ofSeconds(1).plus(Listeners.SLACK));
      server.restart();

      witness.awaitListening(2, Duration.ofSeconds(2).plus(Listeners.SLACK));
      database.execute("NOTIFY orders, 'again'");
      witness.received().awaitMessage("orders", "again");
      assertThat(listener.status().reconnects()).isEqualTo(1);
    }
  }

  @Test
  void h60_aConnectionKilledWithAHeartbeatInFlightIsNoticedAndReplaced() throws Exception {
    // Its own deadline shall not be over before the backend is ended.
    try (var listener = listener(Listeners.PATIENT)) {
      var pid = listener.awaitFirstAttempt(Received.BOUND).session().backendPid();
      var writer = writerThatHoldsTheNotifyLock();
      try {
        await("the heartbeat waits for the lock that a committing NOTIFY holds (PostgreSQL 14-18)")
            .pollInterval(Duration.ofMillis(1))
            .atMost(Received.BOUND)
            .until(() -> waitsForALock(pid));
        database.backends().terminate(pid);

        assertThat(witness.awaitDisconnected(Listeners.NOTICED).kind()).isEqualTo(Kind.UNREACHABLE);
      } finally {
        standbyNames("''");
        writer.join();
      }
      witness.awaitListening(2);
      database.execute("NOTIFY orders, 'again'");
      witness.received().awaitMessage("orders", "again");
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
          .atMost(Received.BOUND)
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

  @Test
  void h64_aStandbyIsToldApartAndListenedToOnceItIsPromoted() throws Exception {
    becomeStandby();
    try (var listener = listener(Listeners.QUICK)) {
      var failure = listener.awaitFirstAttempt(Received.BOUND).failure();

      assertThat(failure.kind()).isEqualTo(Kind.FAILED);
      assertThat(failure.reason()).contains("a standby refuses LISTEN").contains("25006");
      assertThat(listener.status().failedSources()).isEmpty();

      database.queryString("SELECT pg_promote()");
      witness.awaitListening(1);
      database.execute("NOTIFY orders, 'from the new primary'");
      witness.received().awaitMessage("orders", "from the new primary");
    }
  }

  @Test
  void h64_aTransactionOnAStandbySaysSoAndIsAsItWasOnceItIsPromoted() throws Exception {
    database.execute("CREATE TABLE item (id int)");
    becomeStandby();
    var sent = new CopyOnWriteArrayList<String>();
    var source =
        TappedSource.over(
            database.dataSource(),
            (sql, real) -> {
              sent.add(sql);
              return sql;
            });
    var transactions = new Transactions(source, Received.BOUND);

    for (int attempt = 0; attempt < 2; attempt++) {
      assertThatThrownBy(() -> insert(transactions))
          .hasMessageContainingAll("the server is a standby", "targetServerType=primary");
    }
    database.queryString("SELECT pg_promote()");
    sent.clear();
    insert(transactions);

    assertThat(sent).as("no round trip more than before").containsExactly(INSERT, "COMMIT");
    assertThat(database.queryLong("SELECT count(*) FROM item")).isEqualTo(1);
  }

  private static void insert(Transactions transactions) throws SQLException {
    transactions.run(
        transaction -> {
          Statements.execute(transaction, INSERT);
          return true;
        });
  }

  private void becomeStandby() throws Exception {
    var data = Path.of(database.queryString("SHOW data_directory"));
    server.stopImmediately();
    Files.createFile(data.resolve("standby.signal"));
    server.restart();
  }
}
