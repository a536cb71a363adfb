package org.pgonce.handler;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.pgonce.stage.Stage.ORDERS;
import static org.pgonce.stage.Stage.QUICK;
import static org.pgonce.stage.Stage.SOON;

import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.pgonce.Handler;
import org.pgonce.RejectedException;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/**
 * Stations 4 and 5 when a handler fails: its work is undone, the attempt is counted, its backoff
 * kept, the others flow.
 */
@PgTest(PgOnceInstalled.class)
@Tag("drivers")
class FailureTest {

  // One database and one pool for all: what a handler does to its session must not reach the next,
  // nor the next test.
  private static Stage stage;

  @BeforeAll
  static void setUp(TestDatabase database) throws SQLException {
    stage = new Stage(database);
  }

  @AfterEach
  void tearDown() throws SQLException {
    stage.clear();
  }

  @Test
  void example_aFailingHandlerIsRetriedAndItsWorkUndone() throws Exception {
    var attempts = new AtomicInteger();
    stage
        .pgonce()
        .listen(
            ORDERS,
            QUICK,
            (order, tx) -> {
              Stage.effect(order, tx);
              if (attempts.incrementAndGet() < 3) {
                throw new IllegalStateException("not yet");
              }
            })
        .start();
    stage.publish(1);
    await().atMost(SOON).until(() -> stage.waiting() == 0 && attempts.get() == 3);
    assertThat(stage.database.queryString("select note from effect")).isEqualTo("attempt 3");
  }

  @Test
  void h43_swallowedSqlErrorIsAFailure() throws Exception {
    stage
        .pgonce()
        .listen(
            ORDERS,
            QUICK,
            (order, tx) -> {
              Stage.effect(order, tx);
              try {
                tx.update("insert into no_such_table values (1)");
              } catch (SQLException swallowed) {
                // On purpose: the driver's commit() would now return as if all were well.
              }
            })
        .start();
    stage.publish(1);
    await().atMost(SOON).until(() -> stage.deadLetters() == 1);
    assertThat(stage.effects()).isZero();
    assertThat(stage.database.queryString("select error from pgonce.dead_letter"))
        .contains("caught an SQLException and went on");
  }

  /** Its commit would fail, and let go of the row before the failure is recorded. */
  @Test
  void h46_whatADeferredConstraintRefusesIsTriedAsOftenAsItsAttemptsSay() throws Exception {
    stage.database.execute(
        "create table checked_late (id bigint unique deferrable initially deferred)");
    var runs = new ConcurrentLinkedQueue<String>();
    stage
        .pgonce()
        .listen(
            ORDERS,
            QUICK.withMaxAttempts(2),
            (order, tx) -> {
              runs.add(order.payload().id() + " attempt " + order.attempt());
              // A key of its own: a common one would be a deadlock at times, which is not counted.
              var key = order.payload().id();
              tx.update("insert into checked_late values (?), (?)", key, key);
            })
        .start();
    stage.publish(30);
    stage.awaitSoon(() -> stage.deadLetters() == 30);
    assertThat(runs).hasSize(2 * 30).doesNotHaveDuplicates();
    assertThat(
            stage.database.queryLong(
                "select count(*) from pgonce.dead_letter where error like '%checked_late%'"))
        .isEqualTo(30);
  }

  @ParameterizedTest
  @EnumSource(Meddling.class)
  void h44_aHandlerCannotEndItsTransactionOrBendItsSession(Meddling meddling) throws Exception {
    var before = stage.database.queryString("select current_setting('search_path')");
    stage
        .pgonce()
        .listen(
            ORDERS,
            QUICK.withMaxAttempts(1).withConcurrency(1),
            (order, tx) -> {
              Stage.effect(order, tx);
              if (order.payload().id() == 1) {
                meddling.handler.handle(order, tx);
              } else {
                tx.update(
                    "update effect set note = current_setting('search_path') || current_user where id = ?",
                    order.payload().id());
              }
            })
        .start();
    stage.publish(2);
    stage.awaitNothingWaits();
    // Either it was refused, or it was undone for the next; an effect without its settlement there
    // never is.
    var refused = stage.deadLetters();
    assertThat(refused).isEqualTo(meddling.refused ? 1 : 0);
    assertThat(stage.effects()).isEqualTo(2 - refused);
    assertThat(stage.database.queryString("select note from effect where id = 2"))
        .isEqualTo(before + stage.database.user());
  }

  @SuppressWarnings("ImmutableEnumChecker") // the lambdas hold nothing
  enum Meddling {
    COMMIT(true, (order, tx) -> tx.connection().commit()),
    COMMIT_BY_SQL(true, (order, tx) -> tx.update("/* now */ commit")),
    ROLLBACK(true, (order, tx) -> tx.connection().rollback()),
    ROLLBACK_BY_SQL(true, (order, tx) -> tx.update("select 1; rollback")),
    AUTOCOMMIT(true, (order, tx) -> tx.connection().setAutoCommit(true)),
    CLOSE(false, (order, tx) -> tx.connection().close()),
    SEARCH_PATH(true, (order, tx) -> tx.update("set search_path = pg_catalog")),
    SEARCH_PATH_BY_FUNCTION(
        false,
        (order, tx) -> tx.query("select set_config('search_path', 'pg_catalog', false)", row -> 1)),
    ROLE(true, (order, tx) -> tx.update("set role pgonce_owner")),
    ROLE_BY_FUNCTION(
        false,
        (order, tx) -> {
          tx.query("select set_config('role', 'pgonce_owner', false)", row -> 1);
        });

    final boolean refused;
    final Handler<Stage.Order> handler;

    Meddling(boolean refused, Handler<Stage.Order> handler) {
      this.refused = refused;
      this.handler = handler;
    }
  }

  @ParameterizedTest
  @EnumSource(Throwing.class)
  void h45_whateverAHandlerThrowsIsRolledBackAndTheWorkerLives(Throwing throwing) throws Exception {
    stage
        .pgonce()
        .listen(
            ORDERS,
            QUICK.withConcurrency(1),
            (order, tx) -> {
              Stage.effect(order, tx);
              if (order.payload().id() == 1) {
                throwing.handler.handle(order, tx);
              }
            })
        .start();
    stage.publish(3);
    await().atMost(SOON).until(() -> stage.deadLetters() == 1 && stage.waiting() == 0);
    assertThat(
            stage.database.queryString("select string_agg(id::text, ',' order by id) from effect"))
        .isEqualTo("2,3");
    assertThat(stage.database.queryLong("select attempts from pgonce.dead_letter")).isEqualTo(3);
  }

  @SuppressWarnings("ImmutableEnumChecker") // the lambdas hold nothing
  enum Throwing {
    EXCEPTION(
        (order, tx) -> {
          throw new Exception("checked");
        }),
    ERROR(
        (order, tx) -> {
          throw new AssertionError("an Error");
        }),
    OUT_OF_MEMORY(
        (order, tx) -> {
          throw new OutOfMemoryError("as if");
        }),
    STACK_OVERFLOW((order, tx) -> deeper(0)),
    INTERRUPTED(
        (order, tx) -> {
          Thread.currentThread().interrupt();
          throw new InterruptedException();
        });

    final Handler<Stage.Order> handler;

    Throwing(Handler<Stage.Order> handler) {
      this.handler = handler;
    }

    @SuppressWarnings("InfiniteRecursion") // the test is what it does
    private static int deeper(int depth) {
      return deeper(depth + 1) + 1;
    }
  }

  @Test
  void h45_aHandlerThatNeverReturnsIsCutOffAtItsDeadline() throws Exception {
    var release = new CountDownLatch(1);
    try {
      var pgonce = stage.pgonce();
      pgonce
          .listen(
              ORDERS,
              QUICK
                  .withConcurrency(1)
                  .withMaxAttempts(1)
                  // Time enough for the prompt one on a busy machine.
                  .withHandlerTimeout(Duration.ofSeconds(3)),
              (order, tx) -> {
                Stage.effect(order, tx);
                if (order.payload().id() == 1) {
                  awaitIgnoringInterrupts(release);
                }
              })
          .start();
      stage.publish(2);
      // The stuck thread is still stuck, and yet its row is settled, its work undone, and the next
      // one handled.
      await().atMost(SOON).until(() -> stage.deadLetters() == 1 && stage.waiting() == 0);
      assertThat(stage.database.queryString("select string_agg(id::text, ',') from effect"))
          .isEqualTo("2");
      assertThat(stage.database.queryString("select error from pgonce.dead_letter"))
          .contains("did not return within 3000 ms");
      assertThat(pgonce.status().channels().get(0).stuck()).isEqualTo(1);
      release.countDown();
      await().atMost(SOON).until(() -> pgonce.status().channels().get(0).stuck() == 0);
    } finally {
      release.countDown();
    }
  }

  @Test
  void h45_aHandlerStuckInTheDatabaseIsCutOffThereToo() throws Exception {
    stage
        .pgonce()
        .listen(
            ORDERS,
            QUICK.withMaxAttempts(1).withHandlerTimeout(Duration.ofMillis(300)),
            (order, tx) -> tx.query("select pg_sleep(3600)", row -> 1))
        .start();
    stage.publish(1);
    await().atMost(SOON).until(() -> stage.deadLetters() == 1);
    await().atMost(SOON).until(() -> stage.database.backends().running("pg_sleep(3600)").isEmpty());
  }

  private static void awaitIgnoringInterrupts(CountDownLatch latch) {
    while (true) {
      try {
        latch.await();
        return;
      } catch (InterruptedException ignoredOnPurpose) {
        // A handler as unwilling as can be.
      }
    }
  }

  @Test
  void h46_aPoisonNotificationBecomesADeadLetterAndTheOthersFlow() throws Exception {
    stage
        .pgonce()
        .listen(
            ORDERS,
            QUICK,
            (order, tx) -> {
              Stage.effect(order, tx);
              if (order.payload().id() == 5) {
                throw new IllegalStateException("poison");
              }
            })
        .start();
    stage.publish(50);
    await().atMost(SOON).until(() -> stage.waiting() == 0 && stage.deadLetters() == 1);
    assertThat(stage.effects()).isEqualTo(49);
    assertThat(
            stage.database.queryString(
                "select channel || ' ' || reason || ' ' || attempts || ' ' || error from pgonce.dead_letter_status"))
        .isEqualTo("orders ATTEMPTS_USED_UP 3 java.lang.IllegalStateException: poison");
  }

  @Test
  void h25_garbageBecomesADeadLetterWithoutQuotingIt() throws Exception {
    stage.database.execute(
        "select pgonce.publish_all('orders', '[\"secret\", {\"id\": \"secret\"}, null, [\"secret\"], {\"id\": {\"secret\": 1}}]')");
    stage.publish(1);
    stage.pgonce().listen(ORDERS, QUICK, Stage::effect).start();
    await().atMost(SOON).until(() -> stage.waiting() == 0);
    assertThat(stage.deadLetters()).isEqualTo(5);
    assertThat(stage.effects()).isEqualTo(1);
    assertThat(
            stage.database.queryLong(
                "select count(*) from pgonce.dead_letter where reason = 'UNREADABLE' and error not like '%secret%'"))
        .isEqualTo(5);
  }

  @Test
  void example_rejectAndRedrive() throws Exception {
    var mended = new AtomicInteger();
    var pgonce = stage.pgonce();
    pgonce
        .listen(
            ORDERS,
            QUICK,
            (order, tx) -> {
              if (mended.get() == 0) {
                throw new RejectedException("item unknown");
              }
              Stage.effect(order, tx);
            })
        .start();
    stage.publish(2);
    await().atMost(SOON).until(() -> stage.deadLetters() == 2);
    var letters = stage.onCall().deadLetters(ORDERS, 10);
    assertThat(letters).extracting("reason").containsExactly("REJECTED", "REJECTED");

    mended.set(1);
    assertThat(stage.onCall().redrive(ORDERS, java.util.List.of(letters.get(0).id()))).isEqualTo(1);
    assertThat(stage.onCall().redrive(ORDERS)).isEqualTo(1);
    await().atMost(SOON).until(() -> stage.eachOnce(2));
    assertThat(stage.deadLetters()).isZero();
  }

  @Test
  void h48_deadlockAndTimeoutsAreRetriedAndTakeEffectOnce() throws Exception {
    stage.database.execute(
        "create table pair (id int primary key, n int); insert into pair values (1, 0), (2, 0)");
    var options = QUICK.withMaxAttempts(50).withConcurrency(8);
    var deadlocks = new AtomicInteger();
    // Each side has one of the two rows before either goes on to the other.
    var oddHasOne = new CountDownLatch(1);
    var evenHasOne = new CountDownLatch(1);
    stage
        .pgonce()
        .listen(
            ORDERS,
            options,
            (order, tx) -> {
              var odd = order.payload().id() % 2 == 1;
              tx.update("set local deadlock_timeout = '5ms'");
              tx.update("update pair set n = n + 1 where id = ?", odd ? 1 : 2);
              (odd ? oddHasOne : evenHasOne).countDown();
              Stage.awaitSoon(odd ? evenHasOne : oddHasOne);
              try {
                tx.update("update pair set n = n + 1 where id = ?", odd ? 2 : 1);
              } catch (SQLException e) {
                deadlocks.addAndGet("40P01".equals(e.getSQLState()) ? 1 : 0);
                throw e;
              }
              if (order.attempt() == 1 && order.payload().id() == 7) {
                tx.update("set local statement_timeout = '5ms'");
                tx.query("select pg_sleep(10)", row -> 1);
              }
              if (order.attempt() == 1 && order.payload().id() == 8) {
                tx.update("set local idle_in_transaction_session_timeout = '20ms'");
                new CountDownLatch(1).await(100, java.util.concurrent.TimeUnit.MILLISECONDS);
              }
            })
        .start();
    stage.publish(16);
    await().atMost(Duration.ofSeconds(40)).until(() -> stage.waiting() == 0);
    assertThat(deadlocks.get()).isPositive();
    assertThat(stage.database.queryString("select string_agg(n::text, ',') from pair"))
        .isEqualTo("16,16");
    assertThat(stage.deadLetters()).isZero();
  }

  @Test
  void h51_aRowThatIsGoneIsReportedAndItsHandlerHasNoEffect() throws Exception {
    var deleted = new AtomicInteger();
    stage
        .pgonce()
        .listen(
            ORDERS,
            QUICK,
            (order, tx) -> {
              Stage.effect(order, tx);
              // The handler's own connection may touch the row that it holds: whoever else tries
              // waits.
              if (order.payload().id() == 1) {
                deleted.addAndGet(
                    tx.update(
                        """
                        with retried as (delete from pgonce.scheduled where subscription_id > 0 and id = ? returning 1)
                        delete from pgonce.notification where subscription_id > 0 and id = ?
                        """,
                        order.id(),
                        order.id()));
              }
            })
        .start();
    stage.publish(2);
    await().atMost(SOON).until(() -> stage.waiting() == 0);
    assertThat(deleted.get()).isGreaterThanOrEqualTo(1);
    assertThat(stage.database.queryLong("select count(*) from effect where id = 2")).isEqualTo(1);
    // Undone with the handler's work, the deletion was no way around the attempts.
    assertThat(stage.database.queryString("select reason || error from pgonce.dead_letter"))
        .contains("ATTEMPTS_USED_UP")
        .contains("no longer there");
  }
}
