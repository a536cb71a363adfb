package org.pgonce.test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;
import javax.sql.DataSource;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.Handler;
import org.pgonce.KeyOrder;
import org.pgonce.ListenOptions;
import org.pgonce.Mode;
import org.pgonce.Notification;
import org.pgonce.PgOnceException;
import org.pgonce.PublishOptions;
import org.pgonce.Tx;

/** It finds handlers that are not exactly-once, and passes those that are. */
@PgOnceTest
@Tag("versions")
class ChaosTest {

  private static final Channel<Integer> ONCE = Channel.of("once", Integer.class);
  private static final Channel<Integer> LEASED =
      Channel.of("leased", Integer.class, Mode.AT_LEAST_ONCE);
  private static final String COUNT = "select count(*) from greeting";
  private static final String INSERT = "insert into greeting values (?)";

  // As a user's handler that writes by tx.
  private static final Handler<Integer> GOOD = (one, tx) -> tx.update(INSERT, one.payload());

  private static final Handler<Integer> BATCH =
      Handler.batch(
          (several, tx) -> {
            for (var one : several) {
              tx.update(INSERT, one.payload());
            }
          });

  @BeforeEach
  void install(PgOnceTester pgonce) {
    pgonce.execute("create table greeting (user_id bigint)");
    pgonce.install(ONCE, LEASED);
  }

  private static void publish(PgOnceTester pgonce, Channel<Integer> channel, int count) {
    for (var i = 1; i <= count; i++) {
      pgonce.publish(channel, i);
    }
  }

  @ParameterizedTest
  @EnumSource(
      value = Mode.class,
      names = {"EXACTLY_ONCE", "AT_LEAST_ONCE"})
  void theSecondHolderSeesNothingThatTheFirstBoundToItsThread(Mode mode, PgOnceTester pgonce) {
    var channel = mode == Mode.EXACTLY_ONCE ? ONCE : LEASED;
    var bound = new ThreadLocal<Boolean>();
    // As a framework that binds a transaction to the thread, and refuses a second one.
    pgonce.interceptors(
        call -> {
          if (bound.get() != null) {
            throw new IllegalStateException("something is bound already");
          }
          bound.set(true);
          try {
            call.proceed();
          } finally {
            bound.remove();
          }
        });
    publish(pgonce, channel, 2);
    Handler<Integer> handler =
        mode == Mode.EXACTLY_ONCE
            ? GOOD
            : (one, tx) ->
                tx.update(
                    "insert into greeting select ? where not exists (select from greeting where"
                        + " user_id = ?)",
                    one.payload(),
                    one.payload());
    pgonce.chaos(channel, handler).runTwice().assertEffectsOnce(COUNT);
  }

  @Test
  void api_triesTheHandlerThatWasGivenBefore(PgOnceTester pgonce) {
    publish(pgonce, ONCE, 2);
    pgonce.listen(ONCE, GOOD).chaos(ONCE).failOnceAfter().assertEffectsOnce(COUNT);
    assertThat(pgonce.count(COUNT)).isEqualTo(2);
  }

  @Test
  void api_passesAHandlerThatWritesByTx(PgOnceTester pgonce) {
    publish(pgonce, ONCE, 5);
    List<Long> runs = new ArrayList<>();
    pgonce
        .chaos(
            ONCE,
            (one, tx) -> {
              runs.add(one.id());
              GOOD.handle(one, tx);
            })
        .assertEffectsOnce(COUNT);
    // Without a fault, killed, answer lost (committed: it does not run again), twice, failed.
    assertThat(runs).containsExactly(1L, 2L, 2L, 3L, 4L, 4L, 5L, 5L);
    assertThat(pgonce).isEmpty();
    assertThat(pgonce.count("select count(distinct user_id) from greeting")).isEqualTo(5);
  }

  @Test
  void api_passesAHandlerOnLeaseThatWritesByTx(PgOnceTester pgonce) {
    // The second holder would wait for the first, if that still had the key.
    pgonce.execute("alter table greeting add primary key (user_id)");
    publish(pgonce, LEASED, 5);
    pgonce.chaos(LEASED, GOOD).assertEffectsOnce(COUNT);
    assertThat(pgonce).isEmpty();
  }

  @Test
  void api_passesABatchHandlerAndAConditionAndAnOrder(PgOnceTester pgonce) {
    var ordered =
        Channel.of(
            "ordered",
            Integer.class,
            Mode.EXACTLY_ONCE,
            ChannelOptions.DEFAULT.withOrder(KeyOrder.DEAD_LETTER_BLOCKS));
    pgonce.install(ordered);
    for (var i = 1; i <= 5; i++) {
      pgonce.publish(ordered, i, PublishOptions.DEFAULT.withOrderKey("a").withDeliveryKey("k" + i));
    }
    pgonce
        .chaos(ordered, Handler.onlyIf((one, tx) -> one.payload() > 0, BATCH))
        .assertEffectsOnce(COUNT);
    assertThat(pgonce).isEmpty();
  }

  /** Else the rest of a batch would be settled unhandled, and the handler be blamed for it. */
  @Test
  void api_takesTheNotificationsOfABatchListenerOneByOne(PgOnceTester pgonce) {
    publish(pgonce, ONCE, 5);
    pgonce
        .listen(ONCE, "default", ListenOptions.DEFAULT.withBatch(3), BATCH)
        .chaos(ONCE)
        .assertEffectsOnce(COUNT);
    assertThat(pgonce).isEmpty();
  }

  @ParameterizedTest
  @EnumSource(
      value = Fault.class,
      names = {"KILL_BEFORE_COMMIT", "RUN_TWICE", "FAIL_ONCE_AFTER"})
  void api_findsASecondConnection(Fault fault, PgOnceTester pgonce, DataSource dataSource) {
    publish(pgonce, ONCE, 2);
    Handler<Integer> bad =
        (one, tx) -> {
          try (var own = dataSource.getConnection();
              var insert = own.prepareStatement(INSERT)) {
            insert.setInt(1, one.payload());
            insert.executeUpdate();
          }
        };
    assertThatThrownBy(() -> with(fault, pgonce.chaos(ONCE, bad)).assertEffectsOnce(COUNT))
        .isInstanceOf(AssertionError.class)
        .hasMessage(
            """
            the effects of the handler of channel once are not exactly once:
              without a fault: runs 1, effects 1
              WRONG %s: runs 2, effects 2
            More effects: it does something outside of tx (another connection, autocommit, a call without the delivery key). \
            Fewer: it takes something for done that was undone (kept in memory, or outside).\
            """
                .formatted(fault));
  }

  private static Chaos<Integer> with(Fault fault, Chaos<Integer> chaos) {
    return switch (fault) {
      case KILL_BEFORE_COMMIT -> chaos.killBeforeCommit();
      case LOSE_COMMIT_ANSWER -> chaos.loseCommitAnswer();
      case RUN_TWICE -> chaos.runTwice();
      case FAIL_ONCE_AFTER -> chaos.failOnceAfter();
    };
  }

  @Test
  void api_findsACallWithoutItsKey(PgOnceTester pgonce) {
    publish(pgonce, ONCE, 5);
    var outside = new OutsideCalls();
    var chaos = pgonce.chaos(ONCE, (one, tx) -> outside.callWithoutKey());
    assertThatThrownBy(() -> chaos.assertEffectsOnce(outside::effects))
        .hasMessageContaining("WRONG killBeforeCommit: runs 2, effects 2")
        .hasMessageContaining("\n  loseCommitAnswer: runs 1, effects 1")
        .hasMessageContaining("WRONG runTwice: runs 2, effects 2")
        .hasMessageContaining("WRONG failOnceAfter: runs 2, effects 2");
  }

  @Test
  void api_passesACallWithItsKey(PgOnceTester pgonce) {
    publish(pgonce, LEASED, 5);
    var outside = new OutsideCalls();
    pgonce
        .chaos(LEASED, (one, tx) -> outside.call(one.deliveryKey()))
        .assertEffectsOnce(outside::effects);
    assertThat(outside.calls()).isEqualTo(8);
    assertThat(outside.effects()).isEqualTo(5);
  }

  @Test
  void api_findsAMemoryOfWhatWasUndone(PgOnceTester pgonce) {
    publish(pgonce, ONCE, 2);
    Set<Long> done = ConcurrentHashMap.newKeySet();
    Handler<Integer> bad =
        (one, tx) -> {
          if (done.add(one.id())) {
            GOOD.handle(one, tx);
          }
        };
    assertThatThrownBy(() -> pgonce.chaos(ONCE, bad).killBeforeCommit().assertEffectsOnce(COUNT))
        .hasMessageContaining("WRONG killBeforeCommit: runs 2, effects 0");
  }

  /** Its second run meets what its first one has left behind. */
  @Test
  void api_findsAHandlerThatCannotRunAgain(PgOnceTester pgonce) {
    publish(pgonce, ONCE, 2);
    var seen = new HashSet<Long>();
    Handler<Integer> bad =
        (one, tx) -> {
          if (!seen.add(one.id())) {
            throw new IllegalStateException("seen before");
          }
          GOOD.handle(one, tx);
        };
    assertThatThrownBy(() -> pgonce.chaos(ONCE, bad).failOnceAfter().assertEffectsOnce(COUNT))
        .hasMessageContaining("runs 2, effects 0, and then: its run 2 failed: ")
        .hasMessageContaining("seen before");
  }

  /** Its second run would succeed, and no fault have been tried. */
  @Test
  void api_saysThatTheFaultDidNotHappen(PgOnceTester pgonce) {
    publish(pgonce, ONCE, 2);
    Handler<Integer> unsteady =
        (one, tx) -> {
          if (one.payload() == 2 && one.attempt() == 1) {
            throw new IllegalStateException("not yet");
          }
          GOOD.handle(one, tx);
        };
    var chaos = pgonce.chaos(ONCE, unsteady).killBeforeCommit();
    assertThatThrownBy(() -> chaos.assertEffectsOnce(COUNT))
        .hasMessageContaining(
            "and then: the handler failed before the fault: java.lang.IllegalStateException: not"
                + " yet");
  }

  /** Else its two effects would be what each fault is compared with. */
  @Test
  void api_aHandlerThatFailsWithoutAFaultIsNoMeasure(PgOnceTester pgonce, DataSource dataSource) {
    publish(pgonce, ONCE, 2);
    Handler<Integer> bad =
        (one, tx) -> {
          try (var own = dataSource.getConnection();
              var insert = own.prepareStatement(INSERT)) {
            insert.setInt(1, one.payload());
            insert.executeUpdate();
          }
          if (one.payload() == 1 && one.attempt() == 1) {
            throw new IllegalStateException("not yet");
          }
        };
    assertThatThrownBy(() -> pgonce.chaos(ONCE, bad).failOnceAfter().assertEffectsOnce(COUNT))
        .isInstanceOf(IllegalStateException.class)
        .hasMessage("the handler of channel once fails without a fault")
        .cause()
        .hasMessage("the handler fails without a fault: java.lang.IllegalStateException: not yet")
        .hasRootCauseMessage("not yet");
  }

  @Test
  void api_needsEnoughNotificationsAndAnEffect(PgOnceTester pgonce) {
    var chaos = pgonce.chaos(ONCE, GOOD).killBeforeCommit();
    assertThatThrownBy(() -> chaos.assertEffectsOnce(COUNT))
        .isInstanceOf(PgOnceException.class)
        .hasMessage(
            "chaos needs a notification of channel once that is due for the run without a fault,"
                + " and one for each fault: publish more");
    publish(pgonce, ONCE, 1);
    assertThatThrownBy(() -> chaos.assertEffectsOnce(COUNT))
        .isInstanceOf(PgOnceException.class)
        .hasMessageStartingWith("chaos needs a notification of channel once");
    publish(pgonce, ONCE, 1);
    assertThatThrownBy(() -> chaos.assertEffectsOnce("select 1"))
        .isInstanceOf(IllegalStateException.class)
        .hasMessage(
            "the handler of channel once changed the count by 0 where no fault was: count what it"
                + " does");
  }

  @Test
  void api_refusesModesThatNeverRunAgain(PgOnceTester pgonce) {
    var atMostOnce = Channel.of("at_most_once", Integer.class, Mode.AT_MOST_ONCE);
    assertThatThrownBy(() -> pgonce.chaos(atMostOnce, GOOD))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage(
            "channel at_most_once is AT_MOST_ONCE, which never runs a handler again: chaos is for"
                + " EXACTLY_ONCE and AT_LEAST_ONCE");
  }

  @Test
  void api_theSessionReallyEnds(PgOnceTester pgonce, DataSource dataSource) {
    publish(pgonce, ONCE, 2);
    var sessions = new ArrayList<Long>();
    pgonce
        .chaos(
            ONCE,
            (Notification<Integer> one, Tx tx) -> {
              sessions.add(tx.query("select pg_backend_pid()", row -> row.getLong(1)).get(0));
              GOOD.handle(one, tx);
            })
        .killBeforeCommit()
        .assertEffectsOnce(COUNT);
    assertThat(sessions).hasSize(3);
    assertThat(pgonce.count("select count(*) from pg_stat_activity where pid = " + sessions.get(1)))
        .isZero();
  }

  /** It waits for the first where no interrupt reaches it, and goes on when that has ended. */
  @Tag("all")
  @Test
  void aSecondHolderThatIsTooLateHasEndedBeforeTheNextFault(PgOnceTester pgonce) {
    var lock = new ReentrantLock();
    pgonce.bounds(100, Duration.ofMillis(200));
    pgonce.interceptors(
        call -> {
          lock.lock();
          try {
            call.proceed();
          } finally {
            lock.unlock();
          }
        });
    publish(pgonce, LEASED, 2);
    Handler<Integer> handler =
        (one, tx) -> {
          if (isSecond(Thread.currentThread())) {
            tx.query("select 1 from pg_sleep(1)", row -> row.getInt(1));
          }
          GOOD.handle(one, tx);
        };
    assertThatThrownBy(() -> pgonce.chaos(LEASED, handler).runTwice().assertEffectsOnce(COUNT))
        .hasMessageContaining("its second run did not end within PT0.2S");
    assertThat(Thread.getAllStackTraces().keySet()).noneMatch(ChaosTest::isSecond);
  }

  private static boolean isSecond(Thread thread) {
    return thread.getName().equals("pgonce-test second holder");
  }
}
