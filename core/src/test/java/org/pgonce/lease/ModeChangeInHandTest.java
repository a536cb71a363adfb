package org.pgonce.lease;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.pgonce.stage.Stage.QUICK;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.Handler;
import org.pgonce.KeyOrder;
import org.pgonce.Mode;
import org.pgonce.PauseException;
import org.pgonce.PgOnce;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.stage.Stage.Order;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/**
 * What has begun when its channel becomes AT_MOST_ONCE may end, and never begins again by itself.
 */
@PgTest(PgOnceInstalled.class)
class ModeChangeInHandTest {

  private static final String LETTER =
      "select string_agg(reason || ' ' || attempts || ' ' || error, ',' order by id) from pgonce.dead_letter";
  private static final String GIVEN_BACK =
      "OUTCOME_UNKNOWN 1 the process that ran it, or its session, ended without a word, or could not record its failure";
  private static final String LEASE =
      "select count((l.claimed).id) from pgonce.subscription s, pgonce.lease(s.id, false, gen_random_uuid(), %d, 10, 'NONE', '%s') l"
          + " where s.of_channel = 'calls'";

  private final CountDownLatch begun = new CountDownLatch(1);
  private final CountDownLatch goOn = new CountDownLatch(1);
  private final AtomicInteger oldCalls = new AtomicInteger();
  private final AtomicInteger newCalls = new AtomicInteger();
  private Stage stage;

  @BeforeEach
  void open(TestDatabase database) throws SQLException {
    stage = new Stage(database);
  }

  @AfterEach
  void close() {
    goOn.countDown();
    stage.close();
  }

  private static Channel<Order> calls(Mode mode) {
    return Channel.of("calls", Order.class, mode);
  }

  /** Begins one under the mode, then makes the channel AT_MOST_ONCE, and has it listened to. */
  private PgOnce begin(Mode mode, Handler<Order> end) throws Exception {
    PgOnce.using(stage.dataSource).install(calls(mode));
    var old = stage.pgonce();
    old.listen(
            calls(mode),
            QUICK,
            (call, tx) -> {
              oldCalls.incrementAndGet();
              begun.countDown();
              goOn.await();
              end.handle(call, tx);
            })
        .start();
    publish(1);
    Stage.awaitSoon(begun);
    becomesAtMostOnce();
    return old;
  }

  private void becomesAtMostOnce() throws SQLException {
    stage.database.execute("select pgonce.change_mode('calls', 'AT_MOST_ONCE')");
    stage
        .pgonce()
        .listen(calls(Mode.AT_MOST_ONCE), QUICK, (call, tx) -> newCalls.incrementAndGet())
        .start();
  }

  private void publish(int count) throws SQLException {
    for (var id = 1; id <= count; id++) {
      stage.database.execute("select pgonce.publish('calls', '{\"id\": 1, \"item\": \"x\"}')");
    }
  }

  /** As a first attempt of EXACTLY_ONCE leaves the row when its process dies. */
  private void holdAndDie(String table) throws SQLException {
    try (var dies = stage.database.dataSource().getConnection();
        var statement = dies.createStatement()) {
      dies.setAutoCommit(false);
      statement.execute("select from pgonce." + table + " where subscription_id > 0 for update");
    }
  }

  private void assertDead(String letter) throws SQLException {
    stage.awaitSoon(() -> stage.waiting() == 0 && stage.deadLetters() == 1);
    assertThat(stage.database.queryString(LETTER)).isEqualTo(letter);
    assertThat(newCalls).hasValue(0);
  }

  @ParameterizedTest
  @EnumSource(names = {"EXACTLY_ONCE", "AT_LEAST_ONCE"})
  void s04_whatIsBeingHandledMayEndWell(Mode mode) throws Exception {
    begin(mode, Stage::effect);
    goOn.countDown();
    stage.awaitNothingWaits();
    assertThat(stage.eachOnce(1)).isTrue();
    assertThat(stage.deadLetters()).isZero();
    assertThat(newCalls).hasValue(0);
  }

  @ParameterizedTest
  @EnumSource(names = {"EXACTLY_ONCE", "AT_LEAST_ONCE"})
  void s04_whatIsBeingHandledAndFailsIsNotRetried(Mode mode) throws Exception {
    begin(
        mode,
        (call, tx) -> {
          throw new IllegalStateException("no");
        });
    goOn.countDown();
    assertDead("ATTEMPTS_USED_UP 1 java.lang.IllegalStateException: no");
    assertThat(oldCalls).hasValue(1);
  }

  /** Else it would go back uncounted: as if it had not begun. */
  @Test
  void s04_whatAStoppedListenerHadBegunIsNotBegunAgain() throws Exception {
    var old = begin(Mode.AT_LEAST_ONCE, Stage::effect);
    assertThat(old.stop(Duration.ZERO)).isFalse();
    assertDead(
        "OUTCOME_UNKNOWN 1 its handler had begun, and its listener gave it up, when the channel was AT_MOST_ONCE already");
  }

  @Test
  void s04_whatAHandlerPausesForIsNotBegunAgain() throws Exception {
    begin(
        Mode.AT_LEAST_ONCE,
        (call, tx) -> {
          throw new PauseException("the mail server is down");
        });
    goOn.countDown();
    stage.awaitSoon(() -> stage.deadLetters() == 1);
    stage.onCall().resume(calls(Mode.AT_MOST_ONCE), "it is up");
    assertDead(
        "ATTEMPTS_USED_UP 1 its handler had begun, and its listener gave it up, when the channel was AT_MOST_ONCE already");
  }

  /** As in a deployment: the old listeners stop, the mode is changed, the new ones start. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void s04_whatWasGivenBackBeforeTheChangeIsNotBegunAgain(boolean paused) throws Exception {
    PgOnce.using(stage.dataSource).install(calls(Mode.AT_LEAST_ONCE));
    publish(1);
    beginAndGiveBack(Mode.AT_LEAST_ONCE, paused);
    becomesAtMostOnce();
    assertDead("OUTCOME_UNKNOWN 1 its handler had begun when the channel's mode was changed");
  }

  /** An attempt that was counted ahead goes back as a row of its own, which nobody has held. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void s04_whatWasCountedAheadAndGivenBackBeforeTheChangeIsNotBegunAgain(boolean paused)
      throws Exception {
    PgOnce.using(stage.dataSource).install(calls(Mode.EXACTLY_ONCE));
    publish(1);
    holdAndDie("notification");
    beginAndGiveBack(Mode.EXACTLY_ONCE, paused);
    becomesAtMostOnce();
    assertDead(GIVEN_BACK);
  }

  /** Its handler asks for a pause, or its listener stops. */
  private void beginAndGiveBack(Mode mode, boolean paused) throws Exception {
    var channel = calls(mode);
    var old = stage.pgonce();
    old.listen(
            channel,
            QUICK,
            (call, tx) -> {
              begun.countDown();
              if (paused) {
                throw new PauseException("the mail server is down");
              }
              goOn.await();
            })
        .start();
    Stage.awaitSoon(begun);
    if (paused) {
      stage.awaitSoon(
          () ->
              stage.database.queryLong(
                      "select count(*) from pgonce.subscription where paused_at is not null")
                  == 1);
    }
    old.stop(Duration.ZERO);
    // Given back, uncounted. The stop waits for that with a bound.
    stage.awaitSoon(
        () ->
            stage.database.queryLong(
                    "select count(*) from pgonce.scheduled where subscription_id > 0 and attempts = 0 and token is null")
                == 1);
    if (paused) {
      stage.onCall().resume(channel, "it is up");
    }
  }

  /** The change waits for who gives back, or cancels: it would not see what has begun. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "select pgonce.schedule(d.subscription_id, d.id, 1, d.token, 0, null, 0, null, 'OUTCOME_UNKNOWN') from pgonce.scheduled d where d.token is not null; commit",
        "select pgonce.schedule(d.subscription_id, d.id, 1, d.token, 0, null, 0, null, 'OUTCOME_UNKNOWN') from pgonce.scheduled d where d.token is not null; commit; begin; select pgonce.cancel('calls', array_agg(d.id)) from pgonce.scheduled d where d.subscription_id > 0; rollback"
      })
  void s04_whatIsGivenBackDuringTheChangeIsNotBegunAgain(String transactions) throws Exception {
    PgOnce.using(stage.dataSource).install(calls(Mode.AT_LEAST_ONCE));
    publish(1);
    assertThat(stage.database.queryLong(LEASE.formatted(60_000, "AT_LEAST_ONCE"))).isOne();
    try (var open = stage.database.dataSource().getConnection();
        var statement = open.createStatement()) {
      var end = transactions.lastIndexOf(';');
      statement.execute("begin; " + transactions.substring(0, end));
      var change = inBackground("select pgonce.change_mode('calls', 'AT_MOST_ONCE')");
      awaitOneThatWaits(change);
      statement.execute(transactions.substring(end + 1));
      assertThat(change.get(30, TimeUnit.SECONDS)).isEmpty();
    }
    becomesAtMostOnce();
    assertDead("OUTCOME_UNKNOWN 1 its handler had begun when the channel's mode was changed");
  }

  /** Leased once more, and put back for a release that can read it: it once began all the same. */
  @Test
  void s04_whatHadBegunAndWasPutBackSinceIsNotBegunAgain() throws Exception {
    PgOnce.using(stage.dataSource).install(calls(Mode.AT_LEAST_ONCE));
    publish(1);
    assertThat(stage.database.queryLong(LEASE.formatted(60_000, "AT_LEAST_ONCE"))).isOne();
    stage.database.execute(
        "update pgonce.scheduled set stamp = 65536 where token is not null;"
            + " select pgonce.schedule(d.subscription_id, d.id, 1, d.token, 0, null, 0, null, 'OUTCOME_UNKNOWN') from pgonce.scheduled d where d.token is not null");
    var old = stage.pgonce();
    old.listen(calls(Mode.AT_LEAST_ONCE), QUICK, (call, tx) -> oldCalls.incrementAndGet()).start();
    stage.awaitSoon(
        () ->
            stage.database.queryLong(
                    "select count(*) from pgonce.scheduled where subscription_id > 0 and attempts = 0 and token is null and last_error like '%version%'")
                == 1);
    old.stop(Duration.ofSeconds(10));
    becomesAtMostOnce();
    stage.awaitSoon(() -> stage.waiting() == 0 && stage.deadLetters() == 1);
    assertThat(stage.database.queryString(LETTER)).startsWith("OUTCOME_UNKNOWN 1 ");
    assertThat(oldCalls).hasValue(0);
    assertThat(newCalls).hasValue(0);
  }

  /** Where the channel may repeat it, and what has not begun, runs. */
  @Test
  void s04_whatWasGivenBackRunsAgainUnlessTheModeChanges() throws Exception {
    var channel = calls(Mode.AT_LEAST_ONCE);
    PgOnce.using(stage.dataSource).install(channel);
    var old = stage.pgonce();
    old.listen(
            channel,
            QUICK,
            (call, tx) -> {
              begun.countDown();
              goOn.await();
            })
        .start();
    publish(1);
    Stage.awaitSoon(begun);
    old.stop(Duration.ZERO);
    stage.database.execute(
        "select pgonce.publish('calls', '{\"id\": 2, \"item\": \"x\"}', delay => '10 ms')");
    stage.pgonce().listen(channel, QUICK, Stage::effect).start();
    stage.awaitNothingWaits();
    assertThat(stage.eachOnce(2)).isTrue();
    assertThat(stage.database.queryString("select string_agg(note, ',') from effect"))
        .isEqualTo("attempt 1,attempt 1");
  }

  /** A first attempt of EXACTLY_ONCE that is given back leaves no word, only its lock. */
  @Test
  void s04_whatAStoppedListenerHeldIsNotBegunAgain() throws Exception {
    var old = begin(Mode.EXACTLY_ONCE, Stage::effect);
    assertThat(old.stop(Duration.ZERO)).isFalse();
    assertDead(GIVEN_BACK);
    assertThat(stage.effects()).isZero();
  }

  @ParameterizedTest
  @EnumSource(KeyOrder.class)
  void s04_whatADeadProcessHeldBeforeTheChangeIsNotBegunAgain(KeyOrder order) throws Exception {
    var ordered = ChannelOptions.DEFAULT.withOrder(order);
    PgOnce.using(stage.dataSource)
        .install(Channel.of("calls", Order.class, Mode.EXACTLY_ONCE, ordered));
    publish(1);
    holdAndDie("notification");
    publish(1);
    stage.database.execute("select pgonce.change_mode('calls', 'AT_MOST_ONCE')");
    stage
        .pgonce()
        .listen(
            Channel.of("calls", Order.class, Mode.AT_MOST_ONCE, ordered),
            QUICK,
            (call, tx) -> newCalls.incrementAndGet())
        .start();
    stage.awaitNothingWaits();
    assertThat(newCalls).hasValue(1); // the one that nobody has held
    assertThat(stage.database.queryString(LETTER)).isEqualTo(GIVEN_BACK);
  }

  /** The same among the scheduled rows: it was not due at first. */
  @Test
  void s04_whatADeadProcessHeldOfThoseThatWereDueIsNotBegunAgain() throws Exception {
    PgOnce.using(stage.dataSource).install(calls(Mode.EXACTLY_ONCE));
    publish(1);
    stage.database.execute(
        "select pgonce.schedule(n.subscription_id, n.id, 0, null, 0, null, -1, null) from pgonce.notification n where n.subscription_id > 0");
    holdAndDie("scheduled");
    becomesAtMostOnce();
    assertDead(GIVEN_BACK);
  }

  /** It is nobody's word but a lock's: where it may run again it does. */
  @Test
  void s04_whatADeadProcessHeldRunsWhereTheChannelMayRepeatIt() throws Exception {
    PgOnce.using(stage.dataSource).install(calls(Mode.EXACTLY_ONCE));
    publish(1);
    holdAndDie("notification");
    stage.database.execute("select pgonce.change_mode('calls', 'AT_LEAST_ONCE')");
    stage
        .pgonce()
        .listen(calls(Mode.AT_LEAST_ONCE), QUICK, (call, tx) -> newCalls.incrementAndGet())
        .start();
    stage.awaitNothingWaits();
    assertThat(newCalls).hasValue(1);
    assertThat(stage.deadLetters()).isZero();
  }

  /** No listener of EXACTLY_ONCE can have held it: a lease was not committed. */
  @Test
  void s04_whatIsStoredLongAfterTheChangeAndGivenBackRuns() throws Exception {
    PgOnce.using(stage.dataSource).install(calls(Mode.EXACTLY_ONCE));
    stage.database.execute("select pgonce.change_mode('calls', 'AT_MOST_ONCE')");
    stage.database.execute(
        "update pgonce.channel set held_until = held_until - interval '1 hour' where name = 'calls'");
    publish(1);
    holdAndDie("notification");
    becomesAtMostOnce();
    stage.awaitNothingWaits();
    assertThat(newCalls).hasValue(1);
    assertThat(stage.deadLetters()).isZero();
  }

  @Test
  void s04_whatADeadProcessHadLeasedIsNotBegunAgain() throws Exception {
    PgOnce.using(stage.dataSource).install(calls(Mode.AT_LEAST_ONCE));
    publish(1);
    assertThat(stage.database.queryLong(LEASE.formatted(1, "AT_LEAST_ONCE"))).isOne();
    becomesAtMostOnce();
    assertDead(GIVEN_BACK);
  }

  @ParameterizedTest
  @EnumSource(names = {"EXACTLY_ONCE", "AT_LEAST_ONCE"})
  void s04_whatHasFailedBeforeTheChangeIsNotRetried(Mode mode) throws Exception {
    PgOnce.using(stage.dataSource).install(calls(mode));
    publish(1);
    stage.database.execute(
        "select pgonce.schedule(n.subscription_id, n.id, 0, null, 2, null, 3600000, 'said no') from pgonce.notification n where n.subscription_id > 0");
    stage.database.execute("select pgonce.publish('calls', '{\"id\": 2, \"item\": \"x\"}')");
    becomesAtMostOnce();
    stage.awaitSoon(() -> newCalls.get() == 1); // the one that has not begun yet
    stage.awaitNothingWaits();
    assertThat(stage.database.queryString(LETTER)).isEqualTo("ATTEMPTS_USED_UP 2 said no");
    assertThat(newCalls).hasValue(1);
  }

  /** The other way round: the change waits for who is leasing, and finds what that has begun. */
  @Test
  void s04_noLeaseSlipsPastAChangeOfMode() throws Exception {
    PgOnce.using(stage.dataSource).install(calls(Mode.AT_MOST_ONCE));
    publish(2);
    try (var leasing = stage.dataSource.getConnection();
        var late = stage.dataSource.getConnection()) {
      leasing.setAutoCommit(false);
      assertThat(lease(leasing)).isOne();
      var change = inBackground("select pgonce.change_mode('calls', 'EXACTLY_ONCE')");
      awaitOneThatWaits(change);
      assertThat(lease(late)).isZero(); // nor does it wait
      leasing.commit();
      assertThat(change.get(30, TimeUnit.SECONDS)).isEmpty();
    }
    assertThat(stage.database.queryString(LETTER))
        .isEqualTo("OUTCOME_UNKNOWN 1 its handler had begun when the channel's mode was changed");
    assertThat(stage.waiting()).isOne();
  }

  /** Its snapshot would be older than what it waits for: what has begun since, it would not see. */
  @ParameterizedTest
  @ValueSource(strings = {"repeatable read", "serializable"})
  void s04_aChangeOfModeIsRefusedAnOlderSnapshot(String level) throws Exception {
    PgOnce.using(stage.dataSource).install(calls(Mode.AT_MOST_ONCE));
    publish(1);
    stage.database.execute(
        "do $$ begin execute format('alter database %I set default_transaction_isolation = %L', current_database(), '"
            + level
            + "'); end $$");
    assertThatThrownBy(
            () -> stage.database.execute("select pgonce.change_mode('calls', 'EXACTLY_ONCE')"))
        .hasMessageContaining(
            "the mode of channel \"calls\" was not changed: this transaction is "
                + level.toUpperCase(Locale.ROOT))
        .hasMessageContaining("BEGIN ISOLATION LEVEL READ COMMITTED");
    stage.database.execute(
        "begin isolation level read committed; select pgonce.change_mode('calls', 'EXACTLY_ONCE'); commit");
  }

  /** Returns the error's text, or an empty one. */
  private CompletableFuture<String> inBackground(String sql) {
    return CompletableFuture.supplyAsync(
        () -> {
          try {
            stage.database.execute(sql);
            return "";
          } catch (SQLException e) {
            return e.getMessage();
          }
        });
  }

  /** Or has come to its end, where it has not waited. */
  private void awaitOneThatWaits(CompletableFuture<String> statement) {
    stage.awaitSoon(
        () ->
            statement.isDone()
                || stage.database.queryLong(
                        "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'")
                    == 1);
  }

  private static long lease(Connection connection) throws SQLException {
    try (var statement = connection.createStatement();
        var row = statement.executeQuery(LEASE.formatted(60_000, "AT_MOST_ONCE"))) {
      row.next();
      return row.getLong(1);
    }
  }
}
