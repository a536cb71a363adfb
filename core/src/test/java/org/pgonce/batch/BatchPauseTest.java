package org.pgonce.batch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.pgonce.stage.Stage.ORDERS;
import static org.pgonce.stage.Stage.QUICK;

import java.sql.SQLException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.Handler;
import org.pgonce.ListenOptions;
import org.pgonce.PauseException;
import org.pgonce.PgOnce;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.stage.Stage.Order;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/**
 * S15 where several are handled in one transaction: all of them go back, and the channel pauses.
 */
@PgTest(PgOnceInstalled.class)
@Tag("drivers")
class BatchPauseTest {

  private static final ListenOptions TWENTY = QUICK.withConcurrency(1).withBatch(20);
  private static final String PAUSED =
      "select paused_by || ': ' || pause_reason from pgonce.channel_status where channel = 'orders'";
  private static final String COUNTED =
      "select count(*) from pgonce.scheduled where subscription_id > 0 and (attempts > 0 or token is not null)";

  private final AtomicBoolean outage = new AtomicBoolean(true);
  private final AtomicInteger begun = new AtomicInteger();
  private Stage stage;

  @BeforeEach
  void open(TestDatabase database) throws SQLException {
    stage = new Stage(database);
    stage.publish(5);
  }

  @AfterEach
  void close() {
    stage.close();
  }

  private PgOnce mailer(Handler<Order> handler) {
    var mailer =
        stage
            .pgonce(PgOnce.builder(stage.dataSource).instance("mailer-7"))
            .listen(ORDERS, TWENTY, handler)
            .start();
    stage.awaitSoon(
        () -> {
          var orders = mailer.status().channels().get(0);
          return orders.paused() != null && orders.working() == 0;
        });
    return mailer;
  }

  /** As if none of them had ever been tried; and then all are handled, each for the first time. */
  private void assertAllWentBackAndGoOn() throws SQLException {
    assertThat(stage.database.queryString(PAUSED)).isEqualTo("mailer-7: mail server says 421");
    assertThat(stage.effects()).isZero();
    assertThat(stage.waiting()).isEqualTo(5);
    assertThat(stage.claimable() + due()).isEqualTo(5);
    assertThat(stage.database.queryLong(COUNTED)).isZero();
    assertThat(stage.deadLetters()).isZero();

    outage.set(false);
    stage.onCall().resume(ORDERS, "mail server is up again");
    stage.awaitSoon(() -> stage.eachOnce(5));
    stage.awaitNothingWaits();
    assertThat(stage.database.queryString("select distinct note from effect"))
        .isEqualTo("attempt 1");
  }

  private long due() throws SQLException {
    return stage.database.queryLong(
        "select count(*) from pgonce.scheduled where subscription_id > 0 and due_at <= clock_timestamp()");
  }

  @Test
  void s15_oneOfTheSingleHandlersInABatchPausesAndAllGoBack() throws Exception {
    mailer(
        (order, tx) -> {
          begun.incrementAndGet();
          Stage.effect(order, tx);
          if (order.payload().id() == 3 && outage.get()) {
            throw new PauseException("mail server says 421");
          }
        });
    assertThat(begun).hasValue(3);
    assertAllWentBackAndGoOn();
  }

  @Tag("all")
  @Test
  void s15_aBatchHandlerPausesAndPutsItsLotBack() throws Exception {
    mailer(
        Handler.batch(
            (orders, tx) -> {
              begun.incrementAndGet();
              for (var order : orders) {
                Stage.effect(order, tx);
              }
              if (outage.get()) {
                throw new PauseException("mail server says 421");
              }
            }));
    assertThat(begun).hasValue(1);
    assertAllWentBackAndGoOn();
  }

  @Test
  void s15_aBatchIsPausedThoughItsTransactionIsLost() throws Exception {
    mailer(
        Handler.batch(
            (orders, tx) -> {
              begun.incrementAndGet();
              for (var order : orders) {
                Stage.effect(order, tx);
              }
              if (outage.get()) {
                try {
                  tx.query("select pg_terminate_backend(pg_backend_pid())", row -> 1);
                } catch (SQLException ended) {
                  throw new PauseException("mail server says 421", ended);
                }
              }
            }));
    assertThat(begun).hasValue(1);
    assertAllWentBackAndGoOn();
  }
}
