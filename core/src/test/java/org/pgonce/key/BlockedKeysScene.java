package org.pgonce.key;

import static org.pgonce.stage.Stage.QUICK;

import com.zaxxer.hikari.HikariDataSource;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Semaphore;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.KeyOrder;
import org.pgonce.Message;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.PublishOptions;
import org.pgonce.Publisher;
import org.pgonce.stage.Stage;
import org.pgonce.stage.Stage.Order;
import org.pgonce.testkit.TestDatabase;

/** 20,000 keys that wait, and processes that listen beside them. */
abstract class BlockedKeysScene {

  static final int KEYS = 20_000;

  /** What each key waits for. */
  enum Why {
    NOTHING,
    DEAD,
    LATER,
    LEASED
  }

  final ConcurrentLinkedQueue<Order> ended = new ConcurrentLinkedQueue<>();
  final Semaphore handled = new Semaphore(0);
  private final List<PgOnce> opened = new ArrayList<>();
  private final List<HikariDataSource> pools = new ArrayList<>();
  Stage stage;
  Channel<Order> steps;

  @BeforeEach
  void open(TestDatabase database) throws SQLException {
    stage = new Stage(database);
  }

  @AfterEach
  void close() {
    closeProcesses();
    stage.close();
  }

  /** Sessions that end tell what they have read. */
  void closeProcesses() {
    opened.forEach(PgOnce::close);
    opened.clear();
    pools.forEach(HikariDataSource::close);
    pools.clear();
  }

  /** Two rows of each key wait, one of them due, behind what they wait for. */
  void block(Why why, Mode mode) throws SQLException {
    var rules =
        why == Why.LEASED
            ? ChannelOptions.DEFAULT.withMaxPerKey(1)
            : ChannelOptions.DEFAULT.withOrder(KeyOrder.DEAD_LETTER_BLOCKS);
    steps = Channel.of("steps", Order.class, mode, rules);
    PgOnce.using(stage.dataSource).install(steps);
    var head =
        switch (why) {
          case NOTHING -> "";
          case DEAD ->
              """
              insert into pgonce.dead_letter (subscription_id, id, attempts, created_at, reason, error, payload, order_key)
              select s.id, g, 1, clock_timestamp(), 'REJECTED', 'no', '{"id":1,"item":"k"}', 'k' || g\
              """;
          case LATER ->
              """
              insert into pgonce.scheduled (subscription_id, id, due_at, attempts, created_at, payload, order_key)
              select s.id, g, clock_timestamp() + interval '1 hour', 1, clock_timestamp(), '{"id":1,"item":"k"}', 'k' || g\
              """;
          case LEASED ->
              """
              insert into pgonce.scheduled (subscription_id, id, due_at, attempts, created_at, payload, order_key, token, key_permit, key_permit_until)
              select s.id, g, clock_timestamp() + interval '1 hour', 1, clock_timestamp(), '{"id":1,"item":"k"}', 'k' || g,
                     gen_random_uuid(), 1, clock_timestamp() + interval '1 hour'\
              """;
        };
    var from =
        " from generate_series(1, %d) g, pgonce.subscription s where s.of_channel = 'steps'"
            .formatted(KEYS);
    stage.database.execute("select setval('pgonce.notification_id', " + 10 * KEYS + ")");
    if (why == Why.NOTHING) {
      return;
    }
    stage.database.execute(head + from);
    stage.database.execute(
        """
        insert into pgonce.notification (subscription_id, id, payload, order_key)
        select s.id, %d + g, '{"id":2,"item":"k"}', 'k' || g
        """
                .formatted(KEYS)
            + from);
    stage.database.execute(
        """
        insert into pgonce.scheduled (subscription_id, id, due_at, attempts, created_at, payload, order_key)
        select s.id, %d + g, clock_timestamp(), 0, clock_timestamp(), '{"id":3,"item":"k"}', 'k' || g
        """
                .formatted(2 * KEYS)
            + from);
    stage.database.execute("analyze");
  }

  PgOnce listen() throws Exception {
    var pool = stage.database.pooled(8);
    pools.add(pool);
    // Ten polls are soon over then.
    var process = PgOnce.builder(pool).pollInterval(Duration.ofMillis(100)).build();
    opened.add(process);
    process
        .listen(
            steps,
            QUICK.withConcurrency(4),
            (step, tx) -> {
              ended.add(step.payload());
              handled.release();
            })
        .start();
    return process;
  }

  void publish(String key, long first, long last) throws SQLException {
    var messages = new ArrayList<Message<Order>>();
    for (var id = first; id <= last; id++) {
      messages.add(
          new Message<>(
              new Order(id, key),
              PublishOptions.DEFAULT.withOrderKey(key.isEmpty() ? "free" + id : key)));
    }
    try (var connection = stage.dataSource.getConnection()) {
      Publisher.standard().publishEach(connection, steps, messages);
    }
  }

  long tuplesRead() throws SQLException {
    return stage.database.queryLong(
        """
        select sum(idx_tup_read) from pg_stat_user_indexes
         where relname in ('notification', 'scheduled', 'dead_letter')
        """);
  }

  private static long claims(PgOnce process) {
    return process.status().channels().get(0).claims();
  }

  /** By when it has looked at all that waits, and from then on does so now and then only. */
  void awaitSettled(PgOnce process) throws Exception {
    awaitTenPolls(process); // the first heartbeat comes with the start
    awaitTenPolls(process);
  }

  /** Each makes a claim while something waits; the heartbeat comes with each tenth. */
  void awaitTenPolls(PgOnce process) throws Exception {
    var before = heartbeat();
    stage.awaitSoon(() -> heartbeat() > before && claims(process) > 0);
  }

  private long heartbeat() throws SQLException {
    return stage.database.queryLong(
        "select (extract(epoch from max(seen_at)) * 1000000)::bigint from pgonce.listener");
  }

  static String describe(String what, long tuples) {
    return String.format(Locale.ROOT, "%s: %,d index tuples", what, tuples);
  }
}
