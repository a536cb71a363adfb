package org.pgonce.lifecycle;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.pgonce.stage.Stage.ORDERS;
import static org.pgonce.stage.Stage.QUICK;
import static org.pgonce.stage.Stage.SOON;

import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.pgonce.Channel;
import org.pgonce.PgOnce;
import org.pgonce.PgOnceException;
import org.pgonce.Status.State;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** Start, stop, and start again; and the start of a service that only publishes. */
@PgTest(PgOnceInstalled.class)
class RestartTest {

  private static final Duration STOP = Duration.ofSeconds(20);

  private Stage stage;

  @BeforeEach
  void setUp(TestDatabase database) throws SQLException {
    stage = new Stage(database);
  }

  @AfterEach
  void tearDown() {
    stage.close();
  }

  @Test
  void example_whatWasStoppedStartsAgainWithItsHandlers() throws Exception {
    var pgonce = stage.pgonce().listen(ORDERS, QUICK, Stage::effect);
    for (var round = 1; round <= 4; round++) {
      pgonce.start();
      assertThat(pgonce.status().state()).isEqualTo(State.RUNNING);
      stage.publish(5);
      stage.awaitNothingWaits();
      assertThat(pgonce.stop(STOP)).isTrue();
      assertThat(pgonce.status().state()).isEqualTo(State.STOPPED);
      assertThat(stage.database.queryLong("select count(*) from pgonce.listener")).isZero();
      stage.publish(5); // while it is stopped: handled after the next start
      assertThat(stage.effects()).isEqualTo(round * 10L - 5);
    }
  }

  @Test
  void aHandlerMayBeAddedWhileItIsStopped() throws Exception {
    var more = Channel.of("more", Stage.Order.class);
    var pgonce = stage.pgonce().install(more).listen(ORDERS, QUICK, Stage::effect);
    pgonce.start();
    assertThatThrownBy(() -> pgonce.listen(more, Stage::effect))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("listen(more) after start()");
    pgonce.stop(STOP);
    pgonce.listen(more, QUICK, Stage::effect).start();
    stage.publish(1);
    stage.database.execute("select pgonce.publish('more', '{\"id\": 2, \"item\": \"x\"}')");
    stage.awaitSoon(() -> stage.effects() == 2);
  }

  @Test
  void awaitStoppedReturnsAtEachStop() throws Exception {
    var pgonce = stage.pgonce().listen(ORDERS, QUICK, Stage::effect);
    assertThatThrownBy(pgonce::awaitStopped).isInstanceOf(IllegalStateException.class);
    for (var round = 0; round < 2; round++) {
      pgonce.start();
      var waits =
          CompletableFuture.runAsync(
              () -> {
                try {
                  pgonce.awaitStopped();
                } catch (InterruptedException e) {
                  throw new IllegalStateException(e);
                }
              });
      assertThatThrownBy(() -> waits.get(50, TimeUnit.MILLISECONDS))
          .isInstanceOf(TimeoutException.class);
      pgonce.stop(STOP);
      waits.get(SOON.toSeconds(), TimeUnit.SECONDS);
    }
  }

  @Test
  void closeIsForGood() throws Exception {
    var pgonce = stage.pgonce().listen(ORDERS, QUICK, Stage::effect);
    pgonce.start();
    pgonce.close();
    pgonce.close();
    assertThatThrownBy(pgonce::start)
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("closed");
    assertThatThrownBy(() -> pgonce.listen(Channel.of("b", String.class), (one, tx) -> {}))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("closed");
    assertThat(pgonce.status().state()).isEqualTo(State.STOPPED);
    assertThat(pgonce.stop(STOP)).isTrue();
  }

  @Test
  void whatRunsOrIsBeingStoppedDoesNotStartASecondTime() throws Exception {
    var inside = new CountDownLatch(1);
    var goOn = new CountDownLatch(1);
    var pgonce =
        stage
            .pgonce()
            .listen(
                ORDERS,
                QUICK,
                (order, tx) -> {
                  inside.countDown();
                  goOn.await();
                });
    pgonce.start();
    assertThatThrownBy(pgonce::start).isInstanceOf(IllegalStateException.class);
    stage.publish(1);
    Stage.awaitSoon(inside);
    var stopping = CompletableFuture.supplyAsync(() -> call(() -> pgonce.stop(STOP)));
    stage.awaitSoon(() -> pgonce.status().state() == State.STOPPING);
    assertThatThrownBy(pgonce::start)
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("stop() first");
    goOn.countDown();
    assertThat(stopping.get(SOON.toSeconds(), TimeUnit.SECONDS)).isTrue();
    pgonce.start();
    assertThat(pgonce.status().state()).isEqualTo(State.RUNNING);
  }

  @Test
  void anythingAtOnceLeavesOneListenerOrNone() throws Exception {
    var pgonce = stage.pgonce().listen(ORDERS, QUICK, Stage::effect);
    var threads = Executors.newFixedThreadPool(6);
    try {
      for (var round = 0; round < 8; round++) {
        List<Future<Boolean>> all = new ArrayList<>();
        for (var i = 0; i < 3; i++) {
          all.add(threads.submit(() -> started(pgonce)));
          all.add(threads.submit(() -> pgonce.stop(STOP)));
        }
        for (var one : all) {
          one.get(SOON.toSeconds(), TimeUnit.SECONDS);
        }
        assertThat(pgonce.status().state()).isIn(State.NEW, State.RUNNING, State.STOPPED);
        assertThat(pgonce.stop(STOP)).isTrue();
        assertThat(stage.database.queryLong("select count(*) from pgonce.listener")).isZero();
      }
      var closing = threads.submit(pgonce::close);
      var starting = threads.submit(() -> started(pgonce));
      closing.get(SOON.toSeconds(), TimeUnit.SECONDS);
      starting.get(SOON.toSeconds(), TimeUnit.SECONDS);
      assertThat(pgonce.status().state()).isIn(State.NEW, State.STOPPED);
      assertThatThrownBy(pgonce::start).hasMessageContaining("closed");
    } finally {
      threads.shutdownNow();
    }
    stage.awaitSoon(
        () -> threadNames().stream().noneMatch(name -> name.startsWith("pgonce-timer")));
  }

  private static boolean started(PgOnce pgonce) {
    try {
      pgonce.start();
      return true;
    } catch (IllegalStateException | PgOnceException e) {
      return false;
    }
  }

  private static <R> R call(Callable<R> work) {
    try {
      return work.call();
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  private static Set<String> threadNames() {
    return Thread.getAllStackTraces().keySet().stream()
        .map(Thread::getName)
        .collect(Collectors.toSet());
  }

  @Test
  void example_aServiceThatOnlyPublishesStartsAndKeepsNothing() throws Exception {
    var role = stage.database.loginRole("writer", "pgonce_publisher");
    try (var pool = role.pooled(1);
        var pgonce = PgOnce.using(pool)) {
      pgonce.start();
      assertThat(pgonce.status().state()).isEqualTo(State.RUNNING);
      assertThat(pgonce.status().listensBy()).isEqualTo("nothing");
      assertThat(threadNames()).noneMatch(name -> name.startsWith("pgonce"));
      assertThat(pool.getHikariPoolMXBean().getActiveConnections()).isZero();
      assertThat(
              stage.database.queryLong(
                  "select count(*) from pg_stat_activity where application_name = 'pgonce listen'"))
          .isZero();
      try (var connection = pool.getConnection()) {
        pgonce.publisher().publish(connection, ORDERS, new Stage.Order(1, "pen"));
      }
      var waits = CompletableFuture.runAsync(() -> call(() -> waited(pgonce)));
      assertThat(pgonce.stop(Duration.ZERO)).isTrue();
      waits.get(SOON.toSeconds(), TimeUnit.SECONDS);
      assertThat(pgonce.status().state()).isEqualTo(State.STOPPED);
      pgonce.start().stop(Duration.ZERO);
    }
    assertThat(stage.waiting()).isEqualTo(1);
  }

  private static boolean waited(PgOnce pgonce) throws InterruptedException {
    pgonce.awaitStopped();
    return true;
  }

  @Test
  void aServiceThatOnlyPublishesIsToldWhatIsMissing() throws Exception {
    var nobody = stage.database.loginRole("nobody");
    assertThatThrownBy(() -> PgOnce.using(nobody.unpooled()).start())
        .isInstanceOf(PgOnceException.class)
        .hasMessageContaining("GRANT pgonce_publisher TO " + nobody.user());
    stage.database.execute("delete from pgonce.schema_version");
    assertThatThrownBy(() -> PgOnce.using(stage.dataSource).start())
        .isInstanceOf(PgOnceException.class)
        .hasMessageContaining("pgonce cannot start:")
        .hasMessageContaining("of version 0, and this library needs version 1");
  }

  @Test
  void h83_overAnEarlierSchemaNoListenerStarts() throws Exception {
    stage.database.execute("delete from pgonce.schema_version");
    var pgonce = PgOnce.using(stage.dataSource);
    pgonce.listen(Stage.ORDERS, Stage::effect);
    assertThatThrownBy(pgonce::start)
        .isInstanceOf(PgOnceException.class)
        .hasMessageContaining("pgonce cannot start to listen:")
        .hasMessageContaining("of version 0, and this library needs version 1");
    assertThatThrownBy(() -> pgonce.check(Stage.ORDERS))
        .isInstanceOf(PgOnceException.class)
        .hasMessageContaining("of version 0, and this library needs version 1");
  }
}
