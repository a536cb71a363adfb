package org.pgonce.key;

import static org.assertj.core.api.Assertions.assertThat;
import static org.pgonce.stage.Stage.QUICK;

import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.pgonce.Backoff;
import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.KeyOrder;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.internal.jdbc.Statements;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.stage.Stage.Order;
import org.pgonce.testkit.PgTest;

/** H53 without an order: of a key at most so many at once, in all processes; other keys flow. */
@PgTest(PgOnceInstalled.class)
@Tag("drivers")
class KeyLimitTest extends KeyLimitScene {

  @ParameterizedTest
  @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "BROADCAST")
  void h53_neverMoreThanTheLimitOfAKeyWhateverFails(Mode mode) throws Exception {
    var calls = install(mode, 2);
    var running = new ConcurrentHashMap<String, Integer>();
    var most = new ConcurrentHashMap<String, Integer>();
    for (var listener = 0; listener < 2; listener++) {
      stage
          .pgonce()
          .listen(
              calls,
              QUICK.withMaxAttempts(1_000).withConcurrency(6),
              (call, tx) -> {
                var key = call.payload().item();
                most.merge(key, running.merge(key, 1, Integer::sum), Math::max);
                try {
                  tx.query("select pg_sleep(0.002)", row -> 1);
                  if (mode != Mode.AT_MOST_ONCE && ThreadLocalRandom.current().nextInt(4) == 0) {
                    throw new IllegalStateException("now and then");
                  }
                  ended.add(call.payload());
                } finally {
                  running.merge(key, -1, Integer::sum);
                }
              })
          .start();
    }
    for (var key : List.of("a", "b", "c")) {
      publish(calls, key, 1, 40);
    }
    stage.awaitNothingWaits();
    assertThat(ended).hasSize(120).doesNotHaveDuplicates();
    assertThat(most).isEqualTo(Map.of("a", 2, "b", 2, "c", 2));
  }

  /** Each waits for two others of its key, and no process has as many workers. */
  @ParameterizedTest
  @CsvSource({
    "EXACTLY_ONCE, false",
    "EXACTLY_ONCE, true",
    "AT_LEAST_ONCE, false",
    "AT_LEAST_ONCE, true",
    "AT_MOST_ONCE, false"
  })
  @Tag("all")
  void h53_asManyAsTheLimitAllowsAreAtWorkAtOnceAndTheNextComesWhenOneEnds(Mode mode, boolean due)
      throws Exception {
    var calls = install(mode, 3);
    publish(calls, "a", 1, 12);
    if (due) {
      makeDue();
    }
    var three = new CyclicBarrier(3);
    for (var listener = 0; listener < 2; listener++) {
      process()
          .listen(
              calls,
              OPTIONS.withConcurrency(2),
              (call, tx) -> {
                three.await(Stage.SOON.toSeconds(), TimeUnit.SECONDS);
                ended.add(call.payload());
              })
          .start();
    }
    stage.awaitNothingWaits();
    assertThat(ended).hasSize(12).doesNotHaveDuplicates();
  }

  @Tag("all")
  @ParameterizedTest
  @CsvSource({
    "EXACTLY_ONCE, false",
    "EXACTLY_ONCE, true",
    "AT_LEAST_ONCE, false",
    "AT_LEAST_ONCE, true",
    "AT_MOST_ONCE, false"
  })
  void h53_aKeyThatIsFullHoldsUpNoOthersNorWhatHasNone(Mode mode, boolean due) throws Exception {
    var calls = install(mode, 2);
    publish(calls, "full", 1, 1_200);
    publish(calls, "a", 1, 3);
    publish(calls, "", 1, 3);
    publish(calls, "b", 1, 3);
    if (due) {
      makeDue();
    }
    var full = new CountDownLatch(2);
    process()
        .listen(
            calls,
            OPTIONS,
            (call, tx) -> {
              if (call.payload().item().equals("full")) {
                full.countDown();
                go.await();
              }
              ended.add(call.payload());
            })
        .start();
    Stage.awaitSoon(full);
    stage.awaitSoon(() -> ended.size() == 9);
    assertThat(ended("full")).isZero();
    go.countDown();
    // Two at a time, each by a claim of its own.
    stage.awaitWithin(Stage.SOON.multipliedBy(4), () -> stage.waiting() == 0);
    assertThat(ended("full")).isEqualTo(1_200);
  }

  @ParameterizedTest
  @EnumSource(names = {"EXACTLY_ONCE", "AT_LEAST_ONCE"})
  void h53_whatWaitsForItsRetryHasNoPlace(Mode mode) throws Exception {
    var calls = install(mode, 1);
    process()
        .listen(
            calls,
            OPTIONS.withBackoff(new Backoff(NO_SCAN, NO_SCAN)),
            (call, tx) -> {
              if (call.payload().id() == 1) {
                throw new IllegalStateException("not for an hour");
              }
              ended.add(call.payload());
            })
        .start();
    publish(calls, "a", 1, 5);
    stage.awaitSoon(() -> ended.size() == 4);
    stage.awaitSoon(() -> stage.waiting() == 1);
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void h53_whatHasNoKeyIsNotLimited(boolean before) throws Exception {
    // Before the channel has a limit, such rows have no key at all.
    var calls =
        before ? install(Channel.of("calls", Order.class)) : install(calls(Mode.EXACTLY_ONCE, 1));
    publish(calls, "", 1, 3);
    assertThat(
            stage.database.queryLong(
                "select count(*) from pgonce.notification where subscription_id > 0 and order_key is null"))
        .isEqualTo(before ? 3 : 0);
    var three = new CyclicBarrier(3);
    process()
        .listen(
            install(Mode.EXACTLY_ONCE, 1),
            OPTIONS,
            (call, tx) -> {
              three.await(Stage.SOON.toSeconds(), TimeUnit.SECONDS);
              ended.add(call.payload());
            })
        .start();
    stage.awaitSoon(() -> ended.size() == 3);
    stage.awaitNothingWaits();
  }

  @Tag("all")
  @ParameterizedTest
  @CsvSource({"EXACTLY_ONCE, false", "EXACTLY_ONCE, true", "AT_LEAST_ONCE, false"})
  void h53_aLookBesideAFullKeyDoesNotWalkOverAllThatWaitsInIt(Mode mode, boolean due)
      throws Exception {
    stage.assumeExactStatistics();
    var calls = install(mode, 1);
    stage.database.execute(
        """
        insert into pgonce.notification (subscription_id, order_key, payload)
        select s.id, 'full', json_build_object('id', g, 'item', 'full') from generate_series(1, 20000) g, pgonce.subscription s where s.of_channel = 'calls'
        """);
    if (due) {
      makeDue();
    }
    stage.database.execute("analyze pgonce.notification; analyze pgonce.scheduled");
    var inside = new CountDownLatch(1);
    process()
        .listen(
            calls,
            OPTIONS.withConcurrency(2),
            (call, tx) -> {
              if (call.payload().item().equals("full")) {
                inside.countDown();
                go.await();
              }
              ended.add(call.payload());
            })
        .start();
    Stage.awaitSoon(inside);
    var read =
        "select sum(idx_tup_read) from pg_stat_user_indexes where relname in ('notification', 'scheduled')";
    var before = stage.database.queryLong(read);
    for (var id = 1; id <= 10; id++) {
      publish(calls, "b", id, id);
      var count = id;
      stage.awaitSoon(() -> ended("b") == count);
    }
    assertThat(ended("full")).isZero();
    // The full key stays full until the end. Sessions that end tell what they have read.
    opened.forEach(PgOnce::close);
    stage.dataSource.close();
    stage.awaitSoon(() -> stage.database.queryLong(read) > before);
    // Once over all that waits, and not with each look.
    assertThat(stage.database.queryLong(read) - before).isLessThan(100_000);
  }

  /** Each row that somebody else has locked costs a claim a look, and a lock. */
  @Test
  void h53_aCancellationThatIsNotCommittedHoldsUpNoOtherKey() throws Exception {
    var calls = install(Mode.EXACTLY_ONCE, 2);
    publish(calls, "full", 1, 500);
    publish(calls, "b", 1, 1);
    try (var operator = stage.dataSource.getConnection();
        var statement = operator.createStatement()) {
      operator.setAutoCommit(false);
      statement.execute(
          "select from pgonce.cancel('calls', array(select id from pgonce.notification where order_key = 'full'))");
      var locks = new AtomicLong();
      process()
          .listen(
              calls,
              OPTIONS,
              (call, tx) -> {
                locks.set(
                    tx.query(
                            "select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()",
                            row -> row.getLong(1))
                        .get(0));
                ended.add(call.payload());
              })
          .start();
      stage.awaitSoon(() -> ended("b") == 1);
      assertThat(locks.get()).isLessThan(100);
      operator.rollback();
    }
    stage.awaitNothingWaits();
    assertThat(ended("full")).isEqualTo(500);
  }

  /** A server has room for some thousand locks of all its sessions: the next claim goes on. */
  @ParameterizedTest
  @ValueSource(strings = {"near", "walk"})
  void h53_aCancellationOfManyKeysLetsAClaimTakeFewLocks(String way) throws Exception {
    var calls = install(Mode.EXACTLY_ONCE, 2);
    for (var key = 100; key < 150; key++) {
      publish(calls, "a" + key, 1, 20);
    }
    publish(calls, "b", 1, 1);
    try (var operator = stage.dataSource.getConnection();
        var connection = stage.dataSource.getConnection()) {
      operator.setAutoCommit(false);
      connection.setAutoCommit(false);
      Statements.execute(
          operator,
          "select from pgonce.cancel('calls', array(select id from pgonce.notification where order_key like 'a%'))");
      var look = new Look(null, 0, "", true);
      for (var looks = 0; look.found() == null; looks++) {
        assertThat(looks).isLessThan(20);
        assertThat(look.goesOn()).isTrue();
        look =
            Statements.row(
                connection,
                "select n.order_key, split_part(n.seen, ' ', 3)::bigint, coalesce(n.walked, ''), split_part(n.seen, ' ', 5) = '1' or n.walked <> '' from pgonce.subscription s, pgonce.claim_by_key(s.id, false, false, 2, array[?], '{}', 0, ?, ?) n where s.of_channel = 'calls'",
                row ->
                    new Look(row.getString(1), row.getLong(2), row.getString(3), row.getBoolean(4)),
                way,
                look.reached(),
                look.walked());
        long locks =
            Statements.row(
                connection,
                "select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()",
                row -> row.getLong(1));
        assertThat(locks).isLessThan(200);
        connection.rollback();
      }
      assertThat(look.found()).isEqualTo("b");
    }
  }

  private record Look(@Nullable String found, long reached, String walked, boolean goesOn) {}

  @Test
  void api_aLimitPerKeyIsNotForWhatCouldNotKeepIt() throws Exception {
    assertThat(refusal(() -> ChannelOptions.DEFAULT.withMaxPerKey(101)))
        .contains("maxPerKey 101 is not between 1 and 100");
    assertThat(
            refusal(
                () ->
                    ChannelOptions.DEFAULT.withMaxPerKey(2).withOrder(KeyOrder.DEAD_LETTER_PASSES)))
        .contains("one notification of a key is handled at a time anyway");
    assertThat(refusal(() -> calls(Mode.BROADCAST, 2))).contains("limit per key");
    var limited = calls(Mode.EXACTLY_ONCE, 2);
    assertThat(refusal(() -> process().listen(limited, QUICK.withBatch(2), Stage::effect)))
        .contains("has a limit of 2 per key");
    var neither = install(Channel.of("neither", Order.class));
    assertThat(refusal(() -> publish(neither, "a", 1, 1)))
        .contains("keeps no order (KeyOrder.NONE) and has no limit per key");
    var sql =
        "select pgonce.install_channel('%s', '%s', 'published', max_per_key => 2, key_order => '%s')";
    assertThat(refusal(() -> stage.database.execute(sql.formatted("x", "BROADCAST", "NONE"))))
        .contains("it is a BROADCAST");
    assertThat(
            refusal(
                () ->
                    stage.database.execute(
                        sql.formatted("x", "EXACTLY_ONCE", "DEAD_LETTER_BLOCKS"))))
        .contains("beside its order");
  }

  private interface Refused {
    void run() throws Exception;
  }

  private static String refusal(Refused refused) {
    try {
      refused.run();
    } catch (Exception e) {
      return String.valueOf(e.getMessage());
    }
    return "nothing was refused";
  }

  /** A channel that SQL has installed, and that SQL publishes to. */
  @Test
  void example_aLimitPerKeyInSql() throws Exception {
    stage.database.execute(
        """
        select pgonce.install_channel('calls', 'EXACTLY_ONCE', 'published', max_per_key => 2);
        select pgonce.publish('calls', json_build_object('id', g, 'item', 'a'), order_key => 'a') from generate_series(1, 4) g
        """);
    var two = new CyclicBarrier(2);
    process()
        .listen(
            calls(Mode.EXACTLY_ONCE, 2),
            OPTIONS,
            (call, tx) -> {
              two.await(Stage.SOON.toSeconds(), TimeUnit.SECONDS);
              ended.add(call.payload());
            })
        .start();
    stage.awaitNothingWaits();
    assertThat(ended("a")).isEqualTo(4);
    assertThat(
            stage.database.queryString(
                "select detail from pgonce.operation where channel = 'calls'"))
        .contains(", maximum per key 2, ");
  }
}
