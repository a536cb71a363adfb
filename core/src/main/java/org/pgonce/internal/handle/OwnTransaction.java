package org.pgonce.internal.handle;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.pgonce.Tx.Outcome;
import org.pgonce.internal.claim.HandlerSession;
import org.pgonce.internal.claim.NotificationHeaders;
import org.pgonce.internal.context.ListenerContext;
import org.pgonce.internal.jdbc.Borrowed;
import org.pgonce.internal.jdbc.Failures;
import org.pgonce.internal.jdbc.LostConnection;
import org.pgonce.internal.jdbc.PoolSettings;
import org.pgonce.internal.jdbc.Transactions;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A handler's transaction where no claim's transaction can be shared: begun by its first use,
 * committed after the handler. Any thread of the handler may call {@link #connection}, any thread
 * {@link #cutOff}.
 */
public final class OwnTransaction implements AutoCloseable {

  private static final Logger LOG = LoggerFactory.getLogger(OwnTransaction.class);
  private static final String CONNECTION_DOES_NOT_EXIST = "08003";

  // The driver gives up later than the handler's deadline, which knows what it cuts off.
  private static final Duration LEEWAY = Duration.ofSeconds(30);

  private final ListenerContext context;
  private final Duration handlerTimeout;
  private final Object notification;
  private final NotificationHeaders origin;
  private final @Nullable String token;

  private final ReentrantLock beginning = new ReentrantLock();
  private volatile @Nullable Begun begun;
  // Set without the lock as well: a cut-off does not wait for a connection that is on its way.
  private volatile @Nullable String unusable;
  private volatile @Nullable Borrowed open;

  private final HandlerTx tx;
  private Outcome outcome = Outcome.ROLLED_BACK;

  private record Begun(
      Connection connection,
      PoolSettings.Taken taken,
      HandlerSession session,
      GuardedConnection guarded) {}

  /**
   * @param token of its lease, which marks its session; null if it has none
   */
  public OwnTransaction(
      ListenerContext context,
      Object notification,
      NotificationHeaders origin,
      Duration handlerTimeout,
      @Nullable String token) {
    this.context = context;
    this.notification = notification;
    this.origin = origin;
    this.handlerTimeout = handlerTimeout;
    this.token = token;
    this.tx = new HandlerTx(this::connection, context.publisher());
  }

  public HandlerTx tx() {
    return tx;
  }

  /**
   * The guarded connection, begun if it is not yet. If it cannot begin, each further call, and the
   * commit, fail as well: a handler that goes on without the transaction that it asked for has
   * failed.
   *
   * @throws SQLException also if the handler has ended or been cut off
   */
  public Connection connection() throws SQLException {
    beginning.lock();
    try {
      requireUsable();
      var used = begun;
      if (used == null) {
        used = begin();
        begun = used;
      }
      return used.guarded().connection();
    } finally {
      beginning.unlock();
    }
  }

  private Begun begin() throws SQLException {
    try {
      var borrowed = Borrowed.from(context.dataSource());
      open = borrowed;
      requireUsable(); // a cut-off may have come before there was a connection to close
      var own = borrowed.connection();
      var taken = context.pool().take(own, LEEWAY.plus(handlerTimeout));
      var session = taken.begin(() -> HandlerSession.begin(own, handlerTimeout, token));
      context.backends().add(session.backendPid());
      return new Begun(
          own,
          taken,
          session,
          new GuardedConnection(
              own, origin, null, notification, GuardedConnection.DEFAULT_PATIENCE));
    } catch (SQLException | RuntimeException | Error e) {
      if (unusable == null) {
        unusable =
            "the transaction of the handler of %s could not begin, so its attempt has failed; let the exception through: %s"
                .formatted(notification, Failures.inWords(e));
      }
      giveBackClosed();
      throw e;
    }
  }

  /** Throws if it could not begin although the handler asked for it, or has ended. */
  public void requireUsable() throws SQLException {
    if (unusable != null) {
      throw new SQLException(unusable, CONNECTION_DOES_NOT_EXIST);
    }
  }

  public boolean isUsed() {
    return begun != null;
  }

  public void commit() throws SQLException {
    requireUsable();
    if (isUsed()) {
      var unused = commitWith(transaction -> true);
    }
    outcome = Outcome.COMMITTED;
  }

  /**
   * Does the work and commits it together with what the handler did; in a transaction of its own if
   * the handler used none, and may be called again then.
   */
  public <R> R commitWith(Transactions.Work<R> work) throws SQLException {
    requireUsable();
    try {
      var result = commitNow(work);
      outcome = Outcome.COMMITTED;
      return result;
    } catch (Throwable e) {
      if (LostConnection.mayHaveCommitted(e)) {
        outcome = Outcome.UNKNOWN;
      }
      throw e;
    }
  }

  /** Runs what the handler registered, once all has ended. */
  public void complete() {
    tx.complete(outcome);
  }

  private <R> R commitNow(Transactions.Work<R> work) throws SQLException {
    var used = begun;
    if (used == null) {
      return context.transactions().run(work);
    }
    used.guarded().seal();
    var result =
        LostConnection.told(
            () -> {
              var done = work.on(used.connection());
              used.connection().commit();
              return done;
            });
    try {
      var unused = used.guarded().restoreSession(used.session().idleTimeout());
    } catch (SQLException | RuntimeException e) {
      LOG.warn(
          "pgonce: a handler changed its session's settings, and they could not be set back ({}); the connection is closed",
          Failures.inWords(e));
      LostConnection.abandon(used.connection());
    }
    return result;
  }

  /**
   * Closes the connection while the handler runs, and gives it back to its pool. The handler gets
   * none from now on.
   */
  public void cutOff() {
    end();
    giveBackClosed();
  }

  private void end() {
    unusable =
        "the handler of %s has no transaction any more: it has ended, or was cut off when its time or its lease was over, or the listener stopped"
            .formatted(notification);
  }

  private void giveBackClosed() {
    var lost = open;
    if (lost != null) {
      lost.closeLost();
    }
  }

  /** Gives the connection back, closed if that is not possible as it came. */
  @Override
  public void close() {
    end();
    var used = begun;
    try {
      if (used != null) {
        context.backends().remove(used.session().backendPid());
        used.guarded().revoke();
        var own = open;
        if (own != null && !used.guarded().run.isLost()) {
          used.connection().rollback();
          used.taken().restore();
          own.close();
        }
      }
    } catch (SQLException e) {
      LOG.debug(
          "pgonce: after {} its connection could not be given back as it came", notification, e);
    } finally {
      giveBackClosed(); // unless it was given back as it came
    }
  }
}
