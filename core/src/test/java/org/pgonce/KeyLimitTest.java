package org.pgonce;

import static org.assertj.core.api.Assertions.assertThat;
import static org.pgonce.Stage.QUICK;

import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.pgonce.Stage.Order;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** H53 without an order: of a key at most so many at once, in all processes; other keys flow. */
@PgTest
@Tag("drivers")
class KeyLimitTest {

  // Nothing here waits for a scan, where one is not asked for: neither the slow one nor that at the
  // end of a lease.
  private static final Duration NO_SCAN = Duration.ofHours(1);
  private static final ListenOptions OPTIONS = QUICK.withLease(NO_SCAN);

  private final ConcurrentLinkedQueue<Order> ended = new ConcurrentLinkedQueue<>();
  private final List<PgOnce> opened = new ArrayList<>();
  private final CountDownLatch go = new CountDownLatch(1);
  private Stage stage;

  @BeforeEach
  void open(TestDatabase database) throws SQLException {
    stage = new Stage(database);
  }

  @AfterEach
  void close() {
    go.countDown();
    opened.forEach(PgOnce::close);
    stage.close();
  }

  private static Channel<Order> calls(Mode mode, int maxPerKey) {
    return Channel.of("calls", Order.class, mode, ChannelOptions.DEFAULT.withMaxPerKey(maxPerKey));
  }

  private Channel<Order> install(Channel<Order> calls) {
    PgOnce.using(stage.dataSource).install(calls);
    return calls;
  }

  private Channel<Order> install(Mode mode, int maxPerKey) {
    return install(calls(mode, maxPerKey));
  }

  /** A process that is told of what there is to do by wake-ups alone. */
  private PgOnce process() {
    var process =
        PgOnce.builder(stage.dataSource)
            .pollInterval(NO_SCAN)
            .stopTimeout(Duration.ofSeconds(2))
            .build();
    opened.add(process);
    return process;
  }

  private void publish(Channel<Order> calls, String key, long first, long last)
      throws SQLException {
    var messages = new ArrayList<Message<Order>>();
    for (var id = first; id <= last; id++) {
      var options = PublishOptions.DEFAULT;
      messages.add(
          new Message<>(new Order(id, key), key.isEmpty() ? options : options.withOrderKey(key)));
    }
    try (var connection = stage.dataSource.getConnection()) {
      Publisher.standard().publishEach(connection, calls, messages);
    }
  }

  /** As rows that are due, as retries are. */
  private void makeDue() throws SQLException {
    stage.database.execute(
        """
        with gone as (delete from pgonce.notification where subscription_id > 0 returning *)
        insert into pgonce.scheduled (subscription_id, id, due_at, attempts, created_at, payload, order_key)
        select subscription_id, id, clock_timestamp(), 1, created_at, payload, order_key from gone
        """);
    stage.database.execute("select pgonce.wake_up('calls', 'due')");
  }

  private long ended(String key) {
    return ended.stream().filter(call -> call.item().equals(key)).count();
  }

  private static long emptyClaims(PgOnce process) {
    return process.status().channels().get(0).emptyClaims();
  }

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
    stage.awaitNothingWaits();
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

  /** A process that has gone, and a lease that is not over yet. */
  @ParameterizedTest
  @EnumSource(names = {"AT_LEAST_ONCE", "AT_MOST_ONCE"})
  void h53_aLeaseHasItsPlaceUntilItIsOver(Mode mode) throws Exception {
    var calls = install(mode, 1);
    publish(calls, "a", 1, 2);
    stage.database.execute(
        """
        select pgonce.lease(s.id, false, gen_random_uuid(), 3600000, 1, 'NONE', '', '%s', 1)
          from pgonce.subscription s where s.of_channel = 'calls'
        """
            .formatted(mode));
    var process = process();
    process.listen(calls, OPTIONS, (call, tx) -> ended.add(call.payload())).start();
    publish(calls, "b", 1, 1);
    stage.awaitSoon(() -> ended("b") == 1);
    var before = emptyClaims(process);
    stage.database.execute("select pgonce.wake_up('calls', 'due')");
    stage.awaitSoon(() -> emptyClaims(process) > before + 1);
    assertThat(ended("a")).isZero();
    stage.database.execute(
        "update pgonce.scheduled set due_at = clock_timestamp(), place_until = clock_timestamp() where token is not null");
    stage.database.execute("select pgonce.wake_up('calls', 'due')");
    stage.awaitNothingWaits();
    // What had begun and does not begin again is told; the other one has the place then.
    assertThat(stage.deadLetters()).isEqualTo(mode == Mode.AT_MOST_ONCE ? 1 : 0);
    assertThat(ended("a")).isEqualTo(mode == Mode.AT_MOST_ONCE ? 1 : 2);
  }

  /** Its attempt is counted in one transaction, and begins in another, which takes longer. */
  @ParameterizedTest
  @EnumSource(names = {"EXACTLY_ONCE", "AT_LEAST_ONCE"})
  void h53_h47_whatWasInAProcessThatDiedHasAPlaceWhenItRunsAgain(Mode mode) throws Exception {
    var calls = install(mode, 1);
    publish(calls, "a", 1, 1);
    makeDue();
    stage.database.execute(
        "update pgonce.scheduled set token = gen_random_uuid() where subscription_id > 0");
    var inside = new CountDownLatch(1);
    var process = process();
    process
        .listen(
            calls,
            OPTIONS.withMaxAttempts(10),
            (call, tx) -> {
              if (call.payload().item().equals("a") && call.payload().id() == 1) {
                inside.countDown();
                go.await();
              }
              ended.add(call.payload());
            })
        .start();
    Stage.awaitSoon(inside);
    if (mode == Mode.EXACTLY_ONCE) {
      // From here on its transaction alone keeps the place.
      stage.awaitSoon(
          () ->
              stage.database.queryLong(
                      "select count(*) from pgonce.scheduled where place_until < clock_timestamp()")
                  == 1);
    }
    publish(calls, "a", 2, 2);
    publish(calls, "b", 1, 1);
    stage.awaitSoon(() -> ended("b") == 1);
    var before = emptyClaims(process);
    stage.database.execute("select pgonce.wake_up('calls')");
    stage.awaitSoon(() -> emptyClaims(process) > before);
    assertThat(ended("a")).isZero();
    go.countDown();
    stage.awaitNothingWaits();
    assertThat(ended("a")).isEqualTo(2);
  }

  @ParameterizedTest
  @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "BROADCAST")
  void h85_whoStopsLeavesThePlacesOfItsKeysToOthers(Mode mode) throws Exception {
    var calls = install(mode, 1);
    var inside = new CountDownLatch(1);
    var first = process();
    first
        .listen(
            calls,
            OPTIONS,
            (call, tx) -> {
              inside.countDown();
              go.await();
              ended.add(call.payload());
            })
        .start();
    publish(calls, "a", 1, 3);
    Stage.awaitSoon(inside);
    var second = process();
    second.listen(calls, OPTIONS, (call, tx) -> ended.add(call.payload())).start();
    stage.awaitSoon(() -> emptyClaims(second) > 0);
    var stopping = new Thread(first::close);
    stopping.start();
    stage.awaitSoon(() -> first.status().state() == Status.State.STOPPING);
    assertThat(ended).isEmpty();
    go.countDown();
    stage.awaitNothingWaits();
    stopping.join(Stage.SOON.toMillis());
    assertThat(ended("a")).isEqualTo(3);
  }

  @ParameterizedTest
  @EnumSource(names = {"EXACTLY_ONCE", "AT_LEAST_ONCE"})
  void h45_aHandlerThatOverrunsLeavesItsPlaceToOthers(Mode mode) throws Exception {
    var calls = install(mode, 1);
    publish(calls, "a", 1, 2);
    makeDue();
    process()
        .listen(
            calls,
            OPTIONS
                .withHandlerTimeout(Duration.ofMillis(500))
                .withBackoff(new Backoff(NO_SCAN, NO_SCAN)),
            (call, tx) -> {
              if (call.payload().id() == 1) {
                awaitUninterrupted(go);
              }
              ended.add(call.payload());
            })
        .start();
    stage.awaitSoon(() -> ended("a") == 1);
    assertThat(ended.peek()).isEqualTo(new Order(2, "a"));
  }

  private static void awaitUninterrupted(CountDownLatch latch) {
    while (true) {
      try {
        latch.await();
        return;
      } catch (InterruptedException e) {
        // It does not care.
      }
    }
  }

  @ParameterizedTest
  @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "BROADCAST")
  void h83_aRunningListenerHearsThatTheLimitWasChanged(Mode mode) throws Exception {
    var old = process();
    old.listen(install(mode, 1), OPTIONS, (call, tx) -> {}).start();
    var calls = install(mode, 3);
    stage.awaitSoon(() -> old.status().channels().get(0).outdated() != null);
    assertThat(old.status().channels().get(0).outdated())
        .contains("installed with maximum per key \"3\", but defined with \"1\"")
        .contains(", max_per_key => 1);");
    publish(calls, "a", 1, 3);
    var three = new CyclicBarrier(3);
    process()
        .listen(
            calls,
            OPTIONS,
            (call, tx) -> {
              three.await(Stage.SOON.toSeconds(), TimeUnit.SECONDS);
              ended.add(call.payload());
            })
        .start();
    stage.awaitNothingWaits();
    assertThat(ended("a")).isEqualTo(3);
  }

  /** What is at work under the former definition has places beyond the new limit, or none. */
  @ParameterizedTest
  @EnumSource(names = {"EXACTLY_ONCE", "AT_LEAST_ONCE"})
  void h83_underALowerLimitWhatIsAtWorkIsHandledToItsEnd(Mode mode) throws Exception {
    var calls = install(mode, 3);
    publish(calls, "a", 1, 3);
    var inside = new CountDownLatch(3);
    process()
        .listen(
            calls,
            OPTIONS,
            (call, tx) -> {
              inside.countDown();
              go.await();
              ended.add(call.payload());
            })
        .start();
    Stage.awaitSoon(inside);
    var lower = install(mode, 1);
    publish(lower, "a", 4, 6);
    var next = process();
    next.listen(lower, OPTIONS, (call, tx) -> ended.add(call.payload())).start();
    stage.awaitSoon(() -> emptyClaims(next) > 0);
    assertThat(ended).isEmpty();
    go.countDown();
    stage.awaitSoon(() -> ended.size() >= 3);
    // The old one hands nothing on: it is outdated. What it had is free all the same.
    stage.database.execute("select pgonce.wake_up('calls')");
    stage.awaitNothingWaits();
    assertThat(ended("a")).isEqualTo(6);
  }

  @ParameterizedTest
  @CsvSource({"EXACTLY_ONCE, false", "EXACTLY_ONCE, true", "AT_LEAST_ONCE, false"})
  void h53_aLookBesideAFullKeyDoesNotWalkOverAllThatWaitsInIt(Mode mode, boolean due)
      throws Exception {
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
    assertThat(stage.database.queryLong(read) - before).isLessThan(due ? 60_000 : 15_000);
  }

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
        .endsWith("maximum per key 2");
  }
}
