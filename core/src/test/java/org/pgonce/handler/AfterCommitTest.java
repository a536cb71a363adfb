package org.pgonce.handler;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.pgonce.stage.Stage.ORDERS;
import static org.pgonce.stage.Stage.QUICK;

import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.Handler;
import org.pgonce.ListenOptions;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.Tx;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.stage.Stage.Order;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** What a handler leaves to be run behind its transaction learns how that ended. */
@PgTest(PgOnceInstalled.class)
@Tag("drivers")
class AfterCommitTest {

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

  /** Notes what it is told, as «commit» and the outcome. */
  private void note(Tx tx) {
    tx.afterCompletion(outcome -> ends.add(outcome.name()));
    tx.afterCommit(() -> ends.add("commit"));
  }

  private PgOnce listen(Mode mode, ListenOptions options, Handler<Order> handler)
      throws SQLException {
    var channel = Stage.wokenAlways("committed", mode);
    return stage.pgonce().install(channel).listen(channel, options, handler).start();
  }

  private void publishTo(Mode mode) throws SQLException {
    try (var connection = stage.dataSource.getConnection()) {
      stage
          .pgonce()
          .publisher()
          .publish(connection, Stage.wokenAlways("committed", mode), new Order(1, "item"));
    }
  }

  @Test
  void example_aCacheIsEmptiedOnceTheChangeCanBeSeen() throws Exception {
    var cache = new ConcurrentHashMap<Long, String>();
    cache.put(1L, "old");
    stage
        .pgonce()
        .listen(
            ORDERS,
            (order, tx) -> {
              tx.update("insert into effect values (?, 'new')", order.payload().id());
              tx.afterCommit(() -> cache.remove(order.payload().id()));
            })
        .start();
    stage.publish(1);
    stage.awaitSoon(cache::isEmpty);
    assertThat(stage.database.queryString("select note from effect")).isEqualTo("new");
  }

  @ParameterizedTest
  @EnumSource(Mode.class)
  void inEveryModeTheyRunBehindTheCommitOnTheHandlersThread(Mode mode) throws Exception {
    var threads = new CopyOnWriteArrayList<Thread>();
    listen(
        mode,
        QUICK,
        (order, tx) -> {
          threads.add(Thread.currentThread());
          tx.afterCompletion(
              outcome -> {
                ends.add("first " + outcome);
                threads.add(Thread.currentThread());
              });
          tx.afterCommit(() -> ends.add(seen("commit")));
          tx.afterCompletion(outcome -> ends.add(seen("second " + outcome)));
          tx.afterCommit(() -> ends.add("commit again"));
          Stage.effect(order, tx);
        });
    publishTo(mode);
    stage.awaitSoon(() -> ends.size() == 4);
    assertThat(ends)
        .containsExactly(
            "commit sees 1, 0 wait",
            "commit again",
            "first COMMITTED",
            "second COMMITTED sees 1, 0 wait");
    assertThat(threads.get(1)).isSameAs(threads.get(0));
  }

  /** From another session. */
  private String seen(String who) {
    try {
      return who + " sees " + stage.effects() + ", " + stage.waiting() + " wait";
    } catch (SQLException e) {
      throw new IllegalStateException(e);
    }
  }

  @ParameterizedTest
  @EnumSource(Mode.class)
  void withoutAStatementOfTheHandlerItIsCommittedAlike(Mode mode) throws Exception {
    listen(mode, QUICK, (order, tx) -> note(tx));
    publishTo(mode);
    stage.awaitSoon(() -> ends.size() == 2);
    assertThat(ends).containsExactly("commit", "COMMITTED");
  }

  @ParameterizedTest
  @EnumSource(Mode.class)
  void behindAHandlerThatThrowsItIsRolledBack(Mode mode) throws Exception {
    listen(
        mode,
        QUICK.withMaxAttempts(1),
        (order, tx) -> {
          note(tx);
          Stage.effect(order, tx);
          throw new IllegalStateException("once");
        });
    publishTo(mode);
    stage.awaitSoon(() -> ends.size() == 1);
    assertThat(ends).containsExactly("ROLLED_BACK");
    assertThat(stage.effects()).isZero();
  }

  @Test
  void eachAttemptHasItsOwn() throws Exception {
    listen(
        Mode.EXACTLY_ONCE,
        QUICK,
        (order, tx) -> {
          tx.afterCompletion(outcome -> ends.add(order.attempt() + " " + outcome));
          if (order.attempt() < 3) {
            throw new IllegalStateException("not yet");
          }
        });
    publishTo(Mode.EXACTLY_ONCE);
    stage.awaitSoon(() -> ends.size() == 3);
    assertThat(ends).containsExactly("1 ROLLED_BACK", "2 ROLLED_BACK", "3 COMMITTED");
  }

  @Test
  void aCommitThatTheServerRefusesIsRolledBack() throws Exception {
    stage.database.execute(
        "create table slow_check (id bigint unique deferrable initially deferred)");
    listen(
        Mode.EXACTLY_ONCE,
        // Another worker could take the row before the failure is recorded.
        ALONE,
        (order, tx) -> {
          tx.afterCompletion(outcome -> ends.add(order.attempt() + " " + outcome));
          if (order.attempt() == 1) {
            tx.update("insert into slow_check values (1), (1)");
          }
        });
    publishTo(Mode.EXACTLY_ONCE);
    stage.awaitSoon(() -> ends.size() == 2);
    assertThat(ends).containsExactly("1 ROLLED_BACK", "2 COMMITTED");
  }

  /** The run that was undone for a conflict has ended; the one that follows has its own. */
  @Test
  void aConflictCompletesTheRunThatItUndoes() throws Exception {
    var runs = new AtomicInteger();
    listen(
        Mode.EXACTLY_ONCE,
        ALONE,
        (order, tx) -> {
          var run = runs.incrementAndGet();
          ends.add(run + " runs as attempt " + order.attempt());
          tx.afterCompletion(outcome -> ends.add(run + " " + outcome));
          if (run == 1) {
            tx.update("do $$ begin raise exception 'as if' using errcode = '40001'; end $$");
          }
        });
    publishTo(Mode.EXACTLY_ONCE);
    stage.awaitSoon(() -> ends.size() == 4);
    assertThat(ends)
        .containsExactly(
            "1 runs as attempt 1", "1 ROLLED_BACK", "2 runs as attempt 1", "2 COMMITTED");
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void h45_whatTheyThrowChangesNothing(boolean hasWords) throws Exception {
    stage
        .pgonce()
        .listen(
            ORDERS,
            ALONE,
            (order, tx) -> {
              tx.afterCommit(
                  () -> {
                    Thread.currentThread().interrupt();
                    if (hasWords) {
                      throw new AssertionError("an action that breaks");
                    }
                    throw new Mute();
                  });
              note(tx);
              Stage.effect(order, tx);
            })
        .start();
    stage.publish(3);
    stage.awaitSoon(() -> ends.size() == 6);
    assertThat(ends)
        .containsExactly("commit", "COMMITTED", "commit", "COMMITTED", "commit", "COMMITTED");
    assertThat(stage.eachOnce(3)).isTrue();
    assertThat(stage.database.queryLong("select count(*) from effect where note = 'attempt 1'"))
        .isEqualTo(3);
  }

  /** Those of all its notifications, when all are committed, or undone. */
  @Test
  void aBatchCompletesAsOne() throws Exception {
    var hasFailed = new AtomicInteger();
    stage.publish(3);
    stage
        .pgonce()
        .listen(
            ORDERS,
            ALONE.withBatch(3),
            (order, tx) -> {
              var id = order.payload().id();
              tx.afterCompletion(outcome -> ends.add(id + " " + outcome));
              Stage.effect(order, tx);
              if (id == 3 && hasFailed.getAndIncrement() == 0) {
                throw new IllegalStateException("once");
              }
            })
        .start();
    stage.awaitSoon(() -> ends.size() == 6);
    assertThat(ends)
        .containsExactly(
            "1 ROLLED_BACK",
            "2 ROLLED_BACK",
            "3 ROLLED_BACK",
            "1 COMMITTED",
            "2 COMMITTED",
            "3 COMMITTED");
    ends.clear();
    stage.database.execute("truncate effect");
    stage.publish(2);
    stage.awaitSoon(() -> ends.size() == 2);
    assertThat(ends).containsExactly("1 COMMITTED", "2 COMMITTED");
    assertThat(stage.eachOnce(2)).isTrue();
  }

  // Cut off.

  /** It runs when the handler is back, whatever that does then. */
  @ParameterizedTest
  @EnumSource(Mode.class)
  void behindAHandlerThatOverrunsItIsRolledBack(Mode mode) throws Exception {
    listen(
        mode,
        // Its time begins with the claim: on a busy machine it must not be over before the note.
        ALONE.withMaxAttempts(1).withHandlerTimeout(Duration.ofSeconds(1)),
        (order, tx) -> {
          note(tx);
          Stage.effect(order, tx);
          untilInterrupted();
        });
    publishTo(mode);
    stage.awaitSoon(() -> ends.size() == 1);
    assertThat(ends).containsExactly("ROLLED_BACK");
    stage.awaitNothingWaits();
    assertThat(stage.effects()).isZero();
  }

  @ParameterizedTest
  @EnumSource(Mode.class)
  void behindAHandlerThatIsStoppedItIsRolledBack(Mode mode) throws Exception {
    var begun = new CountDownLatch(1);
    var pgonce =
        listen(
            mode,
            ALONE,
            (order, tx) -> {
              note(tx);
              begun.countDown();
              untilInterrupted();
            });
    publishTo(mode);
    Stage.awaitSoon(begun);
    assertThat(pgonce.stop(Duration.ZERO)).isFalse();
    stage.awaitSoon(() -> ends.size() == 1);
    assertThat(ends).containsExactly("ROLLED_BACK");
  }

  static void untilInterrupted() {
    try {
      new CountDownLatch(1).await();
    } catch (InterruptedException cutOff) {
      // Returns as if it had succeeded.
    }
  }

  // Refused.

  @Test
  void theyAreRegisteredByTheHandlersThreadAndNoLater() throws Exception {
    var kept = new AtomicReference<Tx>();
    var refused = new CopyOnWriteArrayList<Throwable>();
    listen(
        Mode.EXACTLY_ONCE,
        QUICK,
        (order, tx) -> {
          assertThatThrownBy(() -> tx.afterCommit(null)).isInstanceOf(NullPointerException.class);
          CompletableFuture.runAsync(() -> refused.add(refusal(tx))).join();
          tx.afterCompletion(outcome -> refused.add(refusal(tx)));
          kept.set(tx);
        });
    publishTo(Mode.EXACTLY_ONCE);
    stage.awaitSoon(() -> refused.size() == 2);
    refused.add(refusal(kept.get()));
    assertThat(refused)
        .allSatisfy(
            one ->
                assertThat(one)
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("the handler has ended"));
  }

  private static Throwable refusal(Tx tx) {
    try {
      tx.afterCommit(() -> {});
      return new AssertionError("it was registered");
    } catch (RuntimeException refused) {
      return refused;
    }
  }

  /** Their own transactions count for the depth, or a loop of them would have no end. */
  @Test
  void h14_whatTheyPublishIsDeeperThanTheirNotification() throws Exception {
    var loop =
        Channel.of("loop", Order.class, Mode.EXACTLY_ONCE, ChannelOptions.DEFAULT.withMaxDepth(3));
    var pgonce = stage.pgonce().install(loop);
    pgonce
        .listen(
            loop,
            QUICK,
            (order, tx) ->
                tx.afterCommit(
                    () -> {
                      ends.add("depth " + order.depth());
                      publish(pgonce, loop);
                    }))
        .start();
    publish(pgonce, loop);
    stage.awaitSoon(() -> stage.deadLetters() == 1);
    assertThat(ends).containsExactly("depth 0", "depth 1", "depth 2", "depth 3");
  }

  private void publish(PgOnce pgonce, Channel<Order> channel) {
    try (var connection = stage.dataSource.getConnection()) {
      pgonce.publisher().publish(connection, channel, new Order(1, "item"));
    } catch (SQLException e) {
      throw new IllegalStateException(e);
    }
  }
}
