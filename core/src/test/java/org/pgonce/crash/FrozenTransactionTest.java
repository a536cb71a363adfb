package org.pgonce.crash;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.pgonce.Channel;
import org.pgonce.ListenOptions;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.Publisher;
import org.pgonce.Status;
import org.pgonce.stage.OnCall;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.stage.Stage.Order;
import org.pgonce.testkit.Login;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TappedSource;
import org.pgonce.testkit.TestDatabase;
import org.postgresql.core.BaseConnection;
import org.postgresql.core.TransactionState;

/**
 * A process freezes, or is cut off, behind a statement of a transaction of pgonce's own and before
 * its COMMIT. Its system goes on to acknowledge what the server sends, so nothing tells the server.
 */
@PgTest(PgOnceInstalled.class)
class FrozenTransactionTest {

  private static final Channel<Order> CALLS = Stage.wokenAlways("calls", Mode.AT_LEAST_ONCE);
  private static final String IDLE_BOUND =
      "select current_setting('idle_in_transaction_session_timeout')";

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

  @Test
  void h49_aLeaseThatIsNotCommittedHoldsNoLongerThanALease() throws Exception {
    try (var frozen = stage.database.dataSource().getConnection()) {
      publish();
      frozen.setAutoCommit(false);
      assertThat(lease(frozen, Duration.ofMillis(100))).isTrue();
      stage.pgonce().listen(CALLS, Stage::effect).start();
      stage.awaitNothingWaits();
      assertThat(stage.eachOnce(1)).isTrue();
      assertThatThrownBy(frozen::commit).isInstanceOf(SQLException.class);
    }
  }

  /** The same for the renewal of a lease that is over by then. */
  @Test
  void h49_aRenewalThatIsNotCommittedHoldsNoLongerThanALease() throws Exception {
    try (var frozen = stage.database.dataSource().getConnection()) {
      publish();
      assertThat(lease(frozen, Duration.ofMillis(100))).isTrue();
      frozen.setAutoCommit(false);
      one(
          frozen,
          "select pgonce.renew(subscription_id, array[id], array[token], 100) from pgonce.scheduled where subscription_id > 0");
      stage.pgonce().listen(CALLS, Stage::effect).start();
      stage.awaitNothingWaits();
      assertThat(stage.eachOnce(1)).isTrue();
      assertThatThrownBy(frozen::commit).isInstanceOf(SQLException.class);
    }
  }

  /** What others do for it when it is silent, they do without waiting for it. */
  @Test
  void h49_aProcessThatIsFrozenInItsScanHoldsUpNoStart() throws Exception {
    try (var frozen = stage.database.dataSource().getConnection()) {
      one(
          frozen,
          "select pgonce.listener_starts(gen_random_uuid(), 'frozen', '{}', 'test', 100)::text");
      frozen.setAutoCommit(false);
      one(
          frozen,
          "select count(*) from (select pgonce.listener_seen(id, 'test') from pgonce.listener) s");
      stage.awaitSoon(
          () ->
              stage.database.queryLong(
                      "select count(*) from pgonce.listener where seen_at + silence < clock_timestamp()")
                  == 1);
      stage.pgonce().listen(CALLS, Stage::effect).start();
      publish();
      stage.awaitNothingWaits();
      frozen.commit(); // it is alive all the same
    }
  }

  @ParameterizedTest
  @CsvSource({
    "scan,         30s",
    "sign of life, 30s",
    "housekeeping, 30s",
    "turns,        2s",
    "registration, 30s",
  })
  void h49_noTransactionThatLocksMayIdleForLong(String what, String bound) throws Exception {
    stage.pgonce().listen(CALLS, Stage::effect).start();
    stage.awaitSoon(
        () -> stage.database.queryLong("select count(*) from pgonce.listener_status") == 1);
    try (var frozen = stage.database.dataSource().getConnection()) {
      frozen.setAutoCommit(false);
      var locks =
          switch (what) {
            case "scan" -> "select count(*) from (select pgonce.poll(id) from pgonce.listener) s";
            case "sign of life" ->
                "select count(*) from (select pgonce.listener_seen(id, 'test') from pgonce.listener) s";
            case "housekeeping" ->
                "select pgonce.keep_house('list of listeners', id) from pgonce.listener";
            case "turns" -> "select pgonce.take_rate_permits(id, 1) from pgonce.subscription";
            default ->
                "select pgonce.listener_starts(gen_random_uuid(), 'other', '{}', 'test', 60000)::text";
          };
      assertThat(boundBehind(locks, frozen)).isEqualTo(bound);
      frozen.commit();
      assertThat(one(frozen, IDLE_BOUND)).isEqualTo("0");
    }
  }

  /** It is lifted in the same round trip: this thread may idle for longer than that. */
  private static String boundBehind(String locks, Connection transaction) throws SQLException {
    try (var statement = transaction.createStatement()) {
      statement.execute(
          locks + "; " + IDLE_BOUND + "; set local idle_in_transaction_session_timeout = 0");
      assertThat(statement.getMoreResults()).isTrue();
      try (var row = statement.getResultSet()) {
        row.next();
        return row.getString(1);
      }
    }
  }

  // How the end of a lease begins, which may be the first message of its transaction.
  private static final String BOUND_FIRST =
      """
      SELECT pg_catalog.set_config('lock_timeout', '5s', true),
             pg_catalog.set_config('idle_in_transaction_session_timeout',
      """
          .stripTrailing();

  /** Whatever it is that locks and commits: it has a bound by then. */
  @Test
  void h49_eachTransactionThatPgonceCommitsHasABound() throws Exception {
    Login.assumePgjdbc("pgjdbc-ng does not say whether a transaction is open");
    var unbound = new CopyOnWriteArrayList<String>();
    var last = new ThreadLocal<String>();
    var commits = new AtomicInteger();
    TappedSource.Tap tap =
        (sql, real) -> {
          var isOpen =
              real.unwrap(BaseConnection.class).getTransactionState() != TransactionState.IDLE;
          if (sql.endsWith("COMMIT") && isOpen) {
            commits.incrementAndGet();
            // Set before, or in the same message.
            if (one(real, IDLE_BOUND).equals("0") && !sql.startsWith(BOUND_FIRST)) {
              unbound.add(last.get() + " | " + sql);
            }
          }
          last.set(sql);
          return sql;
        };
    var held = Channel.of("held", Order.class, Mode.EXACTLY_ONCE);
    var pgonce = stage.pgonce(PgOnce.builder(TappedSource.over(stage.dataSource, tap)));
    pgonce.install(CALLS, held);
    pgonce.listen(CALLS, Stage::effect).listen(held, Stage::effect).start();
    publish();
    try (var connection = stage.dataSource.getConnection()) {
      Publisher.standard().publish(connection, held, new Order(3, "item"));
    }
    stage.awaitNothingWaits();
    stage.onCall().pause(held, "a look at it");
    stage.onCall().resume(held, "seen");
    stage.awaitNothingWaits();
    pgonce.close();
    assertThat(commits).hasValueGreaterThan(8);
    // The start's look at the definition locks nothing.
    assertThat(unbound).allMatch(sql -> sql.contains(" FROM pgonce.installed("));
  }

  /** What it has locked is free some time after its process froze: in every mode. */
  @ParameterizedTest
  @EnumSource(Mode.class)
  void h49_aHandlersTransactionMayNotIdleForLongerThanTheHandlersTime(Mode mode) throws Exception {
    var channel = Channel.of("bounded", Order.class, mode);
    PgOnce.using(stage.dataSource).install(channel);
    var bound = new CompletableFuture<String>();
    var pgonce = stage.pgonce();
    pgonce
        .listen(
            channel,
            ListenOptions.DEFAULT.withHandlerTimeout(Duration.ofSeconds(40)),
            (order, tx) -> bound.complete(one(tx.connection(), IDLE_BOUND)))
        .start();
    stage.awaitSoon(() -> pgonce.status().state() == Status.State.RUNNING);
    try (var connection = stage.dataSource.getConnection()) {
      Publisher.standard().publish(connection, channel, new Order(1, "item"));
    }
    assertThat(bound.get(45, TimeUnit.SECONDS)).isEqualTo("45s");
  }

  @Test
  void h49_aShorterBoundOfTheSessionStays() throws Exception {
    try (var connection = stage.database.dataSource().getConnection()) {
      one(connection, "select set_config('idle_in_transaction_session_timeout', '9s', false)");
      connection.setAutoCommit(false);
      lease(connection, Duration.ofSeconds(30));
      assertThat(one(connection, IDLE_BOUND)).isEqualTo("9s");
    }
    // The same where Java sets it.
    stage.database.execute(
        "alter database \"%s\" set idle_in_transaction_session_timeout = '9s'"
            .formatted(stage.database.name()));
    var atCommit = new CopyOnWriteArrayList<String>();
    TappedSource.Tap tap =
        (sql, real) -> {
          if (sql.equals("COMMIT")) {
            atCommit.add(one(real, IDLE_BOUND));
          }
          return sql;
        };
    var tapped = TappedSource.over(stage.database.dataSource(), tap);
    new OnCall(tapped).pause(CALLS, "a look at it");
    assertThat(atCommit).containsExactly("9s");
    new OnCall(tapped).resume(CALLS, "seen");
    // And where a failure is recorded, and the end of a lease.
    publish();
    var failed = new AtomicInteger();
    stage
        .pgonce(tapped)
        .listen(
            CALLS,
            Stage.QUICK,
            (call, tx) -> {
              if (failed.getAndIncrement() == 0) {
                throw new IllegalStateException("once");
              }
            })
        .start();
    stage.awaitNothingWaits();
    // 2 s where it registers: whoever is awake would wait for that.
    assertThat(atCommit).hasSizeGreaterThan(4).contains("9s").isSubsetOf("9s", "2s");
  }

  private void publish() throws SQLException {
    try (var connection = stage.dataSource.getConnection()) {
      Publisher.standard().publish(connection, CALLS, new Order(1, "item"));
    }
  }

  private static boolean lease(Connection transaction, Duration lease) throws SQLException {
    var lent =
        one(
            transaction,
            "select count((l.claimed).id) from pgonce.subscription s, pgonce.lease(s.id, false, gen_random_uuid(), "
                + lease.toMillis()
                + ", 10, 'NONE', 'AT_LEAST_ONCE') l");
    return "1".equals(lent);
  }

  private static String one(Connection connection, String sql) throws SQLException {
    try (var statement = connection.createStatement();
        var row = statement.executeQuery(sql)) {
      assertThat(row.next()).isTrue();
      return String.valueOf(row.getString(1));
    }
  }
}
