package org.pgonce.wakeup;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongPredicate;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.pgonce.Channel;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.Publisher;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.stage.Stage.Order;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import org.pgonce.testkit.TestServer;

/**
 * A claim does not begin with the first row each time, see {@code ClaimCursor}: so the cost does
 * not grow with what was deleted and may still be seen by somebody, and what is committed with a
 * lower id comes soon all the same.
 */
@PgTest(PgOnceInstalled.class)
class LateCommitTest {

  private static final int AHEAD = 60_000;
  private static final int FIRST_AHEAD = 1_000_000;

  private static Channel<Order> channel(Mode mode) {
    return mode == Mode.EXACTLY_ONCE ? Stage.ORDERS : Channel.of("mails", Order.class, mode);
  }

  private static void storeAhead(TestDatabase database, Mode mode, int count) throws SQLException {
    database.execute(
        """
        select count(*) from pgonce.publish_all('%s',
          (select json_agg(json_build_object('id', %d + g, 'item', 'ahead')) from generate_series(0, %d) g))
        """
            .formatted(channel(mode).name(), FIRST_AHEAD, count - 1));
  }

  private static void publish(Connection late, Mode mode, int count) throws SQLException {
    var orders = new ArrayList<Order>();
    for (var id = 1; id <= count; id++) {
      orders.add(new Order(id, "late"));
    }
    Publisher.standard().publishAll(late, channel(mode), orders);
  }

  /** Publishes, and commits when a few of those ahead are done; waits until all late ones are. */
  private static void assertTheLateComeBeforeTheEnd(
      TestDatabase database, Mode mode, int late, int batch, LongPredicate leftAhead)
      throws Exception {
    try (var stage = new Stage(database);
        var writer = stage.dataSource.getConnection()) {
      PgOnce.using(stage.dataSource).install(channel(mode));
      writer.setAutoCommit(false);
      publish(writer, mode, late);
      storeAhead(database, mode, AHEAD);
      var ahead = new AtomicInteger();
      var some = new CountDownLatch(500);
      var handled = ConcurrentHashMap.<Long>newKeySet();
      var done = new CountDownLatch(late);
      stage
          .pgonce()
          .listen(
              channel(mode),
              Stage.QUICK.withConcurrency(4).withBatch(batch),
              (order, tx) -> {
                if (order.payload().id() >= FIRST_AHEAD) {
                  ahead.incrementAndGet();
                  some.countDown();
                } else if (handled.add(order.payload().id())) {
                  done.countDown();
                }
              })
          .start();
      Stage.awaitSoon(some);
      writer.commit();
      var before = ahead.get();
      Stage.awaitSoon(done);
      assertThat(AHEAD - ahead.get()).as("ahead there is work left").isPositive();
      assertThat(leftAhead.test(ahead.get() - before)).as("handled meanwhile: %s", ahead).isTrue();
    }
  }

  @Tag("all")
  @ParameterizedTest
  @CsvSource({"EXACTLY_ONCE, 1", "EXACTLY_ONCE, 5", "AT_LEAST_ONCE, 1", "AT_MOST_ONCE, 1"})
  void h71_whatIsCommittedLateComesWhileThereIsWorkAhead(
      Mode mode, int batch, TestDatabase database) throws Exception {
    assertTheLateComeBeforeTheEnd(database, mode, 1, batch, meanwhile -> true);
  }

  @ParameterizedTest
  @EnumSource(names = {"EXACTLY_ONCE", "AT_LEAST_ONCE"})
  @Tag("all")
  void h71_manyThatAreCommittedLateDoNotComeOneByOne(Mode mode, TestDatabase database)
      throws Exception {
    assertTheLateComeBeforeTheEnd(database, mode, 3_000, 1, meanwhile -> meanwhile < 15_000);
  }

  /** The look at the whole that was sent behind it does not come to its end either. */
  @Test
  void h71_whatIsCommittedLateComesWhileACommitAheadHangs(TestDatabase database) throws Exception {
    try (var stage = new Stage(database);
        var held = new HeldCommit(database);
        var writer = stage.dataSource.getConnection()) {
      writer.setAutoCommit(false);
      publish(writer, Mode.EXACTLY_ONCE, 1);
      storeAhead(database, Mode.EXACTLY_ONCE, 2_000);
      var late = new CountDownLatch(1);
      var otherIsBusy = new CountDownLatch(1);
      var hangs = new CountDownLatch(1);
      stage
          .pgonce()
          .listen(
              Stage.ORDERS,
              Stage.QUICK.withConcurrency(2),
              (order, tx) -> {
                var id = order.payload().id();
                if (id == FIRST_AHEAD + 500) {
                  Stage.awaitSoon(otherIsBusy);
                  awaitTheNextLookIsAtTheWhole();
                  Stage.effect(order, tx); // whose commit hangs
                } else if (id > FIRST_AHEAD + 500) {
                  otherIsBusy.countDown();
                  Stage.awaitSoon(hangs);
                } else if (id < FIRST_AHEAD) {
                  late.countDown();
                }
              })
          .start();
      held.awaitSomebody();
      hangs.countDown();
      writer.commit();
      Stage.awaitSoon(late);
      held.release();
      stage.awaitNothingWaits();
    }
  }

  private static void awaitTheNextLookIsAtTheWhole() {
    var since = System.nanoTime();
    await().atMost(Stage.SOON).until(() -> System.nanoTime() - since > 50_000_000);
  }

  @Tag("all")
  @Test
  void h71_aClaimDoesNotWalkOverAllThatAnOldSnapshotMaySee() throws Exception {
    var rows = 6_000;
    try (var server =
            TestServer.start(
                Map.of("shared_preload_libraries", "pg_stat_statements", "autovacuum", "off"));
        var database = server.createDatabase();
        var stage = new Stage(database);
        var old = database.unpooled().getConnection();
        var look = old.createStatement()) {
      database.execute("create extension pg_stat_statements");
      old.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
      old.setAutoCommit(false);
      look.execute("select count(*) from pgonce.notification");
      storeAhead(database, Mode.EXACTLY_ONCE, rows);
      stage.pgonce().listen(Stage.ORDERS, Stage.QUICK.withConcurrency(1), Stage::effect).start();
      // Each is a commit of its own that waits for the disk.
      await().atMost(Duration.ofMinutes(4)).until(() -> stage.effects() == rows);
      var pages =
          database.queryString(
              "select sum(shared_blks_hit + shared_blks_read) / sum(calls) from pg_stat_statements"
                  + " where query like '%pgonce.notification AS n%SKIP LOCKED%'");
      // Some 3,000 rows lie before an average one: 170 pages if each was walked over each time.
      assertThat(Double.parseDouble(pages)).as("pages of a claim").isLessThan(120);
      old.rollback();
    }
  }

  @Test
  void h71_aLeaseBeginsBehindTheGivenId(TestDatabase database) throws Exception {
    try (var stage = new Stage(database)) {
      PgOnce.using(stage.dataSource).install(channel(Mode.AT_LEAST_ONCE));
      storeAhead(database, Mode.AT_LEAST_ONCE, 3);
      var lease =
          """
          select (l.claimed).id - (select min(n.id) from pgonce.notification n where n.subscription_id > 0)
            from pgonce.subscription s join pgonce.channel c on c.id = s.channel_id and c.name = 'mails',
                 pgonce.lease(s.id, false, gen_random_uuid(), 60000, 3, 'NONE', 'AT_LEAST_ONCE',
                   after => (select min(n.id) from pgonce.notification n where n.subscription_id > 0) + %d) l
          """;
      assertThat(database.queryLong(lease.formatted(0))).isEqualTo(1);
      assertThat(database.queryLong(lease.formatted(-1))).isZero();
    }
  }

  @Tag("all")
  @Test
  void h71_whatAFailureLeavesBehindIsNotForgotten(TestDatabase database) throws Exception {
    try (var stage = new Stage(database)) {
      storeAhead(database, Mode.EXACTLY_ONCE, 5_000);
      var failed = ConcurrentHashMap.<Long>newKeySet();
      stage
          .pgonce()
          .listen(
              Stage.ORDERS,
              Stage.QUICK.withConcurrency(4).withBatch(7),
              (order, tx) -> {
                Stage.effect(order, tx);
                if (order.payload().id() % 100 == 0 && failed.add(order.payload().id())) {
                  throw new IllegalStateException("the first time");
                }
              })
          .start();
      stage.awaitNothingWaits();
      assertThat(stage.eachOnce(5_000)).isTrue();
      assertThat(List.copyOf(failed)).hasSize(50);
    }
  }

  /** Nobody is told that it is free, and whoever claims the last one may begin behind it. */
  @Tag("all")
  @ParameterizedTest
  @EnumSource(names = {"EXACTLY_ONCE", "AT_LEAST_ONCE"})
  void h71_whatAnotherGivesBackBeforeTheLastClaimIsFound(Mode mode, TestDatabase database)
      throws Exception {
    var rows = 2_000;
    try (var stage = new Stage(database);
        var other = stage.dataSource.getConnection();
        var holds = other.createStatement()) {
      PgOnce.using(stage.dataSource).install(channel(mode));
      storeAhead(database, mode, rows);
      other.setAutoCommit(false);
      holds.execute(
          "select from pgonce.notification where subscription_id > 0 order by id limit 1 for update");
      var handled = new AtomicInteger();
      try (var pgonce =
          PgOnce.builder(stage.dataSource)
              .pollInterval(Duration.ofHours(1))
              .stopTimeout(Duration.ofSeconds(2))
              .build()) {
        pgonce
            .listen(
                channel(mode),
                Stage.QUICK.withConcurrency(1),
                (order, tx) -> {
                  if (handled.incrementAndGet() == rows - 2) {
                    other.rollback();
                  }
                })
            .start();
        stage.awaitSoon(() -> handled.get() == rows);
      }
    }
  }
}
