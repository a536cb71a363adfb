package org.pgonce.handler;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.pgonce.stage.Stage.ORDERS;
import static org.pgonce.stage.Stage.QUICK;

import com.zaxxer.hikari.HikariDataSource;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.ValueSource;
import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.Handler;
import org.pgonce.KeyOrder;
import org.pgonce.ListenOptions;
import org.pgonce.Mode;
import org.pgonce.Notification;
import org.pgonce.PgOnce;
import org.pgonce.PublishOptions;
import org.pgonce.Publisher;
import org.pgonce.Tx;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.stage.Stage.Order;
import org.pgonce.testkit.FaultProxy;
import org.pgonce.testkit.Login;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** What holds whichever driver the pool has: pgjdbc or pgjdbc-ng. */
@ParameterizedClass(name = "{0}")
@ValueSource(strings = {"jdbc:postgresql:", "jdbc:pgsql:"})
@PgTest(PgOnceInstalled.class)
class DriverContractTest {

  private static final String LEASED =
      "select max(due_at)::text from pgonce.scheduled where token is not null";
  private static final ListenOptions ONE_ATTEMPT = QUICK.withMaxAttempts(1).withConcurrency(1);

  @Parameter String scheme;

  private Stage stage;
  private HikariDataSource pool;

  @BeforeEach
  void setUp(TestDatabase database) throws SQLException {
    stage = new Stage(database);
    pool = pool(database.login());
  }

  @AfterEach
  void tearDown() {
    stage.close();
    pool.close();
  }

  private HikariDataSource pool(Login login) {
    var made = new HikariDataSource();
    made.setJdbcUrl(login.jdbcUrl().replace("jdbc:postgresql:", scheme));
    made.setUsername(login.user());
    made.setPassword(login.password());
    made.setMaximumPoolSize(8);
    made.setMinimumIdle(1);
    return made;
  }

  private void publish(Channel<Order> channel, PublishOptions options, long... ids)
      throws SQLException {
    try (var connection = pool.getConnection()) {
      for (var id : ids) {
        Publisher.standard().publish(connection, channel, new Order(id, "item"), options);
      }
    }
  }

  private PgOnce listening(ListenOptions options, Handler<Order> handler) {
    return stage.pgonce(pool).listen(ORDERS, options, handler).start();
  }

  @Test
  void whatIsPublishedIsHandledOnceWithItsEffects() throws Exception {
    var pgonce = listening(QUICK.withConcurrency(4), Stage::effect);
    assertThat(pgonce.status().listensBy()).isNotEqualTo("polling");
    try (var connection = pool.getConnection()) {
      var orders = new ArrayList<Order>();
      for (var id = 1; id <= 100; id++) {
        orders.add(new Order(id, "ä馬🐎 'quoted' \\ ? $1"));
      }
      connection.setAutoCommit(false);
      pgonce.publisher().publishAll(connection, ORDERS, orders);
      connection.rollback();
      pgonce.publisher().publishAll(connection, ORDERS, orders);
      connection.commit();
    }
    stage.awaitNothingWaits();
    assertThat(stage.eachOnce(100)).isTrue();
  }

  @Test
  void aHandlerThatFailsIsUndoneAndTriedAgain() throws Exception {
    listening(
        QUICK,
        (order, tx) -> {
          Stage.effect(order, tx);
          if (order.attempt() < 3) {
            throw new IllegalStateException("not yet");
          }
        });
    publish(ORDERS, PublishOptions.DEFAULT, 1);
    stage.awaitNothingWaits();
    assertThat(stage.database.queryString("select note from effect")).isEqualTo("attempt 3");
  }

  @Test
  void aParameterThatIsNullIsNullAndSoIsWhatAMapperReturns() throws Exception {
    stage.database.execute("create table nulls (n bigint, t text)");
    var read = new CopyOnWriteArrayList<String>();
    listening(
        ONE_ATTEMPT,
        (order, tx) -> {
          tx.update("insert into nulls (n, t) values (?, ?)", order.payload().id(), null);
          var sql = "select t from nulls where t is not distinct from ?";
          read.addAll(tx.query(sql, row -> row.getString(1), (Object) null));
        });
    publish(ORDERS, PublishOptions.DEFAULT, 1);
    stage.awaitNothingWaits();
    assertThat(read).containsExactly((String) null);
    assertThat(stage.database.queryLong("select count(*) from nulls where t is null")).isOne();
  }

  @Test
  void h46_theLastFailureMakesADeadLetterThatCanBeRedriven() throws Exception {
    var mended = new CountDownLatch(1);
    listening(
        ONE_ATTEMPT,
        (order, tx) -> {
          if (mended.getCount() > 0) {
            throw new IllegalStateException("broken");
          }
          Stage.effect(order, tx);
        });
    publish(ORDERS, PublishOptions.DEFAULT, 1, 2);
    stage.awaitSoon(() -> stage.deadLetters() == 2);
    mended.countDown();
    var letters = stage.onCall().deadLetters(ORDERS, 10);
    assertThat(letters).hasSize(2);
    assertThat(stage.onCall().discard(ORDERS, List.of(letters.get(0).id()))).isEqualTo(1);
    assertThat(stage.onCall().redrive(ORDERS)).isEqualTo(1);
    stage.awaitNothingWaits();
    assertThat(stage.eachOnce(1)).isTrue();
  }

  @Test
  void h43_aSwallowedSqlErrorIsAFailure() throws Exception {
    listening(
        ONE_ATTEMPT,
        (order, tx) -> {
          Stage.effect(order, tx);
          try {
            tx.update("insert into no_such_table values (1)");
          } catch (SQLException swallowed) {
            assertThat(swallowed.getSQLState()).isEqualTo("42P01");
          }
        });
    publish(ORDERS, PublishOptions.DEFAULT, 1);
    stage.awaitSoon(() -> stage.deadLetters() == 1);
    assertThat(stage.effects()).isZero();
  }

  @Test
  void h44_whatEndsTheTransactionIsRefused() throws Exception {
    listening(ONE_ATTEMPT, (order, tx) -> executed(tx, order, "commit"));
    publish(ORDERS, PublishOptions.DEFAULT, 1);
    stage.awaitSoon(() -> stage.deadLetters() == 1);
    assertThat(stage.effects()).isZero();
  }

  @Test
  void h43_aCopyByTextIsAFailure() throws Exception {
    listening(ONE_ATTEMPT, (order, tx) -> executed(tx, order, "copy effect from stdin"));
    publish(ORDERS, PublishOptions.DEFAULT, 1, 2);
    stage.awaitSoon(() -> stage.deadLetters() == 2);
    assertThat(stage.effects()).isZero();
  }

  private static void executed(Tx tx, Notification<Order> order, String sql) throws SQLException {
    Stage.effect(order, tx);
    try (var statement = tx.connection().createStatement()) {
      statement.execute(sql);
    }
  }

  @Test
  void h45_aHandlerThatOverrunsInAStatementIsCutOffAndItsLocksAreFreed() throws Exception {
    stage.database.execute("create table shared (n int); insert into shared values (1)");
    listening(
        ONE_ATTEMPT.withHandlerTimeout(Duration.ofSeconds(1)),
        (order, tx) -> {
          tx.update("update shared set n = 2");
          tx.query("select pg_sleep(60)", row -> 1);
        });
    publish(ORDERS, PublishOptions.DEFAULT, 1);
    stage.awaitWithin(Duration.ofSeconds(20), () -> stage.deadLetters() == 1);
    stage.database.execute("set lock_timeout = '10s'; update shared set n = 3 where n = 1");
    assertThat(stage.database.queryLong("select n from shared")).isEqualTo(3);
  }

  @Test
  void aLeaseIsHeldWithoutATransactionAndAcknowledged() throws Exception {
    var calls = Channel.of("calls", Order.class, Mode.AT_LEAST_ONCE);
    var begun = Channel.of("begun", Order.class, Mode.AT_MOST_ONCE);
    var called = new CopyOnWriteArrayList<Long>();
    var pgonce = stage.pgonce(pool);
    pgonce.install(calls, begun);
    pgonce
        .listen(
            calls,
            QUICK.withLease(Duration.ofSeconds(3)),
            (order, tx) -> {
              var leased = stage.database.queryString(LEASED);
              await("a renewal")
                  .atMost(Stage.SOON)
                  .until(() -> !leased.equals(stage.database.queryString(LEASED)));
              called.add(order.payload().id());
            })
        .listen(begun, QUICK, (order, tx) -> called.add(order.payload().id()))
        .start();
    publish(calls, PublishOptions.DEFAULT, 1, 2);
    publish(begun, PublishOptions.DEFAULT, 3, 4);
    stage.awaitNothingWaits();
    assertThat(called).containsExactlyInAnyOrder(1L, 2L, 3L, 4L);
    assertThat(stage.deadLetters()).isZero();
  }

  @Test
  void s10_aBatchIsOneTransactionAndOneThatFailsFailsAlone() throws Exception {
    stage.publish(30);
    listening(
        ONE_ATTEMPT.withBatch(10),
        (order, tx) -> {
          Stage.effect(order, tx);
          if (order.payload().id() == 5) {
            throw new IllegalStateException("on purpose");
          }
        });
    stage.awaitSoon(() -> stage.waiting() == 0 && stage.deadLetters() == 1);
    assertThat(stage.effects()).isEqualTo(29);
    assertThat(stage.database.queryLong("select count(distinct xmin::text) from effect"))
        .isLessThan(29);
  }

  @Test
  void h49_aConnectionThatIsLostIsAFailedAttempt() throws Exception {
    var handled = new AtomicInteger();
    listening(
        QUICK.withConcurrency(1),
        (order, tx) -> {
          Stage.effect(order, tx);
          if (handled.incrementAndGet() == 2) {
            tx.query("select pg_terminate_backend(pg_backend_pid())", row -> 1);
          }
        });
    publish(ORDERS, PublishOptions.DEFAULT, 1, 2, 3);
    stage.awaitNothingWaits();
    assertThat(stage.eachOnce(3)).isTrue();
  }

  @Test
  void h50_aCommitWhoseAnswerIsLostHasItsEffectOnce() throws Exception {
    try (var proxy = FaultProxy.to(stage.database);
        var cut = pool(stage.database.login().through(proxy))) {
      stage.pgonce(cut).listen(ORDERS, QUICK.withConcurrency(1), Stage::effect).start();
      var commit = proxy.cutAfterForwarding("COMMIT");
      publish(ORDERS, PublishOptions.DEFAULT, 1, 2, 3);
      commit.awaitSprung(Stage.SOON);
      stage.awaitNothingWaits();
      assertThat(stage.eachOnce(3)).isTrue();
    }
  }

  /** Each statement of the operators' part and of keys, limits and delays, by this driver. */
  @Test
  void allThatIsSetOnNotificationsAndDoneToThemWorks() throws Exception {
    var keyed =
        Channel.of(
            "keyed",
            Order.class,
            Mode.EXACTLY_ONCE,
            ChannelOptions.DEFAULT.withOrder(KeyOrder.DEAD_LETTER_BLOCKS).withMaxRate(500));
    var limited =
        Channel.of(
            "limited",
            Order.class,
            Mode.AT_LEAST_ONCE,
            ChannelOptions.DEFAULT.withMaxPerKey(1).withSubscriptions("one"));
    var pgonce = stage.pgonce(pool);
    pgonce.install(keyed, limited);
    stage.onCall().pause(keyed, "not yet");
    var key = PublishOptions.DEFAULT.withOrderKey("a");
    publish(keyed, key.withDeliveryKey("first"), 1);
    publish(keyed, key.withDeliveryKey("second").withDelay(Duration.ofHours(1)), 2);
    publish(keyed, key, 3);
    assertThat(stage.onCall().peek(keyed, 10)).hasSize(3);
    assertThat(stage.onCall().cancelByKey(keyed, List.of("second"), "changed")).isEqualTo(1);
    pgonce.listen(keyed, QUICK, Stage::effect);
    pgonce.listen(limited, "one", QUICK, Stage::effect);
    pgonce.start();
    stage.onCall().resume(keyed, "now");
    publish(limited, PublishOptions.DEFAULT.withOrderKey("b"), 4, 5);
    stage.awaitNothingWaits();
    assertThat(
            stage.database.queryString("select string_agg(id::text, ' ' order by id) from effect"))
        .isEqualTo("1 3 4 5");
  }
}
