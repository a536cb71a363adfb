package org.pgonce.key;

import static org.assertj.core.api.Assertions.assertThat;
import static org.pgonce.stage.Stage.QUICK;

import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.KeyOrder;
import org.pgonce.Message;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.PublishOptions;
import org.pgonce.Publisher;
import org.pgonce.RejectedException;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.stage.Stage.Order;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import org.pgonce.wakeup.RandomWriter;

/**
 * H53, H56, H82: writers that commit late, handlers that fail, dead letters that are redriven, and
 * sessions that are ended, all at random, among keys that wait. Within a key nothing is overtaken,
 * nothing runs beside another, and nothing is forgotten.
 */
@PgTest(PgOnceInstalled.class)
class OrderRandomTest {

  private static final int WRITERS = 4;
  private static final int KEYS_OF_EACH = 4;
  private static final int ROWS = 40;

  private final Map<String, Queue<Long>> ended = new ConcurrentHashMap<>();
  private final Map<String, Long> running = new ConcurrentHashMap<>();
  private final List<String> broken = new CopyOnWriteArrayList<>();
  private final AtomicBoolean calm = new AtomicBoolean();
  private Stage stage;
  private Channel<Order> steps;

  @BeforeEach
  void open(TestDatabase database) throws SQLException {
    stage = new Stage(database);
  }

  @AfterEach
  void close() {
    stage.close();
  }

  private void handle(Order step) throws Exception {
    if (step.item().equals("blocked")) {
      return;
    }
    var other = running.put(step.item(), step.id());
    try {
      if (other != null) {
        broken.add("%s: %d beside %d".formatted(step.item(), step.id(), other));
      }
      var chance = ThreadLocalRandom.current().nextInt(20);
      if (!calm.get() && chance == 0) {
        throw new RejectedException("not now");
      } else if (!calm.get() && chance < 4) {
        throw new IllegalStateException("once more");
      }
      ended.computeIfAbsent(step.item(), key -> new ConcurrentLinkedQueue<>()).add(step.id());
    } finally {
      running.remove(step.item());
    }
  }

  /** Of a key one writer alone, so its rows have an order. */
  private Void write(int writer, long seed) throws Exception {
    var random = new Random(seed + writer);
    var next = new AtomicLong[KEYS_OF_EACH];
    Arrays.setAll(next, key -> new AtomicLong());
    try (var connection = stage.database.dataSource().getConnection()) {
      connection.setAutoCommit(false);
      while (Arrays.stream(next).anyMatch(id -> id.get() < ROWS)) {
        var messages = new ArrayList<Message<Order>>();
        for (var n = random.nextInt(5); n >= 0; n--) {
          var key = random.nextInt(KEYS_OF_EACH);
          if (next[key].get() < ROWS) {
            var name = "w" + writer + "k" + key;
            messages.add(
                new Message<>(
                    new Order(next[key].incrementAndGet(), name),
                    PublishOptions.DEFAULT.withOrderKey(name)));
          }
        }
        Publisher.standard().publishEach(connection, steps, messages);
        RandomWriter.pause(random.nextInt(10) == 0 ? random.nextInt(300) : random.nextInt(5));
        connection.commit();
      }
    }
    return null;
  }

  /** Redrives what is dead, and now and then ends a session of a listener. */
  private Void disturb(long seed, Mode mode) throws Exception {
    var random = new Random(seed);
    while (!calm.get()) {
      RandomWriter.pause(50 + random.nextInt(200));
      redrive();
      if (mode == Mode.EXACTLY_ONCE && random.nextInt(4) == 0) {
        stage.database.execute(
            """
            select pg_terminate_backend(l.pid) from pg_locks l
             where l.locktype = 'advisory' and l.objsubid = 1 and l.database = (select oid from pg_database where datname = current_database()) limit 1
            """);
      }
    }
    return null;
  }

  /** But for what blocks keys all the while. */
  private void redrive() {
    try {
      var dead =
          stage.database.queryString(
              "select string_agg(id::text, ',') from pgonce.dead_letter where id > 0");
      if (dead != null) {
        var ids = Arrays.stream(dead.split(",")).map(Long::valueOf).toList();
        stage.onCall().redrive(steps, ids);
      }
    } catch (SQLException e) {
      throw new IllegalStateException(e);
    }
  }

  /** 500 more keys wait for dead letters all the while. */
  private void block() throws SQLException {
    stage.database.execute(
        """
        insert into pgonce.dead_letter (subscription_id, id, attempts, created_at, reason, error, payload, order_key)
        select s.id, -g, 1, clock_timestamp(), 'REJECTED', 'no', '{"id":0,"item":"blocked"}', 'b' || g
          from generate_series(1, 500) g, pgonce.subscription s where s.of_channel = 'steps';
        insert into pgonce.notification (subscription_id, payload, order_key)
        select s.id, '{"id":0,"item":"blocked"}', 'b' || g from generate_series(1, 500) g, pgonce.subscription s where s.of_channel = 'steps'
        """);
  }

  @ParameterizedTest
  @EnumSource(names = {"EXACTLY_ONCE", "AT_LEAST_ONCE"})
  @Tag("all")
  void h56_h53_withinAKeyNothingIsOvertakenNorForgottenWhateverHappens(Mode mode) throws Exception {
    var seed = Long.getLong("order.seed", System.nanoTime());
    System.out.println("seed -Dorder.seed=" + seed);
    steps =
        Channel.of(
            "steps",
            Order.class,
            mode,
            ChannelOptions.DEFAULT.withOrder(KeyOrder.DEAD_LETTER_BLOCKS));
    PgOnce.using(stage.dataSource).install(steps);
    block();
    var options = QUICK.withConcurrency(3).withMaxAttempts(4).withLease(Duration.ofSeconds(5));
    for (var n = 0; n < 3; n++) {
      stage.pgonce().listen(steps, options, (step, tx) -> handle(step.payload())).start();
    }
    var threads = Executors.newCachedThreadPool();
    try {
      var writers = new ArrayList<Future<Void>>();
      for (var n = 0; n < WRITERS; n++) {
        var writer = n;
        writers.add(threads.submit((Callable<Void>) () -> write(writer, seed)));
      }
      var disturber = threads.submit((Callable<Void>) () -> disturb(seed, mode));
      for (var writer : writers) {
        writer.get(Stage.SOON.toSeconds(), TimeUnit.SECONDS);
      }
      calm.set(true);
      disturber.get(Stage.SOON.toSeconds(), TimeUnit.SECONDS);
    } finally {
      calm.set(true);
      threads.shutdownNow();
    }
    stage.awaitSoon(
        () -> {
          redrive();
          return stage.waiting() == 500 && stage.deadLetters() == 500;
        });
    assertThat(broken).isEmpty();
    assertThat(ended).hasSize(WRITERS * KEYS_OF_EACH);
    ended.forEach(
        (key, ids) ->
            assertThat(ids.stream().distinct().toList())
                .as(key)
                .containsExactlyElementsOf(LongStream.rangeClosed(1, ROWS).boxed().toList()));
  }
}
