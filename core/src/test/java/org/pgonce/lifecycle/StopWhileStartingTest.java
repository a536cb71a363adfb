package org.pgonce.lifecycle;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.pgonce.stage.Stage.ORDERS;
import static org.pgonce.stage.Stage.QUICK;
import static org.pgonce.stage.Stage.SOON;

import com.zaxxer.hikari.HikariDataSource;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.pgonce.Channel;
import org.pgonce.PgOnce;
import org.pgonce.PgOnceException;
import org.pgonce.Status.State;
import org.pgonce.spi.Event;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** What is called beside a start that is under way does not wait for it. */
@PgTest(PgOnceInstalled.class)
class StopWhileStartingTest {

  // What PgOnce.stop takes beyond its deadline at most, and something for a busy machine.
  private static final Duration GRACE = Duration.ofSeconds(10);

  private Stage stage;

  @BeforeEach
  void setUp(TestDatabase database) throws SQLException {
    stage = new Stage(database);
  }

  @AfterEach
  void tearDown() {
    stage.close();
  }

  private static CompletableFuture<PgOnce> starting(PgOnce pgonce) {
    return CompletableFuture.supplyAsync(pgonce::start);
  }

  /** Its pool is empty, and waits longer than any test. */
  private HikariDataSource emptyPool() {
    var pool = stage.database.pooled(1);
    pool.setConnectionTimeout(Duration.ofHours(1).toMillis());
    return pool;
  }

  private void awaitWaits(HikariDataSource pool) {
    stage.awaitSoon(() -> pool.getHikariPoolMXBean().getThreadsAwaitingConnection() > 0);
  }

  private static boolean stopped(PgOnce pgonce) {
    try {
      return pgonce.stop(Duration.ZERO);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  @Test
  void h85_aStartThatWaitsForAConnectionDoesNotHoldUpTheStop() throws Exception {
    try (var pool = emptyPool()) {
      var pgonce = stage.pgonce(pool).listen(ORDERS, QUICK, Stage::effect);
      CompletableFuture<PgOnce> starting;
      try (var taken = pool.getConnection()) {
        starting = starting(pgonce);
        awaitWaits(pool);
        assertThat(pgonce.status().state()).isEqualTo(State.NEW);
        assertThat(pgonce.status().listenFailure()).isEqualTo("not started");
        assertThatThrownBy(pgonce::start).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> pgonce.listen(Channel.of("b", String.class), (one, tx) -> {}))
            .isInstanceOf(IllegalStateException.class);
        var stop = CompletableFuture.supplyAsync(() -> stopped(pgonce));
        assertThat(stop.get(GRACE.toSeconds(), TimeUnit.SECONDS)).isTrue();
        assertThat(pgonce.status().state()).isEqualTo(State.STOPPED);
        assertThat(starting).isNotDone();
        assertThat(taken.isValid(1)).isTrue();
      }
      assertThatThrownBy(() -> starting.get(SOON.toSeconds(), TimeUnit.SECONDS))
          .isInstanceOf(ExecutionException.class)
          .cause()
          .isInstanceOf(PgOnceException.class)
          .hasMessageContaining("stopped while it started");
      assertThat(pgonce.status().listenFailure()).isEqualTo("not started");
      assertThat(stage.database.queryLong("select count(*) from pgonce.listener")).isZero();
      pgonce.start();
      stage.publish(1);
      stage.awaitSoon(() -> stage.effects() == 1);
      pgonce.close();
    }
  }

  @Test
  void h85_aStartThatWaitsForAConnectionDoesNotHoldUpTheClose() throws Exception {
    try (var pool = emptyPool()) {
      var pgonce = stage.pgonce(pool).listen(ORDERS, QUICK, Stage::effect);
      CompletableFuture<PgOnce> starting;
      try (var taken = pool.getConnection()) {
        starting = starting(pgonce);
        awaitWaits(pool);
        CompletableFuture.runAsync(pgonce::close).get(GRACE.toSeconds(), TimeUnit.SECONDS);
        assertThat(starting).isNotDone();
        assertThat(taken.isValid(1)).isTrue();
      }
      assertThatThrownBy(() -> starting.get(SOON.toSeconds(), TimeUnit.SECONDS))
          .hasMessageContaining("stopped while it started");
      assertThatThrownBy(pgonce::start).hasMessageContaining("closed");
    }
  }

  /** On the listening thread, which the start waits for. */
  @Test
  void anObserverThatCallsItsListenerDuringTheStartIsRefusedAtOnce() throws Exception {
    var calls = new CopyOnWriteArrayList<Consumer<PgOnce>>();
    calls.addAll(
        List.of(
            PgOnce::close,
            StopWhileStartingTest::stopped,
            PgOnce::start,
            one -> one.listen(Channel.of("b", String.class), (told, tx) -> {})));
    var listens = new CompletableFuture<PgOnce>();
    var refused = new CompletableFuture<List<String>>();
    var pgonce =
        stage.pgonce(
            PgOnce.builder(stage.dataSource)
                .observer(
                    event -> {
                      if (event instanceof Event.Listening) {
                        refused.complete(
                            calls.stream().map(call -> refusal(call, listens.join())).toList());
                      }
                    }));
    listens.complete(pgonce);
    pgonce.listen(ORDERS, QUICK, Stage::effect);
    starting(pgonce).get(GRACE.toSeconds(), TimeUnit.SECONDS);
    assertThat(refused.get(GRACE.toSeconds(), TimeUnit.SECONDS))
        .allMatch("IllegalStateException"::equals);
    // It goes on as if nothing had been said.
    stage.publish(1);
    stage.awaitSoon(() -> stage.effects() == 1);
    assertThat(pgonce.status().state()).isEqualTo(State.RUNNING);
    assertThat(pgonce.stop(Duration.ofSeconds(5))).isTrue();
    pgonce.start();
  }

  private static String refusal(Consumer<PgOnce> call, PgOnce pgonce) {
    try {
      call.accept(pgonce);
      return "it did it";
    } catch (RuntimeException e) {
      return e.getClass().getSimpleName();
    }
  }
}
