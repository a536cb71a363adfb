package org.pgonce.crash;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.pgonce.stage.Stage.ORDERS;
import static org.pgonce.stage.Stage.QUICK;
import static org.pgonce.stage.Stage.SOON;

import com.zaxxer.hikari.HikariDataSource;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.Handler;
import org.pgonce.ListenOptions;
import org.pgonce.PgOnce;
import org.pgonce.Publisher;
import org.pgonce.spi.Event;
import org.pgonce.spi.ListenAddress;
import org.pgonce.stage.Events;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.testkit.FaultProxy;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/**
 * Stations 3 to 5 when the connection ends in their hands: whichever driver it is, nobody waits for
 * an answer that cannot come, and the pool's only connection is given back.
 */
@PgTest(PgOnceInstalled.class)
@Tag("drivers")
class LostConnectionTest {

  private static final ListenOptions ONE_AT_A_TIME = QUICK.withConcurrency(1).withMaxAttempts(20);

  private static final int WARM_UP = 3;

  private static final String CLAIMED =
      "select count(*) from pgonce.notification where subscription_id > 0 and xmax <> '0'";

  private Stage stage;
  private FaultProxy proxy;
  private HikariDataSource pool;

  @BeforeEach
  void setUp(TestDatabase database) throws SQLException {
    stage = new Stage(database);
    proxy = FaultProxy.to(database);
    pool = database.login().through(proxy).pooled(1);
  }

  @AfterEach
  void tearDown() {
    stage.close();
    pool.close();
    proxy.close();
  }

  /** Handles a few, so that the driver has its statements prepared. */
  private PgOnce listening(ListenOptions options, Handler<Stage.Order> handler) throws Exception {
    var database = stage.database;
    var direct =
        new ListenAddress(
            database.host(), database.port(), database.name(), database.user(), null, Map.of());
    var pgonce = stage.pgonce(PgOnce.builder(pool).listenAddress(direct));
    pgonce.listen(ORDERS, options, handler).start();
    for (var round = 0; round < WARM_UP; round++) {
      stage.publish(1);
      stage.awaitNothingWaits();
    }
    stage.database.execute("truncate effect");
    return pgonce;
  }

  @Test
  void h49_aConnectionThatEndsWhileATransactionBeginsHoldsNobody() throws Exception {
    listening(ONE_AT_A_TIME, Stage::effect);
    for (var round = 0; round < 3; round++) {
      var begun = proxy.holdAnswerTo("BEGIN");
      stage.publish(1);
      begun.awaitSprung(SOON);
      proxy.endAll();
      stage.awaitNothingWaits();
    }
    assertThat(stage.effects()).isEqualTo(3);
  }

  @Test
  void h49_aConnectionThatEndsInAClaimHoldsNobody() throws Exception {
    listening(ONE_AT_A_TIME, Stage::effect);
    for (var round = 0; round < 3; round++) {
      var claim = proxy.holdAnswerTo("FOR UPDATE SKIP LOCKED");
      stage.publish(1);
      claim.awaitSprung(SOON);
      proxy.endAll();
      stage.awaitNothingWaits();
    }
    assertThat(stage.effects()).isEqualTo(3);
  }

  /** A claim has found nothing that is free, and its end is not answered. */
  @Tag("all")
  @Test
  void h49_aRollbackThatIsNotAnsweredHoldsItsWorkerNoLongerThanAClaim() throws Exception {
    pool.getHikariConfigMXBean().setMaximumPoolSize(3);
    stage.publish(1);
    try (var other = stage.dataSource.getConnection();
        var statement = other.createStatement()) {
      other.setAutoCommit(false);
      statement.execute("select from pgonce.notification where subscription_id > 0 for update");
      var rollback = proxy.holdAnswerTo("ROLLBACK");
      stage.pgonce(PgOnce.builder(pool)).listen(ORDERS, ONE_AT_A_TIME, Stage::effect).start();
      rollback.awaitSprung(SOON);
      other.rollback();
    }
    await().atMost(Duration.ofSeconds(60)).until(() -> stage.effects() == 1);
  }

  /** HikariCP would warn, with a stack trace for each, of connections that come back closed. */
  @Test
  void aConnectionIsKeptWhoseClaimTheServerRefuses() throws Exception {
    pool.close();
    pool = stage.database.loginRole("listens", "pgonce_listener").pooled(1);
    var events = new Events();
    stage
        .pgonce(PgOnce.builder(pool).observer(events))
        .listen(ORDERS, ONE_AT_A_TIME, (order, tx) -> {})
        .start();
    var before = serverProcess();
    stage.database.execute("revoke update on pgonce.notification from pgonce_listener");
    stage.publish(1);
    stage.awaitSoon(() -> refusedClaims(events) >= 2);
    assertThat(serverProcess()).isEqualTo(before);
    stage.database.execute("grant update (created_at) on pgonce.notification to pgonce_listener");
    stage.awaitNothingWaits();
    assertThat(serverProcess()).isEqualTo(before);
  }

  private static long refusedClaims(Events events) {
    return events.of(Event.DatabaseTrouble.class).stream()
        .filter(one -> one.reason().contains("permission denied for table notification"))
        .count();
  }

  private long serverProcess() throws SQLException {
    try (var connection = pool.getConnection();
        var statement = connection.createStatement();
        var row = statement.executeQuery("select pg_backend_pid()")) {
      row.next();
      return row.getLong(1);
    }
  }

  /** What lies behind those that were claimed, only a look at the whole finds. */
  @Tag("all")
  @Test
  void h71_whatIsCommittedLateComesThoughTheLookAtTheWholeIsNotAnswered() throws Exception {
    // Before anybody waits for a connection: a pool that grows makes none for those that wait.
    pool.getHikariConfigMXBean().setMaximumPoolSize(4);
    try (var writer = stage.dataSource.getConnection()) {
      writer.setAutoCommit(false);
      Publisher.standard().publish(writer, ORDERS, new Stage.Order(99, "late"));
      listening(QUICK.withConcurrency(4), Stage::effect);
      var claim = proxy.holdAnswerTo("FOR UPDATE SKIP LOCKED");
      stage.publish(1);
      claim.awaitSprung(SOON);
      // Else the claim itself might find what is late.
      stage.awaitSoon(() -> stage.database.queryLong(CLAIMED) == 1);
      writer.commit();
    }
    await()
        .atMost(Duration.ofSeconds(20))
        .until(() -> stage.database.queryLong("select count(*) from effect where id = 99") == 1);
    proxy.endAll();
    stage.awaitNothingWaits();
  }

  /** Before its time is over, and though this one holds its row. */
  @Test
  void h49_whatComesWhileAClaimIsNotAnsweredAnotherWorkerHandles() throws Exception {
    pool.getHikariConfigMXBean().setMaximumPoolSize(4);
    listening(QUICK.withConcurrency(4), Stage::effect);
    var claim = proxy.holdAnswerTo("FOR UPDATE SKIP LOCKED");
    stage.publish(1);
    claim.awaitSprung(SOON);
    await()
        .atMost(Duration.ofSeconds(10))
        .until(
            () -> {
              stage.publish(1);
              return stage.effects() > 0;
            });
    proxy.endAll();
    stage.awaitNothingWaits();
  }

  @Test
  void h65_aHandlerOnASilentNetworkIsCutOffAndItsRowFreed() throws Exception {
    var first = new AtomicBoolean(true);
    var silenced = new CountDownLatch(1);
    listening(
        ONE_AT_A_TIME.withHandlerTimeout(Duration.ofMillis(500)),
        (order, tx) -> {
          if (order.payload().item().equals("silence") && first.getAndSet(false)) {
            proxy.silence();
            silenced.countDown();
          }
          Stage.effect(order, tx);
        });
    try (var connection = stage.dataSource.getConnection()) {
      Publisher.standard().publish(connection, ORDERS, new Stage.Order(1, "silence"));
    }
    Stage.awaitSoon(silenced);
    proxy.pass();
    stage.awaitNothingWaits();
    assertThat(stage.eachOnce(1)).isTrue();
  }

  @Test
  void h49_aSessionThatTheServerEndsInTheHandlerIsAFailedAttempt() throws Exception {
    var handled = new AtomicInteger();
    listening(
        ONE_AT_A_TIME,
        (order, tx) -> {
          Stage.effect(order, tx);
          if (order.attempt() == 1 && handled.incrementAndGet() > WARM_UP) {
            tx.query("select pg_terminate_backend(pg_backend_pid())", row -> 1);
          }
        });
    stage.publish(6);
    stage.awaitNothingWaits();
    assertThat(stage.eachOnce(6)).isTrue();
    assertThat(stage.database.queryLong("select count(*) from effect where note = 'attempt 2'"))
        .isEqualTo(6);
  }
}
