package org.pgonce.handler;

import static org.assertj.core.api.Assertions.assertThat;
import static org.pgonce.stage.Stage.ORDERS;
import static org.pgonce.stage.Stage.QUICK;

import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.KeyOrder;
import org.pgonce.ListenOptions;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.PublishOptions;
import org.pgonce.Publisher;
import org.pgonce.spi.ListenAddress;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.stage.Stage.Order;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TappedSource;
import org.pgonce.testkit.TestDatabase;

/** What a worker does while what its handler left behind the transaction runs. */
@PgTest(PgOnceInstalled.class)
@Tag("drivers")
class AfterCommitWorkerTest {

  private static final ListenOptions ALONE = QUICK.withConcurrency(1);

  private final List<String> ends = new CopyOnWriteArrayList<>();
  private Stage stage;

  @BeforeEach
  void open(TestDatabase database) throws SQLException {
    stage = new Stage(database);
  }

  @AfterEach
  void close() {
    stage.close();
  }

  /** Each of them, since the one before it may have taken the interrupt. */
  @ParameterizedTest
  @EnumSource(Mode.class)
  @Tag("all")
  void h85_aStopInterruptsEachOfThemWhenItsTimeIsOver(Mode mode) throws Exception {
    var begun = new CountDownLatch(1);
    var channel = Stage.wokenAlways("committed", mode);
    var pgonce = stage.pgonce().install(channel);
    pgonce
        .listen(
            channel,
            ALONE,
            (order, tx) -> {
              for (var i = 0; i < 3; i++) {
                tx.afterCommit(
                    () -> {
                      begun.countDown();
                      AfterCommitTest.untilInterrupted();
                      ends.add("interrupted");
                    });
              }
            })
        .start();
    publishTo(mode);
    Stage.awaitSoon(begun);
    pgonce.stop(Duration.ZERO);
    stage.awaitSoon(() -> ends.size() == 3);
    stage.awaitSoon(() -> pgonce.status().channels().get(0).working() == 0);
  }

  private void publishTo(Mode mode) throws SQLException {
    try (var connection = stage.dataSource.getConnection()) {
      stage
          .pgonce()
          .publisher()
          .publish(connection, Stage.wokenAlways("committed", mode), new Order(1, "item"));
    }
  }

  @ParameterizedTest
  @EnumSource(Mode.class)
  void theyRunWithoutAConnectionOfTheirWorkers(Mode mode) throws Exception {
    var pool = stage.database.pooled(1);
    var channel = Stage.wokenAlways("committed", mode);
    stage
        .pgonce(pool)
        .install(channel)
        .listen(
            channel,
            ALONE,
            (order, tx) -> {
              Stage.effect(order, tx);
              tx.afterCommit(
                  () -> {
                    try (var connection = pool.getConnection()) {
                      ends.add(connection.isClosed() ? "closed" : "got one");
                    } catch (SQLException e) {
                      ends.add(e.getMessage());
                    }
                  });
            })
        .start();
    publishTo(mode);
    stage.awaitSoon(() -> ends.size() == 1);
    assertThat(ends).containsExactly("got one");
  }

  @Test
  void theirKeyIsFreeWhileTheyRun() throws Exception {
    var goOn = new CountDownLatch(1);
    var ordered =
        Channel.of(
            "ordered",
            Order.class,
            Mode.EXACTLY_ONCE,
            ChannelOptions.DEFAULT.withOrder(KeyOrder.DEAD_LETTER_PASSES));
    // No poll finds the second one.
    stage
        .pgonce(PgOnce.builder(stage.dataSource), Duration.ofHours(1))
        .install(ordered)
        .listen(
            ordered,
            QUICK.withConcurrency(2),
            (order, tx) -> {
              Stage.effect(order, tx);
              if (order.payload().id() == 1) {
                tx.afterCommit(() -> Unwilling.await(goOn));
              }
            })
        .start();
    try (var connection = stage.dataSource.getConnection()) {
      for (var id = 1; id <= 2; id++) {
        Publisher.standard()
            .publish(
                connection,
                ordered,
                new Order(id, "item"),
                PublishOptions.DEFAULT.withOrderKey("a"));
      }
    }
    try {
      stage.awaitSoon(() -> stage.effects() == 2);
    } finally {
      goOn.countDown();
    }
  }

  /** Amid a backlog: no claim is made behind a commit that something waits for. */
  @Test
  void h47_nothingIsClaimedInTheMessageOfTheirCommit() throws Exception {
    var all = 60;
    var behindCommits = new AtomicInteger();
    var source =
        TappedSource.over(
            stage.dataSource,
            (sql, real) -> {
              if (sql.contains("COMMIT; BEGIN")) {
                behindCommits.incrementAndGet();
              }
              return sql;
            });
    stage.publish(all);
    stage
        .pgonce(PgOnce.builder(source).listenAddress(address()))
        .listen(
            ORDERS,
            ALONE,
            (order, tx) -> {
              Stage.effect(order, tx);
              tx.afterCommit(() -> {});
            })
        .start();
    stage.awaitSoon(() -> stage.effects() == all && stage.waiting() == 0);
    assertThat(stage.eachOnce(all)).isTrue();
    assertThat(behindCommits).hasValue(0);
  }

  private ListenAddress address() {
    var database = stage.database;
    return new ListenAddress(
        database.host(), database.port(), database.name(), database.user(), null, Map.of());
  }
}
