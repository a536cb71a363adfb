package org.pgonce.crash;

import static org.pgonce.stage.Stage.QUICK;

import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import javax.sql.DataSource;
import org.pgonce.Channel;
import org.pgonce.ListenOptions;
import org.pgonce.Mode;
import org.pgonce.Notification;
import org.pgonce.Tx;
import org.pgonce.stage.Stage;
import org.pgonce.stage.Stage.Order;

/**
 * The handler of the crash matrix: first something outside that nobody can undo (a row through a
 * connection of its own, committed at once), then an effect in the database, through its
 * transaction: a row of its own, and one that all handlers change, so that each waits for whoever
 * has changed it before and has not ended.
 *
 * @param direct connections that no proxy is in front of
 * @param by who handles, as the outside sees it
 * @param inDatabase whether it has the effect in the database
 */
public record CrashEffects(DataSource direct, String by, boolean inDatabase) {

  public static final Duration BOUND = Duration.ofSeconds(60);

  /** Long enough for a process that the machine makes wait, short enough to be waited out. */
  public static final Duration LEASE = Duration.ofSeconds(3);

  /** Where no lease is to end: a busy machine may not answer for seconds. */
  public static final Duration LONG_LEASE = Duration.ofSeconds(20);

  public static final ListenOptions OPTIONS =
      QUICK.withConcurrency(1).withMaxAttempts(20).withHandlerTimeout(BOUND).withLease(LEASE);

  public static Channel<Order> channel(Mode mode) {
    return Channel.of("matrix", Order.class, mode);
  }

  public void handle(Notification<Order> order, Tx tx) throws SQLException {
    try (var connection = direct.getConnection();
        var insert =
            connection.prepareStatement("insert into outside (id, attempt, by) values (?, ?, ?)")) {
      insert.setLong(1, order.payload().id());
      insert.setInt(2, order.attempt());
      insert.setString(3, by);
      insert.executeUpdate();
    }
    if (inDatabase) {
      Stage.effect(order, tx);
      tx.update("update counter set n = n + 1");
    }
  }

  /** Where a process waits to be killed, until the test says go on; not for ever. */
  public void awaitGate() throws SQLException, InterruptedException, TimeoutException {
    var end = System.nanoTime() + BOUND.toNanos();
    while (!gateIsOpen()) {
      if (System.nanoTime() - end > 0) {
        throw new TimeoutException("nobody opened the gate");
      }
      TimeUnit.MILLISECONDS.sleep(20);
    }
  }

  private boolean gateIsOpen() throws SQLException {
    try (var connection = direct.getConnection();
        var statement = connection.createStatement();
        var row = statement.executeQuery("select from gate")) {
      return row.next();
    }
  }
}
