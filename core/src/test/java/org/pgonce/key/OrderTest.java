package org.pgonce.key;

import static java.util.stream.Collectors.groupingBy;
import static java.util.stream.Collectors.mapping;
import static java.util.stream.Collectors.toList;
import static org.assertj.core.api.Assertions.assertThat;
import static org.pgonce.stage.Stage.QUICK;

import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadLocalRandom;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.EnumSource.Mode;
import org.pgonce.Backoff;
import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.KeyOrder;
import org.pgonce.ListenOptions;
import org.pgonce.PgOnce;
import org.pgonce.Publisher;
import org.pgonce.RejectedException;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.stage.Stage.Order;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** H53: never overtaken within a key; other keys flow. */
@Tag("versions")
@PgTest(PgOnceInstalled.class)
class OrderTest {

  private static final ChannelOptions BLOCKS =
      ChannelOptions.DEFAULT.withOrder(KeyOrder.DEAD_LETTER_BLOCKS);
  private static final ChannelOptions PASSES =
      ChannelOptions.DEFAULT.withOrder(KeyOrder.DEAD_LETTER_PASSES);

  private final ConcurrentLinkedQueue<Order> ended = new ConcurrentLinkedQueue<>();
  private Stage stage;

  @BeforeEach
  void open(TestDatabase database) throws SQLException {
    stage = new Stage(database);
  }

  @AfterEach
  void close() {
    stage.close();
  }

  private Channel<Order> channel(org.pgonce.Mode mode, ChannelOptions options) {
    var channel = Channel.of("steps", Order.class, mode, options);
    PgOnce.using(stage.dataSource).install(channel);
    return channel;
  }

  /** Orders with ids 1 to count for each key, in one statement, key by key or in turn. */
  private void publish(String keys, int count, boolean inTurn) throws SQLException {
    stage.database.execute(
        """
        insert into pgonce.notification (subscription_id, id, order_key, payload)
        select s.id, nextval('pgonce.notification_id'), x.key, json_build_object('id', x.n, 'item', x.key)
          from (select k.key, n from unnest('{%s}'::text[]) with ordinality k (key, o) cross join generate_series(1, %d) n
                order by case when %s then n else o end, o, n) x
          join pgonce.subscription s on true join pgonce.channel c on c.id = s.channel_id and c.name = 'steps'
        """
            .formatted(keys, count, inTurn));
    stage.database.execute("select pgonce.wake_up('steps')");
  }

  private Map<String, List<Long>> byKey() {
    return ended.stream().collect(groupingBy(Order::item, mapping(Order::id, toList())));
  }

  @ParameterizedTest
  @EnumSource(mode = Mode.EXCLUDE, names = "BROADCAST")
  void h53_withinAKeyNothingIsOvertakenByRetriesOrListeners(org.pgonce.Mode mode) throws Exception {
    var steps = channel(mode, BLOCKS);
    var running = new ConcurrentHashMap<String, Long>();
    var broken = new CopyOnWriteArrayList<String>();
    for (var listener = 0; listener < 3; listener++) {
      stage
          .pgonce()
          .listen(
              steps,
              QUICK.withMaxAttempts(1_000),
              (step, tx) -> {
                var key = step.payload().item();
                var other = running.put(key, step.payload().id());
                if (other != null) {
                  broken.add(key + " " + other + " and " + step.payload().id());
                }
                try {
                  if (mode != org.pgonce.Mode.AT_MOST_ONCE
                      && ThreadLocalRandom.current().nextInt(4) == 0) {
                    throw new IllegalStateException("now and then");
                  }
                  ended.add(step.payload());
                } finally {
                  running.remove(key);
                }
              })
          .start();
    }
    publish("a,b,c,d,e,f,g,h", 25, false);
    stage.awaitNothingWaits();
    assertThat(broken).isEmpty();
    assertThat(byKey()).hasSize(8);
    byKey().forEach((key, ids) -> assertThat(ids).as(key).hasSize(25).isSorted());
  }

  @Test
  @Tag("all")
  void h53_aKeyThatWaitsDoesNotHoldUpTheOthers() throws Exception {
    var steps = channel(org.pgonce.Mode.EXACTLY_ONCE, BLOCKS);
    var end = new CountDownLatch(1);
    publish("slow", 2_000, false);
    publish("a,b,c", 5, true);
    stage
        .pgonce()
        .listen(
            steps,
            QUICK,
            (step, tx) -> {
              if (step.payload().item().equals("slow") && step.payload().id() == 1) {
                end.await();
              }
              ended.add(step.payload());
            })
        .start();
    stage.awaitSoon(() -> ended.size() == 15);
    assertThat(byKey()).doesNotContainKey("slow");
    end.countDown();
    // One after the other, each by a claim of its own.
    stage.awaitWithin(Stage.SOON.multipliedBy(4), () -> ended.size() == 2_015);
    assertThat(byKey().get("slow")).isSorted();
  }

  @Test
  void h53_theEndOfARetrySetsItsKeyFreeWithoutAScan() throws Exception {
    var steps = channel(org.pgonce.Mode.EXACTLY_ONCE, BLOCKS);
    stage.somebodyListens();
    try (var pgonce =
        PgOnce.builder(stage.dataSource).pollInterval(Duration.ofMinutes(5)).build()) {
      pgonce
          .listen(
              steps,
              QUICK,
              (step, tx) -> {
                if (step.payload().id() == 1 && step.attempt() == 1) {
                  throw new IllegalStateException("once");
                }
                if (step.payload().id() == 1) {
                  // Until another worker has looked for the second, and found that it is not its
                  // turn.
                  var before = pgonce.status().channels().get(0).emptyClaims();
                  var begun = System.nanoTime();
                  stage.awaitSoon(
                      () -> {
                        if (System.nanoTime() - begun > Duration.ofSeconds(2).toNanos()) {
                          // It has looked before this thread came to count: once more, then.
                          stage.database.execute("select pgonce.wake_up('steps')");
                        }
                        return pgonce.status().channels().get(0).emptyClaims() > before;
                      });
                }
                ended.add(step.payload());
              })
          .start();
      publish("a", 2, true);
      stage.awaitSoon(() -> ended.size() == 2);
    }
    assertThat(byKey().get("a")).containsExactly(1L, 2L);
  }

  @Test
  void h53_aDeadLetterBlocksItsKeyUntilItIsRedriven() throws Exception {
    var steps = channel(org.pgonce.Mode.EXACTLY_ONCE, BLOCKS);
    var mended = new CountDownLatch(1);
    var pgonce = stage.pgonce();
    pgonce
        .listen(
            steps,
            QUICK.withMaxAttempts(1),
            (step, tx) -> {
              if (step.payload().item().equals("a") && mended.getCount() > 0) {
                throw new IllegalStateException("not yet");
              }
              ended.add(step.payload());
            })
        .start();
    publish("a,b", 3, true);
    stage.awaitSoon(() -> stage.deadLetters() == 1 && ended.size() == 3);
    assertThat(byKey()).containsOnlyKeys("b");
    mended.countDown();
    stage.onCall().redrive(steps);
    stage.awaitNothingWaits();
    assertThat(byKey().get("a")).containsExactly(1L, 2L, 3L);
  }

  @Test
  void h53_aDeadLetterThatIsDiscardedSetsItsKeyFree() throws Exception {
    var steps = channel(org.pgonce.Mode.EXACTLY_ONCE, BLOCKS);
    var pgonce = stage.pgonce(PgOnce.builder(stage.dataSource));
    pgonce
        .listen(
            steps,
            QUICK,
            (step, tx) -> {
              if (step.payload().id() == 1) {
                throw new RejectedException("never");
              }
              ended.add(step.payload());
            })
        .start();
    publish("a", 3, true);
    stage.awaitSoon(() -> stage.deadLetters() == 1);
    stage.onCall().discard(steps);
    stage.awaitNothingWaits();
    assertThat(byKey().get("a")).containsExactly(2L, 3L);
  }

  @Test
  void h53_aHeadThatIsCancelledSetsItsKeyFreeThoughPollsAreRare() throws Exception {
    var steps = channel(org.pgonce.Mode.EXACTLY_ONCE, BLOCKS);
    stage.somebodyListens();
    try (var pgonce =
        PgOnce.builder(stage.dataSource).pollInterval(Duration.ofMinutes(5)).build()) {
      pgonce
          .listen(
              steps,
              ListenOptions.DEFAULT.withBackoff(
                  new Backoff(Duration.ofHours(1), Duration.ofHours(1))),
              (step, tx) -> {
                if (step.payload().id() == 1) {
                  throw new IllegalStateException("not for an hour");
                }
                ended.add(step.payload());
              })
          .start();
      publish("a", 3, true);
      var failed =
          "select count(*) from pgonce.scheduled where subscription_id > 0 and attempts = 1";
      stage.awaitSoon(() -> stage.database.queryLong(failed) == 1);
      assertThat(ended).isEmpty();
      var head = stage.onCall().peek(steps, 1).get(0).id();
      stage.onCall().cancel(steps, List.of(head), "nobody wants it any more");
      stage.awaitNothingWaits();
    }
    assertThat(byKey().get("a")).containsExactly(2L, 3L);
  }

  @Test
  void h53_aDeadLetterPassesWhereTheChannelSaysSo() throws Exception {
    var steps = channel(org.pgonce.Mode.EXACTLY_ONCE, PASSES);
    stage
        .pgonce()
        .listen(
            steps,
            QUICK,
            (step, tx) -> {
              if (step.payload().id() == 1) {
                throw new RejectedException("never");
              }
              ended.add(step.payload());
            })
        .start();
    publish("a", 3, true);
    stage.awaitNothingWaits();
    assertThat(stage.deadLetters()).isEqualTo(1);
    assertThat(byKey().get("a")).containsExactly(2L, 3L);
  }

  @Test
  void h53_whatHasNoKeyWaitsForNobody() throws Exception {
    var steps = channel(org.pgonce.Mode.EXACTLY_ONCE, BLOCKS);
    var end = new CountDownLatch(1);
    try (var connection = stage.dataSource.getConnection()) {
      for (var id = 1; id <= 5; id++) {
        Publisher.standard().publish(connection, steps, new Order(id, "none"));
      }
    }
    stage
        .pgonce()
        .listen(
            steps,
            QUICK,
            (step, tx) -> {
              if (step.payload().id() == 1) {
                end.await();
              }
              ended.add(step.payload());
            })
        .start();
    stage.awaitSoon(() -> ended.size() == 4);
    end.countDown();
    stage.awaitNothingWaits();
  }

  @Test
  void h53_whatHasNoKeyIsNotHeldUpByAKeyOfManyThatWaits() throws Exception {
    var steps = channel(org.pgonce.Mode.EXACTLY_ONCE, BLOCKS);
    var end = new CountDownLatch(1);
    publish("slow", 100, false);
    try (var connection = stage.dataSource.getConnection()) {
      Publisher.standard().publish(connection, steps, new Order(1, "none"));
      Publisher.standard().publishAll(connection, steps, List.of(new Order(2, "none")));
    }
    stage
        .pgonce()
        .listen(
            steps,
            QUICK,
            (step, tx) -> {
              if (step.payload().item().equals("slow")) {
                end.await();
              }
              ended.add(step.payload());
            })
        .start();
    stage.awaitSoon(() -> ended.size() == 2);
    end.countDown();
    stage.awaitNothingWaits();
  }

  @Tag("all")
  @Test
  void h53_aLookAtAHotKeyDoesNotWalkOverAllThatWaitsInIt() throws Exception {
    stage.assumeExactStatistics();
    var steps = channel(org.pgonce.Mode.EXACTLY_ONCE, BLOCKS);
    publish("hot", 20_000, false);
    publish("cold", 50, false);
    stage.database.execute("analyze pgonce.notification");
    try (var holder = stage.database.dataSource().getConnection()) {
      holder.setAutoCommit(false);
      holder
          .createStatement()
          .execute(
              "select * from pgonce.notification where order_key = 'hot' order by id limit 1 for update");
      var read =
          "select sum(idx_tup_read) from pg_stat_user_indexes where relname = 'notification'";
      var before = stage.database.queryLong(read);
      stage
          .pgonce()
          .listen(steps, QUICK.withConcurrency(1), (step, tx) -> ended.add(step.payload()))
          .start();
      stage.awaitSoon(() -> ended.size() == 50);
      stage.close();
      stage.awaitSoon(() -> stage.database.queryLong(read) > before);
      // Some 50 claims, and some in vain: each looks at 32 of the oldest rows and at the first of
      // each key, where what is handled is not vacuumed yet. A walk over all would be a million.
      assertThat(stage.database.queryLong(read) - before).isLessThan(100_000);
      holder.rollback();
    }
    assertThat(byKey().get("cold")).isSorted();
  }
}
