package org.pgonce.lease;

import static org.assertj.core.api.Assertions.assertThat;
import static org.pgonce.stage.Stage.QUICK;

import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.pgonce.Channel;
import org.pgonce.ListenOptions;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.Publisher;
import org.pgonce.spi.Event;
import org.pgonce.spi.Observer;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.stage.Stage.Order;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** A handler in AT_LEAST_ONCE whose lease another claim has got. */
@PgTest(PgOnceInstalled.class)
class LostLeaseTest {

  private static final Channel<Order> CALLS = Channel.of("calls", Order.class, Mode.AT_LEAST_ONCE);
  // A busy machine does not use it up between two renewals.
  private static final ListenOptions SHORT = QUICK.withLease(Duration.ofSeconds(5));

  private Stage stage;

  @BeforeEach
  void open(TestDatabase database) throws SQLException {
    stage = new Stage(database);
    PgOnce.using(stage.dataSource).install(CALLS);
  }

  @AfterEach
  void close() {
    stage.close();
  }

  private void publish() throws SQLException {
    try (var connection = stage.dataSource.getConnection()) {
      Publisher.standard().publish(connection, CALLS, new Order(1, "item"));
    }
  }

  @Test
  void h51_whoHasLostItsLeaseIsInterruptedAndItsEndRefused() throws Exception {
    var attempts = new CopyOnWriteArrayList<Integer>();
    var interrupted = new CountDownLatch(1);
    var pgonce = stage.pgonce();
    pgonce
        .listen(
            CALLS,
            SHORT,
            (call, tx) -> {
              attempts.add(call.attempt());
              Stage.effect(call, tx);
              if (call.attempt() == 1) {
                // As if another had found the lease over, while this process was frozen.
                stage.database.execute(
                    "update pgonce.scheduled set token = gen_random_uuid(), due_at = clock_timestamp() where token is not null");
                try {
                  new CountDownLatch(1).await();
                } finally {
                  interrupted.countDown();
                }
              }
            })
        .start();
    publish();
    Stage.awaitSoon(interrupted);
    stage.awaitNothingWaits();
    assertThat(attempts).containsExactly(1, 2);
    assertThat(stage.database.queryString("select string_agg(note, ' ') from effect"))
        .isEqualTo("attempt 2");
  }

  /** As if the database had been away for longer than the lease: the next run is here too. */
  @Test
  void h51_whoHasLostItsLeaseToItsOwnProcessIsInterrupted() throws Exception {
    var interrupted = new CountDownLatch(1);
    stage
        .pgonce()
        .listen(
            CALLS,
            SHORT,
            (call, tx) -> {
              if (call.attempt() == 1) {
                stage.database.execute(
                    "update pgonce.scheduled set due_at = clock_timestamp() where token is not null");
                try {
                  new CountDownLatch(1).await();
                } finally {
                  interrupted.countDown();
                }
              }
              interrupted.await();
            })
        .start();
    publish();
    Stage.awaitSoon(interrupted);
    stage.awaitNothingWaits();
  }

  @Test
  void h51_theEndOfALostLeaseIsNoSuccess() throws Exception {
    var handled = new CopyOnWriteArrayList<Integer>();
    Observer observer =
        event -> {
          if (event instanceof Event.Handled said) {
            handled.add(said.about().attempt());
          }
        };
    var pgonce = stage.pgonce(PgOnce.builder(stage.dataSource).observer(observer));
    pgonce
        .listen(
            CALLS,
            QUICK,
            (call, tx) -> {
              Stage.effect(call, tx);
              if (call.attempt() == 1) {
                stage.database.execute(
                    "update pgonce.scheduled set token = gen_random_uuid(), due_at = clock_timestamp() where token is not null");
              }
            })
        .start();
    publish();
    stage.awaitNothingWaits();
    stage.awaitSoon(() -> !handled.isEmpty()); // it is told behind the commit
    assertThat(handled).containsExactly(2);
    assertThat(stage.database.queryString("select string_agg(note, ' ') from effect"))
        .isEqualTo("attempt 2");
  }
}
