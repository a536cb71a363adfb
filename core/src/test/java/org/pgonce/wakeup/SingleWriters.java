package org.pgonce.wakeup;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import javax.sql.DataSource;
import org.pgonce.Publisher;
import org.pgonce.stage.Stage;
import org.pgonce.stage.Stage.Order;

/** Writers that publish one order after the other, each with its commit, until told to stop. */
public final class SingleWriters implements AutoCloseable {

  private final DataSource dataSource;
  private final AtomicBoolean stopped = new AtomicBoolean();
  private final AtomicLong published = new AtomicLong();
  private final List<CompletableFuture<Void>> running;

  public SingleWriters(DataSource dataSource, int count) {
    this.dataSource = dataSource;
    this.running =
        IntStream.range(0, count)
            .mapToObj(
                n -> CompletableFuture.runAsync(this::write, task -> new Thread(task).start()))
            .toList();
  }

  private void write() {
    try (var connection = dataSource.getConnection()) {
      while (!stopped.get()) {
        store(connection, published.incrementAndGet());
      }
    } catch (SQLException e) {
      throw new IllegalStateException(e);
    }
  }

  public static void store(Connection connection, long id) throws SQLException {
    Publisher.standard().publish(connection, Stage.ORDERS, new Order(id, "item"));
  }

  /** In a transaction that stays open; rolled back where it would notify. */
  public static boolean storeUnannounced(Connection writer, long id) throws SQLException {
    // Before and after: a gate that expires is renewed soon.
    if (!needsNotify(writer)) {
      store(writer, id);
      if (!needsNotify(writer)) {
        return true;
      }
    }
    writer.rollback();
    return false;
  }

  private static boolean needsNotify(Connection connection) throws SQLException {
    try (var statement = connection.createStatement();
        var row = statement.executeQuery("select pgonce.needs_notify(pgonce.gate_of('orders'))")) {
      row.next();
      return row.getBoolean(1);
    }
  }

  public long published() {
    return published.get();
  }

  /** Stops them; returns how many orders they have published, with ids from 1 on. */
  public long stop() {
    stopped.set(true);
    running.forEach(CompletableFuture::join);
    return published.get();
  }

  @Override
  public void close() {
    stop();
  }
}
