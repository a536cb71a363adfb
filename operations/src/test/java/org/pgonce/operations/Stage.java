package org.pgonce.operations;

import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariDataSource;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import org.pgonce.Backoff;
import org.pgonce.Channel;
import org.pgonce.ListenOptions;
import org.pgonce.Notification;
import org.pgonce.PgOnce;
import org.pgonce.Publisher;
import org.pgonce.Tx;
import org.pgonce.testkit.TestDatabase;

/** A database with a channel and a table for effects, and listeners that are closed at the end. */
final class Stage implements AutoCloseable {

  /** A bound and no expectation: the machine may do other things as well. */
  static final Duration SOON = Duration.ofSeconds(45);

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

  Stage(TestDatabase database) throws SQLException {
    this.database = database;
    this.dataSource = database.pooled(24);
    database.execute("create table effect (id bigint, note text)");
    PgOnce.using(dataSource).install(ORDERS);
  }

  PgOnce pgonce() {
    var pgonce =
        PgOnce.builder(dataSource)
            .pollInterval(Duration.ofMillis(500))
            .stopTimeout(Duration.ofSeconds(2))
            .build();
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

  static void effect(Notification<Order> order, Tx tx) throws SQLException {
    tx.update(
        "insert into effect values (?, ?)", order.payload().id(), "attempt " + order.attempt());
  }

  /** Every effect once: no order twice, none missing. */
  boolean eachOnce(int count) throws SQLException {
    return database.queryLong("select count(*) from effect") == count
        && database.queryLong("select count(distinct id) from effect") == count;
  }

  long waiting() throws SQLException {
    return database.queryLong(
        "select (select count(*) from pgonce.notification where subscription_id > 0) + (select count(*) from pgonce.scheduled where subscription_id > 0)");
  }

  long deadLetters() throws SQLException {
    return database.queryLong("select count(*) from pgonce.dead_letter");
  }

  /** Waits until it has happened. */
  void awaitSoon(Callable<Boolean> condition) {
    await().atMost(SOON).until(condition);
  }

  @Override
  public void close() {
    opened.forEach(PgOnce::close);
  }
}
