package org.pgonce.wakeup;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.SQLException;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.Executors;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.PgOnce;
import org.pgonce.stage.ListenerProcess;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import org.postgresql.PGConnection;

/**
 * Writers leave NOTIFY out while a listener has the notify gate open, and while nobody listens. See
 * {@code sql/gate.sql}.
 */
@PgTest(PgOnceInstalled.class)
class NotifyGateTest {

  private static final int MANY = 3_000;
  private static final long CLOSED = 0;
  private static final String ALL =
      "(select array_agg(s.id order by s.id) from pgonce.subscription s where s.of_channel = 'orders')";

  private Stage stage;
  private TestDatabase database;

  @BeforeEach
  void prepare(TestDatabase prepared) throws SQLException {
    database = prepared;
    stage = new Stage(prepared);
  }

  @AfterEach
  void close() {
    stage.close();
  }

  private PgOnce listener() {
    return ListenerProcess.listen(stage.dataSource);
  }

  private long gate() throws SQLException {
    return database.queryLong("select pg_sequence_last_value(pgonce.gate_of('orders'))");
  }

  private @Nullable String state() throws SQLException {
    return database.queryString(
        "select notify_gate from pgonce.channel_status where channel = 'orders'");
  }

  private void awaitState(String state) {
    stage.awaitSoon(() -> state.equals(state()));
  }

  private void assertEachOnce(long published) throws SQLException {
    stage.awaitSoon(() -> stage.effects() >= published);
    stage.awaitNothingWaits();
    assertThat(stage.eachOnce((int) published)).isTrue();
  }

  @Test
  void whileTheGateIsOpenWritersDoNotNotify() throws Exception {
    try (var pgonce = listener();
        var hearing = database.dataSource().getConnection();
        var statement = hearing.createStatement();
        var writers = new SingleWriters(stage.dataSource, 8)) {
      awaitState("OPEN");
      statement.execute("listen pgonce_orders");
      var before = writers.published();
      stage.awaitSoon(() -> writers.published() > before + MANY);
      var after = writers.published();
      // Some, where the listener does not get to renew it in time.
      assertThat(hearing.unwrap(PGConnection.class).getNotifications(1))
          .as("notifications of %s commits", after - before)
          .hasSizeLessThan(MANY / 2);
      assertEachOnce(writers.stop());
      awaitState("CLOSED");
    }
    assertThat(state()).isEqualTo("NOBODY LISTENS");
  }

  @Test
  void aListenerThatStopsClosesItsGate() throws Exception {
    // The other one does not answer wake-ups, and so does not open it.
    database.execute(
        "select pgonce.listener_starts(gen_random_uuid(), 'other', %s, 'polling', 60000)"
            .formatted(ALL));
    try (var pgonce = listener();
        var writers = new SingleWriters(stage.dataSource, 8)) {
      awaitState("OPEN");
      pgonce.close();
      assertThat(gate()).isEqualTo(CLOSED);
    }
  }

  @Test
  void nobodyIsNotifiedWhileNobodyListens() throws Exception {
    try (var hearing = database.dataSource().getConnection();
        var statement = hearing.createStatement();
        var writer = stage.dataSource.getConnection()) {
      assertThat(state()).isEqualTo("NOBODY LISTENS");
      statement.execute("listen pgonce_orders");
      SingleWriters.store(writer, 1);
      assertThat(hearing.unwrap(PGConnection.class).getNotifications(100)).isEmpty();

      // What began before the first listener started, and commits after its first poll.
      writer.setAutoCommit(false);
      SingleWriters.store(writer, 2);
      try (var pgonce = listener()) {
        stage.awaitSoon(() -> stage.effects() == 1);
        writer.commit();
        assertEachOnce(2);
        assertThat(hearing.unwrap(PGConnection.class).getNotifications(1)).isEmpty();
        SingleWriters.store(writer, 3);
        writer.commit();
        assertEachOnce(3);
        assertThat(hearing.unwrap(PGConnection.class).getNotifications(100)).hasSize(1);
      }
      assertThat(state()).isEqualTo("NOBODY LISTENS");
    }
  }

  @Test
  void h49_aGateThatNobodyRenewsClosesByItself() throws Exception {
    try (var pgonce = listener()) {
      awaitState("CLOSED");
      assertThat(open()).isGreaterThan(1);
      assertThat(state()).isEqualTo("OPEN");
      awaitState("CLOSED");
    }
  }

  @Tag("all")
  @Test
  void ofTwoThatOpenAtOnceOneRenews() throws Exception {
    stage.somebodyListens();
    var both = new CyclicBarrier(2);
    var executor = Executors.newFixedThreadPool(2);
    Callable<Long> opens =
        () -> {
          both.await();
          return open();
        };
    var races = 0;
    for (var round = 0; round < 100; round++) {
      database.execute("select setval(pgonce.gate_of('orders'), 0)");
      var first = executor.submit(opens);
      var second = executor.submit(opens);
      races += first.get() > 0 && second.get() > 0 ? 1 : 0;
      var renewed = (renew(first.get()) == null ? 0 : 1) + (renew(second.get()) == null ? 0 : 1);
      assertThat(renewed).isEqualTo(1);
    }
    executor.shutdown();
    System.out.println("both opened the gate in " + races + " of 100 rounds");
  }

  @Test
  void whatAnotherHasOpenedIsNeitherRenewedNorClosed() throws Exception {
    stage.somebodyListens();
    var former = open();
    assertThat(open()).as("it is open").isZero();
    database.execute("select setval(pgonce.gate_of('orders'), 0)");
    var mine = open();
    assertThat(renew(former)).isNull();
    database.execute("select pgonce.close_gate('orders', %d)".formatted(former));
    assertThat(gate()).isEqualTo(mine);
    assertThat(Long.parseLong(String.valueOf(renew(mine)))).isGreaterThan(mine);
  }

  @Test
  void aListenerOfSomeSubscriptionsDoesNotOpenTheGate() throws Exception {
    stage.somebodyListens();
    assertThat(database.queryString("select pgonce.open_gate('orders', '{}')")).isNull();
    assertThat(gate()).isEqualTo(CLOSED);
  }

  private long open() throws SQLException {
    return database.queryLong("select pgonce.open_gate('orders', %s)".formatted(ALL));
  }

  /** Null if it is another's. */
  private @Nullable String renew(long mine) throws SQLException {
    return database.queryString("select pgonce.renew_gate('orders', %s, %d)".formatted(ALL, mine));
  }
}
