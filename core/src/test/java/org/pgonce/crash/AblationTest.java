package org.pgonce.crash;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.pgonce.stage.Stage.ORDERS;
import static org.pgonce.stage.Stage.QUICK;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.ToLongFunction;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.pgonce.Channel;
import org.pgonce.DeliveryKey;
import org.pgonce.Handler;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.PgOnceBuilder;
import org.pgonce.PublishOptions;
import org.pgonce.Publisher;
import org.pgonce.Status.ChannelActivity;
import org.pgonce.spi.Event;
import org.pgonce.spi.ListenAddress;
import org.pgonce.spi.Observer;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.stage.Stage.Order;
import org.pgonce.testkit.Login;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TappedSource;
import org.pgonce.testkit.TappedSource.Tap;
import org.pgonce.testkit.TestDatabase;
import org.postgresql.core.BaseConnection;
import org.postgresql.core.TransactionState;

/**
 * Each layer that the promises rest on is needed: without it, taken away between pgonce and the
 * driver, the very assertion fails that holds with it.
 */
@PgTest(PgOnceInstalled.class)
class AblationTest {

  private static final Channel<Order> CALLS = Channel.of("calls", Order.class, Mode.AT_LEAST_ONCE);

  private static final Tap NOTHING_REMOVED = (sql, real) -> sql;
  private static final String DELETION = "DELETE FROM pgonce.notification AS ";

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

  private PgOnceBuilder builder(Tap tap) {
    var database = stage.database;
    var address =
        new ListenAddress(
            database.host(), database.port(), database.name(), database.user(), null, Map.of());
    return PgOnce.builder(TappedSource.over(stage.dataSource, tap)).listenAddress(address);
  }

  private static Tap replacing(String part, String by) {
    return (sql, real) -> sql.replace(part, by);
  }

  private static void assertRed(ThrowingCallable assertion, String saying) {
    assertThatThrownBy(assertion).isInstanceOf(AssertionError.class).hasMessageContaining(saying);
  }

  // The lock of the claim.

  @Test
  void s16_twoWorkersDoNotRunOneNotification() throws Exception {
    assertOneWorkerAtATime(NOTHING_REMOVED);
  }

  @Test
  void s16_withoutForUpdateSkipLockedTwoWorkersRunOneNotification() {
    assertRed(
        () -> assertOneWorkerAtATime(replacing("FOR UPDATE SKIP LOCKED", "")),
        "handlers of one notification at once");
  }

  private void assertOneWorkerAtATime(Tap tap) throws Exception {
    var running = new AtomicInteger();
    var end = new CountDownLatch(1);
    Handler<Order> handler =
        (order, tx) -> {
          running.incrementAndGet();
          Stage.awaitSoon(end);
        };
    var listeners =
        List.of(stage.pgonce(builder(tap)), stage.pgonce(builder(tap))).stream()
            .map(pgonce -> pgonce.listen(ORDERS, QUICK.withConcurrency(1), handler).start())
            .toList();
    stage.publish(1);
    // Both have looked, and whatever was found has begun.
    stage.awaitSoon(
        () ->
            listeners.stream().allMatch(one -> sum(one, ChannelActivity::claims) > 0)
                && listeners.stream().mapToLong(AblationTest::taken).sum() == running.get());
    var atOnce = running.get();
    end.countDown();
    assertThat(atOnce).as("handlers of one notification at once").isEqualTo(1);
  }

  private static long taken(PgOnce pgonce) {
    return sum(pgonce, ChannelActivity::claims) - sum(pgonce, ChannelActivity::emptyClaims);
  }

  private static long sum(PgOnce pgonce, ToLongFunction<ChannelActivity> number) {
    return pgonce.status().channels().stream().mapToLong(number).sum();
  }

  @Test
  void s16_whoFindsANotificationHeldTakesTheNext() throws Exception {
    assertTheNextFlows(NOTHING_REMOVED);
  }

  @Test
  void s16_withoutSkipLockedWhoFindsANotificationHeldWaitsForIt() {
    // Nor behind what it knows to be held.
    assertRed(
        () ->
            assertTheNextFlows(
                (sql, real) ->
                    sql.replace(" SKIP LOCKED", "")
                        .replace("n.id OPERATOR(pg_catalog.>) ?", "n.id > least(0, ?)")),
        "the next one was handled");
  }

  private void assertTheNextFlows(Tap tap) throws Exception {
    var next = new AtomicBoolean();
    var end = new CountDownLatch(1);
    stage
        .pgonce(builder(tap))
        .listen(
            ORDERS,
            QUICK,
            (order, tx) -> {
              if (order.payload().id() == 1) {
                Stage.awaitSoon(end);
              } else {
                next.set(true);
              }
            })
        .start();
    stage.publish(2);
    stage.awaitSoon(() -> next.get() || someoneWaitsForALock());
    var flowed = next.get();
    end.countDown();
    assertThat(flowed).as("the next one was handled").isTrue();
  }

  private boolean someoneWaitsForALock() throws SQLException {
    return stage.database.queryLong(
            "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'")
        > 0;
  }

  // The deletion in the transaction of the handler.

  @Test
  void s16_whereTheSessionEndsBeforeTheDeletionTheEffectIsThereOnce() throws Exception {
    assertOneEffectThoughTheSessionEndsAt(DELETION, real -> {});
  }

  @Test
  void s16_withTheDeletionAfterTheCommitTheEffectIsThereTwice() {
    assertRed(() -> assertOneEffectThoughTheSessionEndsAt(DELETION, Connection::commit), "2L");
  }

  @Test
  void s16_whereTheSessionEndsInTheHandlerTheEffectIsThereOnce() throws Exception {
    assertOneEffectThoughTheSessionEndsAt("insert into effect", real -> {});
  }

  @Test
  void s16_withTheDeletionCommittedBeforeTheHandlerTheEffectIsLost() {
    assertRed(
        () ->
            assertOneEffectThoughTheSessionEndsAt(
                "insert into effect",
                real -> {
                  execute(real, "delete from pgonce.notification where subscription_id > 0");
                  real.commit();
                }),
        "0L");
  }

  private interface Removal {
    void on(Connection real) throws SQLException;
  }

  private void assertOneEffectThoughTheSessionEndsAt(String statement, Removal removal)
      throws Exception {
    var struck = new AtomicBoolean();
    Tap tap =
        (sql, real) -> {
          if (sql.contains(statement) && struck.compareAndSet(false, true)) {
            removal.on(real);
            stage.database.backends().terminate(backendOf(real));
          }
          return sql;
        };
    stage
        .pgonce(builder(tap))
        .listen(ORDERS, QUICK.withConcurrency(1), (order, tx) -> Stage.effect(order, tx))
        .start();
    stage.publish(1);
    stage.awaitNothingWaits();
    assertThat(stage.effects()).as("effects").isEqualTo(1);
  }

  private static int backendOf(Connection real) throws SQLException {
    return real.unwrap(BaseConnection.class).getBackendPID();
  }

  private static void execute(Connection real, String sql) throws SQLException {
    try (var statement = real.createStatement()) {
      statement.execute(sql);
    }
  }

  // The token at the acknowledgement.

  @Test
  void s16_theEndOfAStaleHolderIsRefused() throws Exception {
    assertStaleEndIsRefused(NOTHING_REMOVED);
  }

  @Test
  void s16_withoutTheTokenTheEndOfAStaleHolderIsTakenForItsSuccessors() {
    var token = "h.token OPERATOR(pg_catalog.=) ?::pg_catalog.text::pg_catalog.uuid";
    assertRed(
        () -> assertStaleEndIsRefused(replacing(token, "(true OR " + token + ")")),
        "attempts that succeeded");
  }

  private void assertStaleEndIsRefused(Tap tap) throws Exception {
    var succeeded = new CopyOnWriteArrayList<Integer>();
    Observer observer =
        event -> {
          if (event instanceof Event.Handled said) {
            succeeded.add(said.about().attempt());
          }
        };
    stage
        .pgonce(builder(tap).observer(observer))
        .listen(
            CALLS,
            QUICK.withConcurrency(1),
            (call, tx) -> {
              Stage.effect(call, tx);
              if (call.attempt() == 1) {
                // As if another had found the lease over, while this process was frozen.
                stage.database.execute(
                    "update pgonce.scheduled set token = gen_random_uuid(), due_at = clock_timestamp() where token is not null");
              }
            })
        .start();
    try (var connection = stage.dataSource.getConnection()) {
      Publisher.standard().publish(connection, CALLS, new Order(1, "item"));
    }
    stage.awaitSoon(() -> !succeeded.isEmpty());
    stage.awaitNothingWaits();
    assertThat(succeeded).as("attempts that succeeded").containsExactly(2);
    assertThat(stage.effects()).isEqualTo(1);
  }

  // The check after the handler: that its transaction is alive, and that the row is there.

  @Test
  void s16_aSwallowedErrorIsAFailure() throws Exception {
    assertSwallowedErrorIsAFailure(NOTHING_REMOVED);
  }

  @Test
  void s16_withoutTheCheckOfTheTransactionASwallowedErrorLosesTheEffect() {
    Login.assumePgjdbc("pgjdbc-ng does not say whether a transaction is open");
    assertRed(
        () ->
            assertSwallowedErrorIsAFailure(
                (sql, real) -> {
                  var aborted =
                      real.unwrap(BaseConnection.class).getTransactionState()
                          == TransactionState.FAILED;
                  if (aborted && sql.contains("RELEASE SAVEPOINT pgonce_handler")) {
                    execute(real, "ROLLBACK TO SAVEPOINT pgonce_handler"); // nothing is wrong then
                  }
                  return sql;
                }),
        "effects");
  }

  private void assertSwallowedErrorIsAFailure(Tap tap) throws Exception {
    stage
        .pgonce(builder(tap))
        .listen(
            ORDERS,
            QUICK,
            (order, tx) -> {
              Stage.effect(order, tx);
              if (order.attempt() == 1) {
                try {
                  tx.update("insert into no_such_table values (1)");
                } catch (SQLException swallowed) {
                  assertThat(swallowed.getMessage()).contains("no_such_table");
                }
              }
            })
        .start();
    stage.publish(1);
    stage.awaitNothingWaits();
    assertThat(stage.effects()).as("effects").isEqualTo(1);
  }

  @Test
  void s16_aRowThatIsGoneIsAFailure() throws Exception {
    assertRowThatIsGoneIsAFailure(NOTHING_REMOVED);
  }

  @Test
  void s16_withoutTheCheckOfTheRowARowThatIsGoneIsTakenForSuccess() {
    assertRed(
        () ->
            assertRowThatIsGoneIsAFailure(
                (sql, real) -> sql.replace("pgonce.not_there(1, 0)", "false")),
        "effects");
  }

  /** One worker: another one might claim the row before the failure is recorded, and succeed. */
  private void assertRowThatIsGoneIsAFailure(Tap tap) throws Exception {
    stage
        .pgonce(builder(tap))
        .listen(
            ORDERS,
            QUICK.withMaxAttempts(1).withConcurrency(1),
            (order, tx) -> {
              Stage.effect(order, tx);
              tx.update(
                  "delete from pgonce.notification where id = ? and subscription_id > 0",
                  order.id());
            })
        .start();
    stage.publish(1);
    stage.awaitNothingWaits();
    assertThat(stage.effects()).as("effects").isZero();
    assertThat(stage.deadLetters()).isEqualTo(1);
  }

  /** Two publishers at once give the same key: one notification is stored. */
  @Test
  void s16_oneDeliveryKeyIsOneNotification() throws Exception {
    assertOneNotificationPerKey();
  }

  @Test
  void s16_withoutTheUniqueKeyItIsTwo() throws Exception {
    stage.database.execute("alter table pgonce.delivery_key drop constraint delivery_key_pkey");
    assertRed(this::assertOneNotificationPerKey, "stored once");
  }

  /** The second one publishes when the first has stored, and has not committed. */
  private void assertOneNotificationPerKey() throws Exception {
    var others = Executors.newSingleThreadExecutor();
    try (var first = stage.dataSource.getConnection()) {
      first.setAutoCommit(false);
      var stored = isStored(first) ? 1 : 0;
      var second =
          others.submit(
              () -> {
                try (var connection = stage.dataSource.getConnection()) {
                  return isStored(connection);
                }
              });
      stage.awaitSoon(() -> second.isDone() || someoneWaitsForALock());
      first.commit();
      stored += second.get(45, TimeUnit.SECONDS) ? 1 : 0;
      assertThat(stored).as("stored once").isEqualTo(1);
      assertThat(stage.waiting()).as("stored once").isEqualTo(1);
    } finally {
      others.shutdownNow();
    }
  }

  private static boolean isStored(Connection connection) throws SQLException {
    var once = PublishOptions.DEFAULT.withDeliveryKey(DeliveryKey.of("campaign", "1", "lot", "1"));
    return Publisher.standard()
        .publish(connection, Stage.ORDERS, new Stage.Order(1, "item"), once)
        .stored();
  }
}
