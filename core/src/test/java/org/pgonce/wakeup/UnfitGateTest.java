package org.pgonce.wakeup;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.SQLException;
import java.time.Instant;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.pgonce.stage.ListenerProcess;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** A gate that is missing, or says what is not so, is mended behind the next poll. */
@PgTest(PgOnceInstalled.class)
class UnfitGateTest {

  private static final long CLOSED = 0;
  private static final long NOBODY_LISTENS = Long.MAX_VALUE - 1;
  private static final long NEVER = Long.MAX_VALUE;

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

  private long gate() throws SQLException {
    return database.queryLong("select pg_sequence_last_value(pgonce.gate_of('orders'))");
  }

  private void setGate(long value) throws SQLException {
    database.execute("select setval('pgonce.gate_orders', %d)".formatted(value));
  }

  @Test
  void h72_withoutItsGateAChannelWorks() throws Exception {
    database.execute("drop sequence pgonce.gate_orders");
    stage.publish(100);
    try (var pgonce = ListenerProcess.listen(stage.dataSource)) {
      stage.awaitSoon(() -> stage.effects() == 100);
      stage.publish(100);
      stage.awaitSoon(() -> stage.effects() == 200);
    }
  }

  /** The gate was open when the clock was set back by an hour, and its process died. */
  @Test
  void h80_aGateOfAFarFutureIsClosed() throws Exception {
    try (var pgonce = ListenerProcess.listen(stage.dataSource)) {
      stage.awaitGateIsClosed();
      setGate(1_000_000 * Instant.now().plusSeconds(3600).getEpochSecond());
      stage.publish(1); // which notifies nobody
      stage.awaitSoon(() -> stage.effects() == 1);
      stage.awaitGateIsClosed();
    }
  }

  @Test
  void h72_withoutItsGateAChannelIsGivenOneWhenItsDatabaseIsAdopted() throws Exception {
    database.execute("drop sequence pgonce.gate_orders");
    database.execute("select pgonce.adopt('the data of another')");
    assertThat(gate()).isEqualTo(CLOSED);
  }

  @Test
  void s3_whereNobodyIsSaidToListenAListenerKnowsBetter() throws Exception {
    try (var pgonce = ListenerProcess.listen(stage.dataSource)) {
      stage.awaitGateIsClosed();
      setGate(NOBODY_LISTENS);
      stage.publish(1); // which notifies nobody
      stage.awaitSoon(() -> stage.effects() == 1);
      stage.awaitGateIsClosed();
    }
  }

  @Test
  void whereWritersAreSaidNeverToNotifyAListenerKnowsBetter() throws Exception {
    try (var pgonce = ListenerProcess.listen(stage.dataSource)) {
      stage.awaitGateIsClosed();
      setGate(NEVER);
      stage.awaitGateIsClosed();
    }
  }

  /** The one that stops does not see the other on the registry, which has not committed yet. */
  @Test
  void s3_whoStopsWhileAnotherStartsIsCorrectedByItsPoll() throws Exception {
    var stops = UUID.randomUUID();
    var starts = UUID.randomUUID();
    try (var starting = stage.dataSource.getConnection();
        var start = starting.createStatement()) {
      database.execute(listenerStarts(stops));
      starting.setAutoCommit(false);
      start.execute(listenerStarts(starts));
      database.execute("select pgonce.listener_stops('%s')".formatted(stops));
      assertThat(gate()).isEqualTo(NOBODY_LISTENS);
      starting.commit();
    }
    assertThat(isUnfitToThePollOf(starts)).isTrue();
    database.execute("select pgonce.keep_house('gates of channels', '%s')".formatted(starts));
    assertThat(gate()).isEqualTo(CLOSED);
    assertThat(isUnfitToThePollOf(starts)).isFalse();
  }

  private boolean isUnfitToThePollOf(UUID listener) throws SQLException {
    return "t"
        .equals(
            database.queryString(
                "select p.gate_unfit from pgonce.poll('%s') p".formatted(listener)));
  }

  private static String listenerStarts(UUID id) {
    return "select pgonce.listener_starts('%s', 'test', (select array_agg(s.id) from pgonce.subscription s), 'test', 60000)"
        .formatted(id);
  }
}
