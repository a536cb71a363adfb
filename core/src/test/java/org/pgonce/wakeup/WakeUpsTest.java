package org.pgonce.wakeup;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.Status;
import org.pgonce.WakeUps;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.stage.Stage.Order;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import org.pgonce.testkit.TestServer;
import org.postgresql.PGConnection;

/** Whether writers notify is what {@link WakeUps} says, which may be changed. */
@PgTest(PgOnceInstalled.class)
class WakeUpsTest {

  private TestDatabase database;
  private Stage stage;

  @BeforeEach
  void prepare(TestDatabase prepared) throws SQLException {
    database = prepared;
    stage = new Stage(prepared);
  }

  @AfterEach
  void close() {
    stage.close();
  }

  private static Channel<Order> channel(WakeUps wakeUps) {
    return Channel.of(
        "orders", Order.class, Mode.EXACTLY_ONCE, ChannelOptions.DEFAULT.withWakeUps(wakeUps));
  }

  private void install(WakeUps wakeUps) {
    PgOnce.using(stage.dataSource).install(channel(wakeUps));
  }

  private PgOnce listener(WakeUps wakeUps) {
    var pgonce = PgOnce.builder(stage.dataSource).stopTimeout(Duration.ofSeconds(2)).build();
    pgonce.listen(channel(wakeUps), Stage.QUICK, Stage::effect).start();
    return pgonce;
  }

  @ParameterizedTest
  @CsvSource({
    "GATED, 0, NOBODY LISTENS, 1, CLOSED",
    "ALWAYS, 1, ALWAYS CLOSED, 1, ALWAYS CLOSED",
    "NEVER, 0, NEVER NOTIFIED, 0, NEVER NOTIFIED"
  })
  void theyAreWhatTheChannelIsInstalledWith(
      WakeUps wakeUps, int before, String stateBefore, int afterwards, String stateAfterwards)
      throws Exception {
    database.execute("select pgonce.drop_channel('orders')");
    install(wakeUps);
    assertThat(List.of(wakeUps(), state())).containsExactly(before, stateBefore);
    stage.somebodyListens();
    assertThat(List.of(wakeUps(), state())).containsExactly(afterwards, stateAfterwards);
  }

  @ParameterizedTest
  @CsvSource({"GATED, ALWAYS, 1", "ALWAYS, NEVER, 0", "NEVER, GATED, 1"})
  void installedAnewTheyHoldWhenAListenerHasStarted(WakeUps before, WakeUps wakeUps, int expected)
      throws Exception {
    install(before);
    stage.somebodyListens();
    install(wakeUps);
    stage.somebodyListens();
    assertThat(wakeUps()).isEqualTo(expected);
  }

  @ParameterizedTest
  @CsvSource({"NEVER, NEVER NOTIFIED", "ALWAYS, ALWAYS CLOSED"})
  void installedAnewTheyHoldWhileAListenerRuns(WakeUps wakeUps, String state) throws Exception {
    try (var pgonce = listener(WakeUps.GATED)) {
      stage.awaitGateIsClosed();
      install(wakeUps);
      stage.awaitSoon(() -> state.equals(state()));
      var expected = wakeUps == WakeUps.NEVER ? 0 : 1;
      stage.awaitSoon(() -> wakeUps() == expected);
    }
  }

  @Test
  void theyAreNotWhatAnInstallationWantedThatWasRolledBack() throws Exception {
    stage.somebodyListens();
    try (var connection = stage.dataSource.getConnection();
        var statement = connection.createStatement()) {
      connection.setAutoCommit(false);
      statement.execute(
          "select pgonce.install_channel('orders', 'EXACTLY_ONCE', 'published', wake_ups => 'NEVER')");
      connection.rollback();
    }
    assertThat(wakeUps()).isEqualTo(1);
  }

  /** How many notifications a commit makes. */
  private int wakeUps() throws SQLException {
    try (var hearing = database.dataSource().getConnection();
        var statement = hearing.createStatement();
        var writer = stage.dataSource.getConnection()) {
      statement.execute("listen pgonce_orders");
      SingleWriters.store(writer, 1);
      return hearing.unwrap(PGConnection.class).getNotifications(100).length;
    }
  }

  private String state() throws SQLException {
    return String.valueOf(
        database.queryString(
            "select notify_gate from pgonce.channel_status where channel = 'orders'"));
  }

  @Test
  void theStateOfABroadcastsGateIsAlwaysClosed() throws Exception {
    PgOnce.using(stage.dataSource).install(Channel.of("news", Order.class, Mode.BROADCAST));
    assertThat(database.queryString("select pgonce.gate_state('news')")).isEqualTo("ALWAYS CLOSED");
  }

  @Tag("all")
  @Test
  void h11_whereNobodyIsNotifiedTransactionsCanBePrepared() throws Exception {
    try (var server = TestServer.start(Map.of("max_prepared_transactions", "2"));
        var own = server.createDatabase();
        var itsStage = new Stage(own);
        var writer = itsStage.dataSource.getConnection();
        var statement = writer.createStatement()) {
      stage.close();
      stage = itsStage;
      install(WakeUps.NEVER);
      writer.setAutoCommit(false);
      SingleWriters.store(writer, 1);
      statement.execute("prepare transaction 'one'");
      writer.setAutoCommit(true);
      try (var pgonce = listener(WakeUps.NEVER)) {
        statement.execute("commit prepared 'one'");
        stage.awaitSoon(() -> stage.effects() == 1);
        assertThat(pgonce.status().state()).isEqualTo(Status.State.RUNNING);
      }
    }
  }
}
