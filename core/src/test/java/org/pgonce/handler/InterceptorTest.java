package org.pgonce.handler;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.pgonce.stage.Stage.ORDERS;
import static org.pgonce.stage.Stage.QUICK;

import java.sql.SQLException;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.pgonce.Channel;
import org.pgonce.Handler;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.RejectedException;
import org.pgonce.spi.HandlerInterceptor;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.stage.Stage.Order;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** Interceptors run around each run of a handler, and cannot make one that did not run handled. */
@PgTest(PgOnceInstalled.class)
class InterceptorTest {

  private static final ThreadLocal<String> TRACE = new ThreadLocal<>();

  private final List<String> steps = new CopyOnWriteArrayList<>();
  private Stage stage;

  @BeforeEach
  void open(TestDatabase database) throws SQLException {
    stage = new Stage(database);
  }

  @AfterEach
  void close() {
    stage.close();
  }

  @Test
  void example_eachHandlerRunsWithTheTraceOfItsNotification() throws Exception {
    HandlerInterceptor tracing =
        call -> {
          TRACE.set(call.notifications().get(0).deliveryKey());
          try {
            call.proceed();
          } finally {
            TRACE.remove();
          }
        };
    stage
        .pgonce(PgOnce.builder(stage.dataSource).interceptors(tracing))
        .listen(
            ORDERS,
            (order, tx) ->
                tx.update(
                    "insert into effect values (?, ?)",
                    order.payload().id(),
                    TRACE.get().equals(order.deliveryKey()) ? "traced" : "lost"))
        .start();
    stage.publish(3);
    stage.awaitNothingWaits();
    assertThat(stage.database.queryString("select string_agg(note, ' ') from effect"))
        .isEqualTo("traced traced traced");
  }

  /** Notes in which order it is passed, on the way in and out. */
  private HandlerInterceptor named(String name) {
    return call -> {
      steps.add(name + " in");
      try {
        call.proceed();
      } finally {
        steps.add(name + " out");
      }
    };
  }

  private PgOnce intercepted(HandlerInterceptor... interceptors) {
    return stage.pgonce(PgOnce.builder(stage.dataSource).interceptors(interceptors));
  }

  @ParameterizedTest
  @EnumSource(Mode.class)
  void inEveryModeTheyAreNestedInTheirOrderAroundConditionAndHandler(Mode mode) throws Exception {
    var channel = Stage.wokenAlways("intercepted", mode);
    var seen = new AtomicReference<HandlerInterceptor.Call>();
    var pgonce =
        stage
            .pgonce(
                PgOnce.builder(stage.dataSource)
                    .interceptors(named("first"), named("second"))
                    .interceptors(
                        call -> {
                          seen.set(call);
                          call.tx().update("insert into effect values (0, 'interceptor')");
                          call.proceed();
                        }))
            .install(channel)
            .listen(
                channel,
                QUICK,
                Handler.onlyIf(
                    (order, tx) -> steps.add("condition"),
                    (order, tx) -> {
                      assertThat(tx).isSameAs(seen.get().tx());
                      assertThat(seen.get().notifications()).hasSize(1).first().isSameAs(order);
                      assertThat(seen.get().mode()).isEqualTo(mode);
                      steps.add("handler");
                      Stage.effect(order, tx);
                    }))
            .start();
    try (var connection = stage.dataSource.getConnection()) {
      pgonce.publisher().publish(connection, channel, new Order(1, "item"));
    }
    stage.awaitSoon(() -> stage.effects() == 2);
    assertThat(steps)
        .containsExactly(
            "first in", "second in", "condition", "handler", "second out", "first out");
  }

  @Test
  void ofABatchTheyRunForEachNotificationInOneTransaction() throws Exception {
    var lists = new ConcurrentLinkedQueue<List<Long>>();
    stage.publish(3);
    intercepted(
            call -> {
              call.tx().update("insert into effect values (0, txid_current()::text)");
              lists.add(ids(call));
              call.proceed();
            })
        .listen(ORDERS, QUICK.withConcurrency(1).withBatch(3), (order, tx) -> {})
        .start();
    stage.awaitNothingWaits();
    assertThat(lists).containsExactly(List.of(1L), List.of(2L), List.of(3L));
    assertThat(stage.database.queryLong("select count(distinct note) from effect")).isEqualTo(1);
  }

  @Test
  void ofAListHandlerTheyRunOnceForTheList() throws Exception {
    var lists = new ConcurrentLinkedQueue<List<Long>>();
    var handled = new AtomicReference<List<Long>>();
    stage.publish(3);
    intercepted(
            call -> {
              lists.add(ids(call));
              assertThatThrownBy(() -> call.notifications().clear())
                  .isInstanceOf(UnsupportedOperationException.class);
              call.proceed();
            })
        .listen(
            ORDERS,
            QUICK.withConcurrency(1).withBatch(3),
            Handler.onlyIf(
                (order, tx) -> order.payload().id() != 2,
                Handler.batch(
                    (orders, tx) ->
                        handled.set(orders.stream().map(one -> one.payload().id()).toList()))))
        .start();
    stage.awaitNothingWaits();
    assertThat(lists).containsExactly(List.of(1L, 2L, 3L));
    assertThat(handled).hasValue(List.of(1L, 3L));
  }

  private static List<Long> ids(HandlerInterceptor.Call call) {
    return call.notifications().stream().map(one -> ((Order) one.payload()).id()).toList();
  }

  /** Of the first attempt; the second one succeeds, and its effects alone are there. */
  private void failsOnce(HandlerInterceptor faulty, String reason) throws Exception {
    failsOnce(Mode.EXACTLY_ONCE, faulty, Stage::effect, reason);
  }

  private void failsOnce(
      Mode mode, HandlerInterceptor faulty, Handler<Order> handler, String reason)
      throws Exception {
    var channel = Channel.of("faulty", Order.class, mode);
    intercepted(
            named("outer"),
            call -> {
              if (call.notifications().get(0).attempt() == 1) {
                faulty.around(call);
              } else {
                assertThat(
                        stage.database.queryString(
                            "select last_error from pgonce.scheduled where subscription_id > 0"))
                    .contains(reason);
                call.proceed();
              }
            })
        .install(channel)
        .listen(channel, QUICK.withConcurrency(1), handler)
        .start();
    try (var connection = stage.dataSource.getConnection()) {
      PgOnce.using(stage.dataSource).publisher().publish(connection, channel, new Order(1, "a"));
    }
    stage.awaitSoon(() -> stage.effects() > 0);
    stage.awaitNothingWaits();
    assertThat(stage.database.queryString("select string_agg(note, ' ') from effect"))
        .isEqualTo("attempt 2");
    assertThat(steps).containsExactly("outer in", "outer out", "outer in", "outer out");
    assertThat(stage.deadLetters()).isZero();
  }

  @ParameterizedTest
  @EnumSource(names = {"EXACTLY_ONCE", "AT_LEAST_ONCE"})
  void whatOneThrowsBeforeTheHandlerFailsTheAttempt(Mode mode) throws Exception {
    failsOnce(
        mode,
        call -> {
          throw new IllegalStateException("no trace");
        },
        Stage::effect,
        "no trace");
  }

  @Test
  void whatOneThrowsBehindTheHandlerUndoesItsWork() throws Exception {
    failsOnce(
        call -> {
          call.proceed();
          throw new AssertionError("no more");
        },
        "java.lang.AssertionError: no more");
  }

  @Test
  void oneThatDoesNotProceedFailsTheAttempt() throws Exception {
    failsOnce(call -> {}, "returned without a call of proceed()");
  }

  @Test
  void oneThatSwallowsTheHandlersExceptionFailsTheAttemptAllTheSame() throws Exception {
    failsOnce(
        Mode.EXACTLY_ONCE,
        call -> {
          try {
            call.proceed();
          } catch (Exception swallowed) {
            // as some do
          }
        },
        (order, tx) -> {
          Stage.effect(order, tx);
          if (order.attempt() == 1) {
            throw new IllegalStateException("the handler's own");
          }
        },
        "the handler's own");
  }

  @Test
  void oneThatSwallowsABareThrowableOfTheHandlerFailsTheAttemptAllTheSame() throws Exception {
    failsOnce(
        Mode.EXACTLY_ONCE,
        call -> {
          try {
            call.proceed();
          } catch (Throwable swallowed) {
            // as some do
          }
        },
        (order, tx) -> {
          Stage.effect(order, tx);
          if (order.attempt() == 1) {
            throwUndeclared(new Throwable("neither Error nor Exception"));
          }
        },
        "neither Error nor Exception");
  }

  /** As other languages of the JVM do, and some libraries. */
  @SuppressWarnings("unchecked")
  private static <E extends Throwable> void throwUndeclared(Throwable thrown) throws E {
    throw (E) thrown;
  }

  @Test
  void oneThatSwallowsARejectionMakesADeadLetterAllTheSame() throws Exception {
    intercepted(
            call -> {
              try {
                call.proceed();
              } catch (RejectedException swallowed) {
                // as some do
              }
            })
        .listen(
            ORDERS,
            QUICK,
            (order, tx) -> {
              throw new RejectedException("never");
            })
        .start();
    stage.publish(1);
    stage.awaitSoon(() -> stage.deadLetters() == 1);
    assertThat(stage.onCall().deadLetters(ORDERS, 1).get(0).reason()).isEqualTo("REJECTED");
  }

  @Test
  void oneThatProceedsTwiceFailsAndTheHandlerRunsOnce() throws Exception {
    var runs = new AtomicInteger();
    failsOnce(
        Mode.EXACTLY_ONCE,
        call -> {
          call.proceed();
          call.proceed();
        },
        (order, tx) -> {
          if (order.attempt() == 1) {
            runs.incrementAndGet();
          }
          Stage.effect(order, tx);
        },
        "proceed() is called once");
    assertThat(runs).hasValue(1);
  }

  @Test
  void oneThatProceedsOnAnotherThreadOrTooLateRunsNoHandler() throws Exception {
    var refused = new CopyOnWriteArrayList<Throwable>();
    var kept = new AtomicReference<HandlerInterceptor.Call>();
    intercepted(
            call -> {
              if (kept.getAndSet(call) == null) {
                var other = new Thread(() -> refused.add(proceeding(call)));
                other.start();
                other.join();
              } else {
                call.proceed();
              }
            })
        .listen(ORDERS, QUICK, Stage::effect)
        .start();
    stage.publish(1);
    stage.awaitSoon(() -> stage.effects() == 1);
    stage.awaitNothingWaits();
    assertThat(proceeding(kept.get())).isInstanceOf(IllegalStateException.class);
    assertThat(refused).singleElement().isInstanceOf(IllegalStateException.class);
    assertThat(stage.database.queryString("select note from effect")).isEqualTo("attempt 2");
  }

  private static Throwable proceeding(HandlerInterceptor.Call call) {
    try {
      call.proceed();
      return new AssertionError("it ran");
    } catch (Exception refused) {
      return refused;
    }
  }

  /** It is handled without its handler, as without interceptors. */
  @Test
  void aConditionThatDoesNotHoldEndsTheNotificationInsideThem() throws Exception {
    intercepted(named("only"))
        .listen(ORDERS, QUICK, Handler.onlyIf((order, tx) -> false, Stage::effect))
        .start();
    stage.publish(1);
    stage.awaitSoon(() -> steps.size() == 2);
    stage.awaitNothingWaits();
    assertThat(stage.effects()).isZero();
  }

  @Test
  void whatOnePublishesIsAsDeepAsWhatTheHandlerPublishes() throws Exception {
    var copies = Channel.of("copies", Order.class);
    var depths = new CopyOnWriteArrayList<Integer>();
    intercepted(
            call -> {
              call.proceed();
              if (call.notifications().get(0).channel().equals("orders")) {
                call.tx().publish(copies, new Order(1, "copy"));
              }
            })
        .install(copies)
        .listen(ORDERS, QUICK, (order, tx) -> {})
        .listen(copies, QUICK, (copy, tx) -> depths.add(copy.depth()))
        .start();
    stage.publish(1);
    stage.awaitSoon(() -> depths.size() == 1);
    assertThat(depths).containsExactly(1);
  }
}
