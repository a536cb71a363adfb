package org.pgonce.key;

import static org.pgonce.stage.Stage.QUICK;

import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.ListenOptions;
import org.pgonce.Message;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.PublishOptions;
import org.pgonce.Publisher;
import org.pgonce.stage.Stage;
import org.pgonce.stage.Stage.Order;
import org.pgonce.testkit.TestDatabase;

/** A channel of calls with a limit per key, and processes that handle it. */
abstract class KeyLimitScene {

  // Nothing here waits for a scan, where one is not asked for: neither the slow one nor that at the
  // end of a lease.
  static final Duration NO_SCAN = Duration.ofHours(1);
  static final ListenOptions OPTIONS = QUICK.withLease(NO_SCAN);

  final ConcurrentLinkedQueue<Order> ended = new ConcurrentLinkedQueue<>();
  final List<PgOnce> opened = new ArrayList<>();
  final CountDownLatch go = new CountDownLatch(1);
  Stage stage;

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

  static Channel<Order> calls(Mode mode, int maxPerKey) {
    return Channel.of("calls", Order.class, mode, ChannelOptions.DEFAULT.withMaxPerKey(maxPerKey));
  }

  Channel<Order> install(Channel<Order> calls) {
    PgOnce.using(stage.dataSource).install(calls);
    return calls;
  }

  Channel<Order> install(Mode mode, int maxPerKey) {
    return install(calls(mode, maxPerKey));
  }

  /** A process that listens. */
  PgOnce process() {
    var process = PgOnce.builder(stage.dataSource).stopTimeout(Duration.ofSeconds(2)).build();
    opened.add(process);
    return process;
  }

  void publish(Channel<Order> calls, String key, long first, long last) throws SQLException {
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
  void makeDue() throws SQLException {
    stage.database.execute(
        """
        with gone as (delete from pgonce.notification where subscription_id > 0 returning *)
        insert into pgonce.scheduled (subscription_id, id, due_at, attempts, created_at, payload, order_key)
        select subscription_id, id, clock_timestamp(), 1, created_at, payload, order_key from gone
        """);
    stage.database.execute("select pgonce.wake_up('calls', 'due')");
  }

  long ended(String key) {
    return ended.stream().filter(call -> call.item().equals(key)).count();
  }

  static long emptyClaims(PgOnce process) {
    return process.status().channels().get(0).emptyClaims();
  }
}
