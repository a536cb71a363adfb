package org.pgonce.internal.listen;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.pgonce.internal.listen.Received.Message;
import org.pgonce.spi.WakeUpSource;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** What every wake-up source promises as long as nothing breaks; here that of pgjdbc. */
@PgTest
class SourceTest {

  static final Duration DEADLINE = Duration.ofSeconds(20);

  final Received received = new Received();
  TestDatabase database;

  WakeUpSource source() {
    return new PgjdbcSource();
  }

  @BeforeEach
  void takeDatabase(TestDatabase fresh) {
    database = fresh;
  }

  BoundedConnection open() throws SQLException {
    return BoundedConnection.open(source(), Addresses.of(database), received, DEADLINE);
  }

  BoundedConnection listening(String... channels) throws SQLException {
    var connection = open();
    connection.listen(List.of(channels), DEADLINE);
    return connection;
  }

  @Test
  void whatCommitsAfterListenReturnedArrives() throws SQLException {
    try (var connection = listening("orders")) {
      database.execute("NOTIFY orders, 'one'");

      received.awaitMessage("orders", "one");
      assertThat(connection.pooled()).isFalse();
    }
  }

  @Test
  void h1_whatIsRolledBackDoesNotArrive() throws SQLException {
    try (var connection = listening("orders")) {
      database.execute("BEGIN; NOTIFY orders, 'rolled back'; ROLLBACK");
      database.execute("NOTIFY orders, 'committed'");

      received.awaitMessage("orders", "committed");
      assertThat(received.payloads("orders")).containsExactly("committed");
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "plain", "it's \"quoted\" \\ and \\' ", "Žluťoučký 馬 🐎\n\t{x} ? $1"})
  void thePayloadComesAsItWasSent(String payload) throws SQLException {
    try (var connection = listening("orders")) {
      connection.notify("orders", payload, DEADLINE);

      received.awaitMessage("orders", payload);
    }
  }

  @Test
  void theLongestPayloadComesAndALongerOneIsRefused() throws SQLException {
    try (var connection = listening("orders")) {
      connection.notify("orders", "x".repeat(7_999), DEADLINE);

      received.awaitMessage("orders", "x".repeat(7_999));
      assertThatExceptionOfType(SQLException.class)
          .isThrownBy(() -> connection.notify("orders", "x".repeat(8_000), DEADLINE))
          .withMessageContaining("too long");
    }
  }

  @Test
  void messagesComeInTheOrderOfTheirCommits() throws SQLException {
    try (var connection = listening("orders")) {
      var sent = IntStream.range(0, 500).mapToObj(Integer::toString).toList();
      try (var writer = database.dataSource().getConnection();
          var statement = writer.createStatement()) {
        for (var payload : sent) {
          statement.execute("NOTIFY orders, '" + payload + "'");
        }
      }

      received.awaitMessage("orders", "499");
      assertThat(received.payloads("orders")).isEqualTo(sent);
    }
  }

  @Test
  void twoChannelsArriveAndNoThird() throws SQLException {
    try (var connection = listening("orders", "invoices")) {
      database.execute("NOTIFY others, 'c'; NOTIFY orders, 'a'; NOTIFY invoices, 'b'");

      received.awaitMessage("invoices", "b");
      assertThat(received.messages())
          .containsExactly(new Message("orders", "a"), new Message("invoices", "b"));
    }
  }

  @Test
  void aChannelCanBeAddedLater() throws SQLException {
    try (var connection = listening("orders")) {
      connection.listen(List.of("invoices"), DEADLINE);
      database.execute("NOTIFY orders, 'a'; NOTIFY invoices, 'b'");

      received.awaitMessage("orders", "a");
      received.awaitMessage("invoices", "b");
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "Mixed Case",
        "a\"b",
        "a;b--c",
        "/*x",
        "ž馬🐎",
        "{fn now()}",
        "a?b$1:c",
        "o'clock",
        "a.b*",
        "\\d+",
        "exactly_63_bytes_exactly_63_bytes_exactly_63_bytes_exactly_63_b"
      })
  void h30_aChannelNameIsTakenToTheLetter(String name) throws SQLException {
    var near = name.toLowerCase(java.util.Locale.ROOT).equals(name) ? "a.bb" : "mixed case";
    try (var connection = listening(name)) {
      connection.notify(near, "not this", DEADLINE);
      connection.notify(name, "this", DEADLINE);

      received.awaitMessage(name, "this");
      assertThat(received.messages()).containsExactly(new Message(name, "this"));
    }
  }

  @Test
  void aNotifyToItselfComesBack() throws SQLException {
    try (var connection = listening("self")) {
      connection.notify("self", "token", DEADLINE);

      received.awaitMessage("self", "token");
    }
  }

  @Test
  void showsInPgStatActivityAndNeverSitsInATransaction() throws SQLException {
    try (var connection = listening("orders")) {
      int pid = database.backends().awaitNamed("pgonce listen");

      assertThat(connection.backendPid()).isEqualTo(pid);
      assertThat(database.queryString("SELECT state FROM pg_stat_activity WHERE pid = " + pid))
          .isEqualTo("idle");
    }
  }

  @Test
  void aClosedConnectionLeavesNoBackendAndNoThread() throws SQLException {
    var connection = listening("orders");
    connection.close();
    connection.close();

    Leaks.awaitNone(database);
    assertThat(received.losses()).isEmpty();
    assertThatExceptionOfType(SQLException.class)
        .isThrownBy(() -> connection.notify("a", "b", DEADLINE));
  }
}
