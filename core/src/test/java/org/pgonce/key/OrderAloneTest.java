package org.pgonce.key;

import static org.assertj.core.api.Assertions.assertThat;
import static org.pgonce.stage.Stage.QUICK;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.KeyOrder;
import org.pgonce.ListenOptions;
import org.pgonce.Mode;
import org.pgonce.Notification;
import org.pgonce.PgOnce;
import org.pgonce.PgOnceBuilder;
import org.pgonce.PublishOptions;
import org.pgonce.Publisher;
import org.pgonce.RejectedException;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.stage.Stage.Order;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import org.pgonce.wakeup.HeldCommit;

/**
 * H53: of a key one at a time, where a lower id turns up while a higher one is in its handler as
 * well; and its turn comes at once when that has ended, without a scan.
 */
@PgTest(PgOnceInstalled.class)
class OrderAloneTest {

  // Nothing here waits for a scan: neither the slow one nor that at the end of a lease.
  private static final Duration NO_SCAN = Duration.ofHours(1);
  private static final ListenOptions OPTIONS = QUICK.withLease(NO_SCAN);

  private final ConcurrentLinkedQueue<String> begun = new ConcurrentLinkedQueue<>();
  private final Set<String> running = ConcurrentHashMap.newKeySet();
  private final CountDownLatch go = new CountDownLatch(1);
  private final AtomicBoolean mended = new AtomicBoolean();
  private Stage stage;
  private Channel<Order> steps;

  @BeforeEach
  void open(TestDatabase database) throws SQLException {
    stage = new Stage(database);
  }

  @AfterEach
  void close() {
    go.countDown();
    stage.close();
  }

  private void install(Mode mode, KeyOrder order) {
    steps = Channel.of("steps", Order.class, mode, ChannelOptions.DEFAULT.withOrder(order));
    PgOnce.using(stage.dataSource).install(steps);
  }

  private PgOnceBuilder builder() {
    return PgOnce.builder(stage.dataSource);
  }

  private void publish(Connection connection, String key, long id) throws SQLException {
    Publisher.standard()
        .publish(connection, steps, new Order(id, key), PublishOptions.DEFAULT.withOrderKey(key));
  }

  private void publish(String key, long id) throws SQLException {
    try (var connection = stage.dataSource.getConnection()) {
      publish(connection, key, id);
    }
  }

  /** The second of key a stays until it may go. */
  private void handle(Notification<Order> step) throws InterruptedException, RejectedException {
    var name = step.payload().item() + step.payload().id();
    if (name.equals("a1") && !mended.get()) {
      throw new RejectedException("not yet");
    }
    begun.add(name);
    running.add(name);
    if (name.equals("a2")) {
      go.await();
    }
    running.remove(name);
  }

  private static long emptyClaims(PgOnce pgonce) {
    return pgonce.status().channels().get(0).emptyClaims();
  }

  /** A lower id of the key was stored: it is looked for, and not found before the higher ends. */
  private void assertThatItWaitsAndThenComes(PgOnce pgonce, long before) throws Exception {
    // What is heard is heard in order; new and due ones take turns.
    for (var id = 1; id <= 3; id++) {
      publish("b", id);
      var name = "b" + id;
      stage.awaitSoon(() -> begun.contains(name));
    }
    stage.awaitSoon(() -> emptyClaims(pgonce) > before + 1);
    assertThat(begun).doesNotContain("a1");
    // The last of the other key may not have returned yet.
    assertThat(running).filteredOn(name -> name.startsWith("a")).containsExactly("a2");
    go.countDown();
    stage.awaitNothingWaits();
    assertThat(begun).containsExactly("a2", "b1", "b2", "b3", "a1");
  }

  @ParameterizedTest
  @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "BROADCAST")
  void h53_whatIsRedrivenWaitsForTheOneOfItsKeyThatRuns(Mode mode) throws Exception {
    install(mode, KeyOrder.DEAD_LETTER_PASSES);
    try (var pgonce = builder().build()) {
      pgonce.listen(steps, OPTIONS, (step, tx) -> handle(step)).start();
      publish("a", 1);
      publish("a", 2);
      stage.awaitSoon(() -> stage.deadLetters() == 1 && running.contains("a2"));
      mended.set(true);
      var before = emptyClaims(pgonce);
      stage.onCall().redrive(steps);
      assertThatItWaitsAndThenComes(pgonce, before);
    }
  }

  @ParameterizedTest
  @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "BROADCAST")
  void h53_whatIsCommittedLateWaitsForTheHigherOneThatRuns(Mode mode) throws Exception {
    install(mode, KeyOrder.DEAD_LETTER_BLOCKS);
    mended.set(true);
    try (var pgonce = builder().build();
        var late = stage.database.dataSource().getConnection()) {
      pgonce.listen(steps, OPTIONS, (step, tx) -> handle(step)).start();
      late.setAutoCommit(false);
      publish(late, "a", 1);
      publish("a", 2);
      stage.awaitSoon(() -> running.contains("a2"));
      var before = emptyClaims(pgonce);
      late.commit();
      assertThatItWaitsAndThenComes(pgonce, before);
    }
  }

  @ParameterizedTest
  @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "BROADCAST")
  void h53_whatIsHeardOfWhileTheOneBeforeIsBeingCommittedComesWithoutAScan(Mode mode)
      throws Exception {
    install(mode, KeyOrder.DEAD_LETTER_BLOCKS);
    mended.set(true);
    try (var held = new HeldCommit(stage.database);
        var pgonce = builder().build()) {
      pgonce
          .listen(
              steps,
              OPTIONS,
              (step, tx) -> {
                Stage.effect(step, tx);
                handle(step);
              })
          .start();
      publish("a", 1);
      // Its statements have told that nothing is left, and its key is still its own.
      held.awaitSomebody();
      var before = emptyClaims(pgonce);
      publish("a", 3);
      stage.awaitSoon(() -> emptyClaims(pgonce) > before);
      held.release();
      stage.awaitNothingWaits();
      assertThat(begun).containsExactly("a1", "a3");
    }
  }

  @Tag("all")
  @Test
  void h53_aLookAtALeasedKeyDoesNotWalkOverAllThatIsScheduledInIt() throws Exception {
    stage.assumeExactStatistics();
    install(Mode.AT_LEAST_ONCE, KeyOrder.DEAD_LETTER_BLOCKS);
    mended.set(true);
    try (var pgonce = builder().build();
        var late = stage.database.dataSource().getConnection()) {
      pgonce.listen(steps, OPTIONS.withConcurrency(2), (step, tx) -> handle(step)).start();
      late.setAutoCommit(false);
      publish(late, "a", 1);
      publish("a", 2);
      stage.awaitSoon(() -> running.contains("a2"));
      late.commit();
      stage.database.execute(
          """
          insert into pgonce.scheduled (subscription_id, id, due_at, attempts, created_at, order_key, payload)
          select s.id, nextval('pgonce.notification_id'), clock_timestamp() + interval '1 day', 0, clock_timestamp(), 'a', '{}'
            from generate_series(1, 20000), pgonce.subscription s join pgonce.channel c on c.id = s.channel_id and c.name = 'steps'
          """);
      var read = "select sum(idx_tup_read) from pg_stat_user_indexes where relname = 'scheduled'";
      var before = stage.database.queryLong(read);
      for (var id = 1; id <= 30; id++) {
        publish("b", id);
      }
      stage.awaitSoon(() -> begun.contains("b30"));
      assertThat(begun).doesNotContain("a1");
      go.countDown();
      stage.awaitSoon(() -> begun.contains("a1"));
      pgonce.close();
      stage.awaitSoon(() -> stage.database.queryLong(read) > before);
      assertThat(stage.database.queryLong(read) - before).isLessThan(20_000);
    }
  }
}
