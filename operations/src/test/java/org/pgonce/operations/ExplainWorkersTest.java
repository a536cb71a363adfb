package org.pgonce.operations;

import static org.assertj.core.api.Assertions.assertThat;
import static org.pgonce.operations.Stage.ORDERS;
import static org.pgonce.operations.Stage.QUICK;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.ChannelOptions;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.operations.Explanation.Cause;
import org.pgonce.testkit.PgTest;

/** What waits its turn: for a worker, a connection, or those before it. */
@PgTest(PgOnceInstalled.class)
@Tag("drivers")
@Tag("versions")
class ExplainWorkersTest extends ExplainStage {

  private static final String LOOK_AT_THEM =
      "All workers are busy. Look at what they do: SELECT * FROM pgonce.at_work WHERE channel = '%s'. A handler may hang; else give the listeners more concurrency, or start more.";

  @Test
  void explain_starvedOfWorkers() throws Exception {
    publish(ORDERS);
    listenAndHold(ORDERS, QUICK.withConcurrency(1)).start();
    begun.await();
    var id = publish(ORDERS);
    var answer = explain(ORDERS, id);
    assertThat(answer.cause()).isEqualTo(Cause.STARVED);
    assertThat(answer.detail())
        .startsWith(
            "1 before it, 1 of 1 workers of 1 listeners at work; notification 1 is in the session of server process ")
        .contains("; process ");
    assertThat(answer.detail()).doesNotContain("wait for a lock");
    assertThat(answer.advice()).isEqualTo(LOOK_AT_THEM.formatted("orders"));
  }

  @Test
  void explain_starvedByALease() throws Exception {
    var calls = install("calls", Mode.AT_LEAST_ONCE, ChannelOptions.DEFAULT);
    publish(calls);
    stage
        .pgonce()
        .listen(
            calls,
            QUICK.withConcurrency(1),
            (order, tx) -> {
              begun.countDown();
              goOn.await();
            })
        .start();
    begun.await();
    var id = publish(calls);
    awaitCause(calls, id, Cause.STARVED);
    var answer = explain(calls, id);
    assertThat(answer.detail())
        .isEqualTo(
            "0 before it, 1 of 1 workers of 1 listeners at work; notification 1 is at work, with no transaction open");
    assertThat(answer.advice()).isEqualTo(LOOK_AT_THEM.formatted("calls"));
  }

  @Tag("all")
  @Test
  void explain_starvedOfConnections() throws Exception {
    try (var pool = stage.database.pooled(2);
        var pgonce = PgOnce.builder(pool).stopTimeout(Duration.ofSeconds(1)).build()) {
      pgonce.listen(ORDERS, QUICK, Stage::effect).start();
      stage.awaitSoon(
          () -> stage.database.queryLong("select count(*) from pgonce.listener_status") == 1);
      // Now the application keeps all connections.
      try (var one = pool.getConnection();
          var two = pool.getConnection()) {
        var id = publish(ORDERS);
        awaitCause(ORDERS, id, Cause.STARVED);
        assertThat(explain(ORDERS, id).advice()).contains("no connection to give");
        assertThat(one.isValid(1) && two.isValid(1)).isTrue();
      }
      stage.awaitSoon(() -> stage.waiting() == 0);
    }
  }

  /** Its LISTEN session is gone at once, and its last heartbeat was not long ago. */
  @Test
  void explain_aListenerThatWasKilledJustNowMayBeWhy() throws Exception {
    stage.database.execute(REGISTER.formatted("orders", 4));
    stage.database.execute("update pgonce.listener set silence = '50 s', backend = 0");
    var id = publish(ORDERS);
    stage.database.execute(
        "update pgonce.notification set created_at = now() - interval '10 s' where subscription_id > 0");
    var answer = explain(ORDERS, id);
    assertThat(answer.cause()).isEqualTo(Cause.STARVED);
    assertThat(answer.advice()).contains("Ask again in 15 s", "killed just now");
    stage.database.execute("update pgonce.listener set seen_at = now() - interval '15 s'");
    assertThat(explain(ORDERS, id).cause()).isEqualTo(Cause.NO_LISTENER);
  }

  @Test
  void explain_waitingBehindOthers() throws Exception {
    stage.database.execute(REGISTER.formatted("orders", 4));
    stage.publish(2);
    var id = publish(ORDERS);
    var answer = explain(ORDERS, id);
    assertThat(answer.cause()).isEqualTo(Cause.WAITING);
    assertThat(answer.detail()).isEqualTo("2 before it, 0 of 4 workers of 1 listeners at work");
  }

  /** Those that are due come by their times, and not by their ids. */
  @Test
  void explain_waitingBehindWhatIsDueLonger() throws Exception {
    stage.database.execute(REGISTER.formatted("orders", 4));
    var first = publish(ORDERS);
    stage.publish(2);
    stage.database.execute(
        """
        insert into pgonce.scheduled (subscription_id, id, due_at, attempts, created_at, payload)
        select subscription_id, id, now() - interval '10 s' - id * interval '1 s', 1, created_at - interval '1 h', payload from pgonce.notification where subscription_id > 0;
        delete from pgonce.notification where subscription_id > 0
        """);
    try (var worker = stage.dataSource.getConnection();
        var statement = worker.createStatement()) {
      worker.setAutoCommit(false);
      statement.execute(
          "select from pgonce.scheduled where subscription_id > 0 and id = %d for update"
              .formatted(first + 1));
      assertThat(explain(ORDERS, first).cause()).isEqualTo(Cause.WAITING);
      worker.rollback();
    }
  }

  /** A pool of one: its other workers have no connection for what comes next. */
  @Test
  void h57_whatComesNextWhileFreeWorkersClaimNothingIsStarved() throws Exception {
    stage.database.execute(REGISTER.formatted("orders", 4));
    var first = publish(ORDERS);
    var second = publish(ORDERS);
    var third = publish(ORDERS);
    stage.database.execute(
        "update pgonce.notification set created_at = now() - interval '1 minute' + id * interval '1 s' where subscription_id > 0");
    try (var worker = stage.dataSource.getConnection()) {
      hold(worker, "select from pgonce.notification where id = %d for update".formatted(first));
      var answer = explain(ORDERS, second);
      assertThat(answer.cause()).isEqualTo(Cause.STARVED);
      assertThat(answer.detail()).isEqualTo("1 before it, 1 of 4 workers of 1 listeners at work");
      assertThat(answer.advice()).contains("no connection to give");
      assertThat(explain(ORDERS, third).cause()).isEqualTo(Cause.WAITING);
      worker.rollback();
    }
  }

  /** The first in line is another one at each moment: neither idle workers nor an empty channel. */
  @Test
  void explain_aBacklogThatIsBeingHandledIsNeitherStarvedNorDone() throws Exception {
    stage.publish(6_000);
    stage.database.execute(
        "update pgonce.notification set created_at = now() - interval '1 h' where subscription_id > 0");
    stage.pgonce().listen(ORDERS, QUICK.withConcurrency(8), Stage::effect).start();
    stage.awaitSoon(() -> stage.waiting() < 6_000);
    while (stage.waiting() > 100) {
      var answer = operations.explain(ORDERS).get(0);
      assertThat(answer.cause()).as(answer.detail()).isIn(Cause.AT_WORK, Cause.WAITING);
      assertThat(answer.needsPerson()).isFalse();
    }
  }

  /** As the advice on one that hangs has it: its row is free again, and its worker is not. */
  @Test
  void h45_whatAHandlerThatHangsHasLeftIsNoMattersOfWaiting() throws Exception {
    var first = publish(ORDERS);
    publish(ORDERS);
    stage.database.execute(
        "update pgonce.notification set created_at = now() - interval '10 s' where subscription_id > 0");
    var both = new CountDownLatch(2);
    stage
        .pgonce()
        .listen(
            ORDERS,
            QUICK.withConcurrency(2),
            (order, tx) -> {
              both.countDown();
              goOn.await();
            })
        .start();
    both.await();
    var hangs = explain(ORDERS, first);
    assertThat(hangs.cause()).isEqualTo(Cause.AT_WORK);
    assertThat(hangs.advice()).contains("Its own worker is free when the handler returns, or ");
    stage.database.backends().terminate(Objects.requireNonNull(hangs.backendPid()));
    awaitCause(ORDERS, first, Cause.STARVED);
    assertThat(explain(ORDERS, first).detail())
        .isEqualTo("0 before it, 1 of 2 workers of 1 listeners at work");
    assertThat(explain(ORDERS, first).advice())
        .contains("handlers whose sessions were ended still run");
  }

  /** Asked of the subscription: its first in line is at work, and nobody is left for the others. */
  @Test
  void explain_handlersThatKeepAllWorkersBusyNeedAPersonAfterAMinute() throws Exception {
    publish(ORDERS);
    listenAndHold(ORDERS, QUICK.withConcurrency(1)).start();
    begun.await();
    assertThat(operations.explain(ORDERS).get(0).cause()).isEqualTo(Cause.AT_WORK);
    assertThat(operations.explain(ORDERS).get(0).detail()).doesNotContain("besides");
    publish(ORDERS);
    publish(ORDERS);
    var answer = operations.explain(ORDERS).get(0);
    assertThat(answer.cause()).isEqualTo(Cause.AT_WORK);
    assertThat(answer.detail())
        .contains("; besides, all 1 workers of 1 listeners are at work, and 2 more wait; process ");
    assertThat(answer.advice())
        .endsWith(" All workers are busy: look at the others in pgonce.at_work as well.");
    assertThat(answer.needsPerson()).isFalse();
    // In place of the minute: a bound that has passed.
    stage.database.execute(
        "do $$ begin execute replace(pg_get_functiondef('pgonce.explain(text,bigint,text)'::regprocedure), 'interval ''1 minute''', 'interval ''0'''); end $$");
    assertThat(operations.explain(ORDERS).get(0).needsPerson()).isTrue();
    assertThat(explain(ORDERS, Objects.requireNonNull(answer.id())).needsPerson()).isFalse();
  }

  /** Not the first in line, but its neighbour waits for a lock. */
  @Test
  void explain_aLockThatAnotherHandlerWaitsForIsToldOfTheSubscription() throws Exception {
    stage.database.execute(
        REGISTER.formatted("orders", 4) + "; create table t (n int); insert into t values (1)");
    var first = publish(ORDERS);
    var second = publish(ORDERS);
    try (var hangs = stage.dataSource.getConnection();
        var holder = stage.dataSource.getConnection();
        var waiter = stage.dataSource.getConnection()) {
      hold(hangs, "select from pgonce.notification where id = %d for update".formatted(first));
      hold(holder, "select from t for update");
      hold(waiter, "select from pgonce.notification where id = %d for update".formatted(second));
      var waits = new Thread(() -> quietly(waiter, "select from t for update"));
      waits.start();
      stage.awaitSoon(() -> operations.explain(ORDERS).get(0).needsPerson());
      var answer = operations.explain(ORDERS).get(0);
      assertThat(answer.id()).isEqualTo(first);
      assertThat(answer.cause()).isEqualTo(Cause.AT_WORK);
      assertThat(answer.detail())
          .contains(
              "; besides, notification %d is in the session of server process ".formatted(second))
          .contains(" for a row of table public.t, held by server process ");
      assertThat(answer.advice()).contains("Of the one that waits for a lock: Have process ");
      holder.rollback();
      waits.join();
      waiter.rollback();
      hangs.rollback();
    }
  }

  private static void quietly(Connection connection, String sql) {
    try (var statement = connection.createStatement()) {
      statement.execute(sql);
    } catch (SQLException e) {
      throw new IllegalStateException(e);
    }
  }
}
