package org.pgonce;

import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariDataSource;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import javax.sql.DataSource;
import org.awaitility.Awaitility;
import org.pgonce.testkit.TestDatabase;

/**
 * What most tests of listeners stand on: a database with a table for effects, a pool, and listeners
 * that are closed at the end.
 */
final class Stage implements AutoCloseable {

  static final Duration SOON = Duration.ofSeconds(15);

  /** Failures come back at once, so that tests do not wait for production's backoff. */
  static final ListenOptions QUICK =
      ListenOptions.DEFAULT
          .withBackoff(new Backoff(Duration.ofMillis(20), Duration.ofMillis(50)))
          .withMaxAttempts(3);

  record Order(long id, String item) {}

  static final Channel<Order> ORDERS = Channel.of("orders", Order.class);

  final TestDatabase database;
  final HikariDataSource dataSource;
  private final List<PgOnce> opened = new ArrayList<>();

  static {
    // What is waited for mostly takes a few milliseconds.
    Awaitility.setDefaultPollDelay(Duration.ofMillis(10));
    Awaitility.setDefaultPollInterval(Duration.ofMillis(25));
  }

  Stage(TestDatabase database) throws SQLException {
    this.database = database;
    this.dataSource = database.pooled(24);
    database.execute("create table effect (id bigint, note text)");
    PgOnce.using(dataSource).install(ORDERS);
  }

  PgOnce pgonce() {
    return pgonce(PgOnce.builder(dataSource));
  }

  PgOnce pgonce(DataSource other) {
    return pgonce(PgOnce.builder(other));
  }

  PgOnce pgonce(PgOnceBuilder builder) {
    var pgonce =
        builder.pollInterval(Duration.ofMillis(500)).stopTimeout(Duration.ofSeconds(2)).build();
    opened.add(pgonce);
    return pgonce;
  }

  /** Publishes orders with ids 1 to {@code count}, in one transaction. */
  void publish(int count) throws SQLException {
    var orders = new ArrayList<Order>();
    for (var id = 1; id <= count; id++) {
      orders.add(new Order(id, "item"));
    }
    try (var connection = dataSource.getConnection()) {
      Publisher.standard().publishAll(connection, ORDERS, orders);
    }
  }

  /** The handler that most tests use: one effect per notification. */
  static void effect(Notification<Order> order, Tx tx) throws SQLException {
    tx.update(
        "insert into effect values (?, ?)", order.payload().id(), "attempt " + order.attempt());
  }

  long effects() throws SQLException {
    return database.queryLong("select count(*) from effect");
  }

  long waiting() throws SQLException {
    return database.queryLong(
        "select (select count(*) from pgonce.notification where subscription_id > 0) + (select count(*) from pgonce.scheduled where subscription_id > 0)");
  }

  /** New rows that nobody holds. */
  long claimable() throws SQLException {
    return database.queryLong(
        "select count(*) from (select id from pgonce.notification where subscription_id > 0 for update skip locked) free");
  }

  long deadLetters() throws SQLException {
    return database.queryLong("select count(*) from pgonce.dead_letter");
  }

  void awaitNothingWaits() {
    await().atMost(SOON).until(() -> waiting() == 0);
  }

  /** Every effect once: no order twice, none missing. */
  boolean eachOnce(int count) throws SQLException {
    return effects() == count
        && database.queryLong("select count(distinct id) from effect") == count;
  }

  /**
   * Ends the listeners and leaves nothing waiting, so that the next test begins as this one did.
   */
  void clear() throws SQLException {
    close();
    opened.clear();
    database.execute(
        "truncate effect, pgonce.notification, pgonce.scheduled, pgonce.dead_letter, pgonce.listener");
  }

  @Override
  public void close() {
    opened.forEach(PgOnce::close);
  }
}
