package org.pgonce.install;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.ListenOptions;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.stage.OnCall;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** H84: dropping channels while others publish and handle; nobody else waits for long. */
@PgTest
class DropTest {

  private static final Channel<String> DOOMED = Channel.of("doomed", String.class);
  private static final Channel<String> OTHER = Channel.of("other", String.class);
  private static final Channel<String> TWO =
      Channel.of(
          "doomed",
          String.class,
          Mode.EXACTLY_ONCE,
          ChannelOptions.DEFAULT.withSubscriptions("mail", "audit"));
  // From JDK 25 on what is given none shares a pool that has one thread on two cores.
  private static final Executor A_THREAD_EACH = task -> new Thread(task).start();

  private static final Duration BOUND = Duration.ofSeconds(30);

  // A machine that does many other things. A drop that kept others waiting would for 16 s.
  private static final Duration SLACK = Duration.ofSeconds(5);

  // Several at once: they go by the transaction's snapshot.
  private static final String BOTH =
      "select pgonce.publish_each('doomed', '[\"one\", \"two\"]', '[{\"delivery_key\": \"k\"}, {}]')";

  // As a claim does, and as long as a handler may take.
  private static final String HANDLING =
      "select id from pgonce.notification where subscription_id > 0 for update";

  private static final String SNAPSHOT =
      "set transaction isolation level %s; select count(*) from pg_class";
  private static final String AS_IF_ITS_PROCESS_HAD_DIED =
      "select count(*) from pgonce.notification where subscription_id > 0 and xmax::text <> '0'";
  private static final String CLEAR = "select pgonce_private.clear_leftovers()";
  private static final String STORED =
      """
      select (select count(*) from pgonce.notification where subscription_id > 0) || ' notification, '
          || (select count(*) from pgonce.scheduled where subscription_id > 0) || ' scheduled, '
          || (select count(*) from pgonce.dead_letter) || ' dead'
      """;

  /** What waits is deleted behind the drop, so it is no matter how much that is. */
  @Test
  void h84_aDropWaitsForNoHandlerAndNobodyForItsRows(TestDatabase database) throws Exception {
    PgOnce.using(database.dataSource()).install(DOOMED, OTHER);
    database.execute("select pgonce.publish('doomed', '\"one\"', delivery_key => 'k')");
    try (var handler = begin(database, HANDLING)) {
      assertThat(new OnCall(database.dataSource()).drop(DOOMED, "no longer used")).isTrue();
      assertThat(longestOfPublishing(database)).isLessThan(SLACK);
      assertThat(database.queryLong(CLEAR)).as("the key alone").isOne();
      handler.rollback();
    }
    database.execute("update pgonce.dropped set look_at = now()");
    assertThat(database.queryLong(CLEAR)).isOne();
    assertThat(
            database.queryLong(
                "select count(*) from pgonce.notification n join pgonce.dropped d using (subscription_id)"))
        .isZero();
    assertThat(
            database.queryString(
                "select concern.concerned || ' ' || concern.reason from pgonce.operation_log concern where what = 'DROP'"))
        .isEqualTo("1 no longer used");
    assertThat(database.queryLong("select count(*) from pgonce.channel")).isOne();
  }

  @Test
  void h84_aSubscriptionIsDroppedWithoutAnyLock(TestDatabase database) throws Exception {
    PgOnce.using(database.dataSource()).install(TWO, OTHER);
    database.execute("select pgonce.publish('doomed', '\"one\"', delivery_key => 'k')");
    try (var handler = begin(database, HANDLING);
        var publisher = begin(database, "select pgonce.publish('other', '\"one\"')")) {
      assertThat(new OnCall(database.dataSource()).drop(TWO, "mail", "not used")).isTrue();
      handler.rollback();
      publisher.rollback();
    }
    assertThat(database.queryLong("select waiting from pgonce.delivery_key")).isEqualTo(2);
    var clear = "select pgonce.keep_house('leftovers of drops', null)::text";
    assertThat(database.queryString(clear)).isEqualTo("true");
    assertThat(database.queryString(clear)).isEqualTo("false");
    assertThat(database.queryLong("select waiting from pgonce.delivery_key")).isOne();
  }

  /** Its next housekeeping would come after 150 s. */
  @Test
  void h84_aListenerThatHearsOfADropDeletesWhatWaited(TestDatabase database) throws Exception {
    var tried = "select count(*) from pgonce.scheduled where attempts > 0";
    try (var pgonce = PgOnce.builder(database.pooled(4)).build().install(TWO)) {
      pgonce
          .listen(
              TWO,
              "mail",
              ListenOptions.DEFAULT,
              (text, tx) -> {
                throw new IllegalStateException("not yet");
              })
          .start();
      await()
          .atMost(BOUND)
          .until(
              () ->
                  database.queryLong("select max(cardinality(outdated)) from pgonce.listener")
                      == 1);
      database.execute(BOTH);
      await().atMost(BOUND).until(() -> database.queryLong(tried) == 2);
      new OnCall(database.dataSource()).drop(TWO, "mail", "not used");
      await()
          .atMost(BOUND)
          .until(() -> database.queryLong("select waiting from pgonce.delivery_key") == 1);
    }
  }

  /** Not even where no listener ran for longer than drops are remembered. */
  @Test
  void h84_whatWaitsIsDeletedSomeAtATimeAndNotForgotten(TestDatabase database) throws Exception {
    PgOnce.using(database.dataSource()).install(DOOMED);
    database.execute(
        "select pgonce.publish_each('doomed', (select json_agg(g) from generate_series(1, 1500) g), (select json_agg(json_build_object('delivery_key', g::text)) from generate_series(1, 1500) g))");
    new OnCall(database.dataSource()).drop(DOOMED, "not used");
    database.execute(
        "update pgonce.dropped set at = now() - interval '40 days', look_at = now() - interval '40 days'");
    var thousand = "select pgonce_private.clear_leftovers(1000)";
    assertThat(database.queryLong(thousand)).isEqualTo(2000);
    assertThat(database.queryLong(thousand)).isEqualTo(1000);
    assertThat(database.queryLong(thousand)).isZero();
    assertThat(database.queryString(STORED)).isEqualTo("0 notification, 0 scheduled, 0 dead");
    assertThat(database.queryLong("select count(*) from pgonce.delivery_key")).isZero();
  }

  /** Else drops that take longer together than housekeeping may would never be cleared. */
  @Test
  void h84_afterASecondTheOtherDropsAreLeftForTheNextTime(TestDatabase database) throws Exception {
    PgOnce.using(database.dataSource()).install(TWO);
    database.execute("select pgonce.publish('doomed', '\"one\"')");
    new OnCall(database.dataSource()).drop(TWO, "mail", "not used");
    new OnCall(database.dataSource()).drop(TWO, "audit", "not used");
    database.execute(
        """
        create function slow() returns trigger language plpgsql as $$ begin perform pg_sleep(1.1); return new; end $$;
        create trigger slow before update on pgonce.dropped for each row execute function slow()
        """);
    assertThat(database.queryLong(CLEAR)).isOne();
    assertThat(database.queryString(STORED)).isEqualTo("1 notification, 0 scheduled, 0 dead");
    database.execute("drop trigger slow on pgonce.dropped");
    assertThat(database.queryLong(CLEAR)).isOne();
  }

  @Tag("all")
  @Test
  void h84_aTransactionThatHasPublishedIsWaitedForInShortTriesAndThenNamed(TestDatabase database)
      throws Exception {
    PgOnce.using(database.dataSource()).install(DOOMED, OTHER);
    database.execute("select pgonce.publish('doomed', '\"one\"')");
    try (var publisher = begin(database, "select pgonce.publish('other', '\"one\"')")) {
      var drop =
          CompletableFuture.supplyAsync(
              () -> new OnCall(database.dataSource()).drop(DOOMED, "not used"));
      var longest = Duration.ZERO;
      while (!drop.isDone()) {
        var one = longestOfPublishing(database);
        longest = one.compareTo(longest) > 0 ? one : longest;
      }
      // 1.5 s behind the one lock, and a quarter of a second behind the other; and the machine.
      assertThat(longest).isLessThan(Duration.ofMillis(1750).plus(SLACK));
      assertThatThrownBy(drop::join)
          .hasMessageContaining("cannot drop channel \"doomed\" now, nothing was changed")
          .hasMessageContaining("transactions that have published or settled something were open");
      assertThat(database.queryLong(AS_IF_ITS_PROCESS_HAD_DIED)).isZero();
      publisher.commit();
    }
    assertThat(new OnCall(database.dataSource()).drop(DOOMED, "not used")).isTrue();
  }

  @Test
  void h84_aMigrationThatHasLockedATableGivesUpAfterOneShortTry(TestDatabase database)
      throws Exception {
    PgOnce.using(database.dataSource()).install(DOOMED, OTHER);
    database.execute("create table watched (id bigint)");
    try (var publisher = begin(database, "select pgonce.publish('other', '\"one\"')");
        var migration = begin(database, "lock table watched in access exclusive mode")) {
      var begun = System.nanoTime();
      assertThatThrownBy(
              () -> {
                try (var statement = migration.createStatement()) {
                  statement.execute("select pgonce.drop_channel('doomed')");
                }
              })
          .hasMessageContaining("nothing was changed");
      assertThat(Duration.ofNanos(System.nanoTime() - begun))
          .isLessThan(Duration.ofMillis(800).plus(SLACK));
      publisher.rollback();
    }
  }

  /** Else its keys would never be free: they wait for each subscription that has them. */
  @ParameterizedTest
  @ValueSource(strings = {"repeatable read", "serializable"})
  void h84_whatOneWithAnOlderSnapshotStoresForADroppedSubscriptionIsClearedAway(
      String level, TestDatabase database) throws Exception {
    PgOnce.using(database.dataSource()).install(TWO, OTHER);
    try (var publisher = begin(database, SNAPSHOT.formatted(level))) {
      new OnCall(database.dataSource()).drop(TWO, "mail", "not used");
      // A single one goes to the subscriptions that are there.
      execute(
          publisher,
          "select pgonce.publish_each('doomed', '[1, 2]', '[{\"delivery_key\": \"now\"}, {\"delay_us\": 3600000000, \"delivery_key\": \"on\"}]')");
      // As a trigger stores what cannot be stored.
      execute(
          publisher,
          "insert into pgonce.dead_letter (subscription_id, id, attempts, created_at, reason, error, payload) select s.id, 1, 0, now(), 'NOT_STORABLE', 'no', '{}' from pgonce.subscription s where s.name = 'mail'");
      publisher.commit();
    }
    assertThat(database.queryString(STORED)).isEqualTo("2 notification, 2 scheduled, 1 dead");
    try (var user =
        begin(database, "select from pgonce.delivery_key where key = 'on' for update")) {
      assertThat(database.queryLong(CLEAR)).as("left for the next time").isZero();
      user.rollback();
    }
    assertThat(database.queryLong(CLEAR)).isEqualTo(3);
    assertThat(database.queryLong(CLEAR)).isZero();
    assertThat(database.queryString(STORED)).isEqualTo("1 notification, 1 scheduled, 0 dead");
    assertThat(
            database.queryString("select string_agg(waiting::text, '') from pgonce.delivery_key"))
        .isEqualTo("11");
  }

  /** As a trigger does whose channel was not installed again. */
  @Test
  void h84_aDropIsNotForgottenWhileRowsAreStoredForIt(TestDatabase database) throws Exception {
    PgOnce.using(database.dataSource()).install(TWO, OTHER);
    var dropped = database.queryLong("select id from pgonce.subscription s where s.name = 'mail'");
    new OnCall(database.dataSource()).drop(TWO, "mail", "not used");
    for (var month = 1; month <= 3; month++) {
      database.execute(
          "update pgonce.dropped set at = now() - interval '29 days', look_at = now(); insert into pgonce.notification (subscription_id, payload) values (%d, '1')"
              .formatted(dropped));
      assertThat(database.queryLong(CLEAR)).isEqualTo(1);
      assertThat(database.queryLong(CLEAR)).isZero();
      assertThat(
              database.queryString(
                  "select (look_at - now() < interval '10 min' and now() - at < interval '2 hours')::text from pgonce.dropped"))
          .isEqualTo("true");
    }
    database.execute("update pgonce.dropped set at = now() - interval '31 days'");
    assertThat(database.queryLong(CLEAR)).isZero();
    assertThat(database.queryLong("select count(*) from pgonce.dropped")).isZero();
  }

  @Test
  void h84_theKeyIsFreeThoughSomebodyHandlesWhatIsLeftOver(TestDatabase database) throws Exception {
    var begun = new CountDownLatch(2);
    var dropped = new CountDownLatch(1);
    try (var pgonce = PgOnce.builder(database.pooled(4)).build().install(TWO)) {
      pgonce
          .listen(
              TWO,
              "mail",
              ListenOptions.DEFAULT.withConcurrency(2),
              (text, tx) -> {
                begun.countDown();
                dropped.await();
              })
          .start();
      database.execute(BOTH);
      assertThat(begun.await(BOUND.toSeconds(), TimeUnit.SECONDS)).isTrue();
      new OnCall(database.dataSource()).drop(TWO, "mail", "not used");
      database.execute(CLEAR);
      assertThat(database.queryLong("select waiting from pgonce.delivery_key")).isEqualTo(2);
      dropped.countDown();
      await()
          .atMost(BOUND)
          .until(() -> database.queryLong("select waiting from pgonce.delivery_key") == 1);
    }
  }

  /** As while a dump is restored: its tables come one after the other. */
  @Test
  void h84_whatBelongsToASubscriptionThatIsNotThereYetStays(TestDatabase database)
      throws Exception {
    PgOnce.using(database.dataSource()).install(DOOMED, OTHER);
    new OnCall(database.dataSource()).drop(OTHER, "not used");
    database.execute("select pgonce.publish('doomed', '1', delivery_key => 'k')");
    database.execute("delete from pgonce.subscription");
    assertThat(database.queryLong(CLEAR)).isZero();
    assertThat(database.queryString(STORED)).startsWith("1 notification");
    assertThat(database.queryLong("select count(*) from pgonce.delivery_key")).isOne();
  }

  @Test
  void h84_whatWasDroppedIsKnownForThirtyDays(TestDatabase database) throws Exception {
    PgOnce.using(database.dataSource()).install(DOOMED);
    new OnCall(database.dataSource()).drop(DOOMED, "not used");
    database.execute("update pgonce.dropped set at = now() - interval '29 days 23 hours'");
    database.execute(CLEAR);
    assertThat(database.queryLong("select count(*) from pgonce.dropped")).isEqualTo(2);
    database.execute("update pgonce.dropped set at = now() - interval '30 days 1 hour'");
    database.execute(CLEAR);
    assertThat(database.queryLong("select count(*) from pgonce.dropped")).isZero();
  }

  /** Each look walks over what the drop has deleted, while a snapshot has that. */
  @Test
  void h84_theLongerAgoADropIsTheSeldomerItIsLookedFor(TestDatabase database) throws Exception {
    PgOnce.using(database.dataSource()).install(DOOMED);
    new OnCall(database.dataSource()).drop(DOOMED, "not used");
    database.execute("update pgonce.dropped set at = now() - interval '10 hours'");
    database.execute(CLEAR);
    assertThat(
            database.queryLong(
                "select extract(epoch from min(look_at) - now()) / 60 from pgonce.dropped"))
        .isBetween(58L, 60L);
  }

  /** Its channel's own function is gone, or knows better than the snapshot. */
  @Test
  void h84_whatOneWithAnOlderSnapshotPublishesAloneLeavesNothingBehind(TestDatabase database)
      throws Exception {
    PgOnce.using(database.dataSource()).install(TWO, OTHER);
    try (var publisher = begin(database, SNAPSHOT.formatted("repeatable read"))) {
      new OnCall(database.dataSource()).drop(TWO, "mail", "not used");
      execute(publisher, "select pgonce.publish('doomed', '1', delivery_key => 'k')");
      publisher.commit();
    }
    assertThat(database.queryString(STORED)).isEqualTo("1 notification, 0 scheduled, 0 dead");
    try (var publisher = begin(database, SNAPSHOT.formatted("repeatable read"))) {
      new OnCall(database.dataSource()).drop(TWO, "not used");
      assertThatThrownBy(() -> execute(publisher, "select pgonce.publish('doomed', '1')"))
          .hasMessageContaining("channel \"doomed\" was dropped while this was published")
          .extracting(thrown -> ((SQLException) thrown).getSQLState())
          .isEqualTo("40001");
    }
  }

  @Test
  void h84_theKeysOfWhatIsPublishedToADroppedChannelAreClearedAway(TestDatabase database)
      throws Exception {
    var pgonce = PgOnce.using(database.pooled(4)).install(DOOMED, OTHER);
    try (var publisher = begin(database, SNAPSHOT.formatted("repeatable read"))) {
      new OnCall(database.dataSource()).drop(DOOMED, "not used");
      execute(publisher, BOTH);
      publisher.commit();
    }
    assertThat(database.queryLong("select count(*) from pgonce.delivery_key")).isOne();
    // Its scans do it.
    pgonce.listen(OTHER, (text, tx) -> {}).start();
    await()
        .atMost(BOUND)
        .until(() -> database.queryLong("select count(*) from pgonce.delivery_key") == 0);
    assertThat(database.queryString(STORED)).isEqualTo("0 notification, 0 scheduled, 0 dead");
    pgonce.close();
  }

  /** Only who changes the mode waits for it, and finds it then. */
  @Test
  void h84_aPauseThatIsNotCommittedKeepsNobodyFromStoring(TestDatabase database) throws Exception {
    PgOnce.using(database.dataSource()).install(DOOMED, OTHER);
    try (var operator = begin(database, "select pgonce.pause('doomed', 'why')")) {
      var change = CompletableFuture.runAsync(() -> changeMode(database), A_THREAD_EACH);
      awaitWaiting(database, 1);
      assertThat(longestOfPublishing(database)).isLessThan(SLACK);
      assertThat(change).isNotDone();
      operator.commit();
      assertThatThrownBy(() -> change.get(30, TimeUnit.SECONDS)).hasMessageContaining("is paused");
    }
  }

  @Test
  void h83_whoInstallsAChannelThatIsBeingDroppedInstallsItAnew(TestDatabase database)
      throws Exception {
    PgOnce.using(database.dataSource()).install(DOOMED);
    var before = database.queryLong("select id from pgonce.channel");
    try (var publisher = begin(database, "select pgonce.publish('doomed', '\"one\"')")) {
      var drop =
          CompletableFuture.supplyAsync(
              () -> new OnCall(database.dataSource()).drop(DOOMED, "renewed"), A_THREAD_EACH);
      var install = installBeside(database);
      publisher.rollback();
      assertThat(drop.get(30, TimeUnit.SECONDS)).isTrue();
      install.get(30, TimeUnit.SECONDS);
    }
    assertThat(database.queryLong("select id from pgonce.channel")).isGreaterThan(before);
    assertThat(database.queryLong("select count(*) from pgonce.subscription")).isOne();
  }

  /** Begun while the drop waits: between two tries of that, it finds the channel as it was. */
  private static CompletableFuture<PgOnce> installBeside(TestDatabase database) {
    while (true) {
      awaitWaiting(database, 1);
      var install =
          CompletableFuture.supplyAsync(
              () -> PgOnce.using(database.dataSource()).install(DOOMED), A_THREAD_EACH);
      await().atMost(BOUND).until(() -> install.isDone() || waiting(database) == 2);
      if (!install.isDone()) {
        return install;
      }
    }
  }

  private static void changeMode(TestDatabase database) {
    try {
      database.execute("select pgonce.change_mode('doomed', 'BROADCAST')");
    } catch (SQLException e) {
      throw new IllegalStateException(e);
    }
  }

  private static Duration longestOfPublishing(TestDatabase database) throws SQLException {
    var longest = 0L;
    try (var connection = database.dataSource().getConnection();
        var statement = connection.createStatement()) {
      statement.execute("set statement_timeout = '20s'"); // else it would fail by never ending
      for (var i = 0; i < 20; i++) {
        var begun = System.nanoTime();
        statement.execute("select pgonce.publish('other', '\"one\"')");
        longest = Math.max(longest, System.nanoTime() - begun);
      }
    }
    return Duration.ofNanos(longest);
  }

  private static void awaitWaiting(TestDatabase database, int sessions) {
    await().atMost(BOUND).until(() -> waiting(database) == sessions);
  }

  private static long waiting(TestDatabase database) throws SQLException {
    return database.queryLong(
        "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'");
  }

  private static Connection begin(TestDatabase database, String sql) throws SQLException {
    var connection = database.dataSource().getConnection();
    connection.setAutoCommit(false);
    execute(connection, sql);
    return connection;
  }

  private static void execute(Connection connection, String sql) throws SQLException {
    try (var statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }

  /** Which would not see what is committed while it waits. */
  @ParameterizedTest
  @ValueSource(strings = {"repeatable read", "serializable"})
  void h83_aWayBackWithASnapshotIsRefused(String isolation, TestDatabase database)
      throws Exception {
    PgOnce.using(database.dataSource()).install(DOOMED);
    try (var snapshot = begin(database, SNAPSHOT.formatted(isolation))) {
      assertThatThrownBy(() -> execute(snapshot, "select pgonce.refuse_loss('doomed')"))
          .hasMessageContaining("run it in one that is READ COMMITTED");
    }
  }

  @Test
  void h84_whoKeepsAllFromStoringLosesItsSessionWhenItDoesNothing(TestDatabase database)
      throws Exception {
    PgOnce.using(database.dataSource()).install(DOOMED);
    try (var person = begin(database, "select pgonce.drop_channel('doomed')")) {
      await()
          .atMost(BOUND)
          .untilAsserted(
              () ->
                  assertThat(
                          database.queryLong(
                              "select count(*) from pg_locks where relation = 'pgonce.notification'::regclass and mode = 'ShareRowExclusiveLock'"))
                      .isZero());
      assertThatThrownBy(person::commit).hasMessageContaining("idle-in-transaction");
    }
  }
}
