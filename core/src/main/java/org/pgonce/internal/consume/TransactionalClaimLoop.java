package org.pgonce.internal.consume;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.pgonce.ChannelOptions;
import org.pgonce.internal.claim.Claim;
import org.pgonce.internal.claim.ClaimCursor;
import org.pgonce.internal.claim.ClaimCursors;
import org.pgonce.internal.claim.ClaimSession;
import org.pgonce.internal.claim.ClaimStatement;
import org.pgonce.internal.claim.RowsBehind;
import org.pgonce.internal.context.ListenerContext;
import org.pgonce.internal.handle.Registration;
import org.pgonce.internal.jdbc.Borrowed;
import org.pgonce.internal.jdbc.LostConnection;
import org.pgonce.internal.jdbc.Pipeline;
import org.pgonce.internal.settle.Reports;
import org.pgonce.internal.settle.TransactionalSettlement;
import org.pgonce.spi.Event.WaitCause;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** EXACTLY_ONCE: claim, handler and deletion are one transaction, on one connection. */
final class TransactionalClaimLoop extends ClaimLoop {

  private static final Logger LOG = LoggerFactory.getLogger(TransactionalClaimLoop.class);

  // After a conflict of a batch, for the next batch would meet another one soon. A deadlock lasts
  // 1 s by default (deadlock_timeout), so a twentieth of the time is lost at the most.
  private static final Duration WITHOUT_BATCHES = Duration.ofSeconds(20);

  final TransactionalSettlement settlement;
  private final int subscription;
  private final ClaimCursor cursor;
  private final ChannelOptions rules;
  private final boolean mayPrefetch;
  private final AtomicLong prefetchFrom = new AtomicLong(System.nanoTime());
  private final int batch;
  private volatile boolean isBatchForbidden;
  private final AtomicLong batchesFrom = new AtomicLong(System.nanoTime());

  TransactionalClaimLoop(
      Registration<?> subscribed,
      ListenerContext context,
      ClaimCursors cursors,
      Reports reports,
      TransactionalSettlement settlement) {
    super(subscribed, context, cursors, reports);
    this.settlement = settlement;
    this.batch = subscribed.options().batch();
    this.subscription = subscribed.installed().subscription();
    this.cursor = cursors.fresh();
    this.rules = subscribed.channel().options();
    // A notification that waits for a permit of the rate, or for its key, holds no transaction.
    this.mayPrefetch =
        !subscribed.goesByKey() && rules.maxRate() == ChannelOptions.NO_MAX_RATE && batch == 1;
  }

  /** A batch was undone for a deadlock or a serialization failure. */
  void conflicted() {
    batchesFrom.set(System.nanoTime() + WITHOUT_BATCHES.toNanos());
  }

  /** Each notification gets a transaction of its own from now on, for good. */
  void forbidBatches() {
    isBatchForbidden = true;
  }

  private int mostAtOnce() {
    return isBatchForbidden || System.nanoTime() - batchesFrom.get() < 0 ? 1 : batch;
  }

  @Override
  public void work(Worker worker) throws SQLException {
    boolean mayGoOn;
    do {
      mayGoOn = workAndComplete(worker) && !worker.slot().isCutOff() && worker.mayGoOn();
    } while (mayGoOn);
  }

  /** Returns whether it gave its connection back for what handlers left to be run behind them. */
  private boolean workAndComplete(Worker worker) throws SQLException {
    var behind = new ArrayList<TransactionalAttempt>();
    try {
      work(worker, behind);
    } finally {
      // Without a connection: they may want one, and take their time.
      if (!behind.isEmpty()) {
        worker.handsOver();
      }
      behind.forEach(TransactionalAttempt::complete);
    }
    return !behind.isEmpty();
  }

  /**
   * With one connection, until nothing is to be claimed, or something runs without it.
   *
   * @param behind gets the attempts whose handlers have registered what runs behind them
   */
  private void work(Worker worker, List<TransactionalAttempt> behind) throws SQLException {
    var asked = System.nanoTime();
    try (var borrowed = Borrowed.from(context.dataSource())) {
      var connection = borrowed.connection();
      reports.waited(WaitCause.CONNECTION, Duration.ofNanos(System.nanoTime() - asked));
      var isFit = false;
      Run run = null;
      try {
        var taken = context.pool().take(connection, longestCall());
        var handlerTimeout = subscribed.options().handlerTimeout();
        var session = new ClaimSession(borrowed, taken, handlerTimeout);
        run = new Run(worker, session, mayPrefetch && Pipeline.isPossible(connection), behind);
        do {
          run.next();
        } while (session.isFit()
            && behind.isEmpty()
            && (run.prefetch.isMade() || worker.mayGoOn()));
        if (session.isFit()) {
          session.restore();
          isFit = true;
        }
      } catch (SQLException e) {
        isFit = run != null && run.isUndone(e);
        throw e;
      } finally {
        if (run != null) {
          run.end();
        }
        if (!isFit) {
          borrowed.closeLost();
        }
      }
    }
  }

  /** A worker's time with one connection. */
  private final class Run {

    private final Worker worker;
    private final ClaimSession session;
    private final Connection connection;
    private final Prefetch prefetch;
    private final Supplier<Pipeline.@Nullable Next> next;
    private final List<TransactionalAttempt> behind;
    private int backend; // 0 before the first claim

    Run(
        Worker worker,
        ClaimSession session,
        boolean prefetches,
        List<TransactionalAttempt> behind) {
      this.behind = behind;
      this.worker = worker;
      this.session = session;
      this.connection = session.connection();
      this.prefetch = new Prefetch(subscription, cursor, session, worker, prefetchFrom);
      this.next = prefetches ? prefetch::begin : () -> null;
    }

    void next() throws SQLException {
      if (prefetch.isMade()) {
        handle(prefetch.take(), 1);
        return;
      }
      var due = worker.begins();
      var most = worker.permits(mostAtOnce());
      var claims =
          cursors.claim(
              due,
              look -> ClaimStatement.claimByKey(session, subscription, due, rules, look),
              after -> ClaimStatement.claim(session, subscription, due, after, most));
      worker.found(claims, most);
      handle(claims, most);
    }

    /**
     * Rolls back where the server has only refused a statement. Returns whether the connection is
     * as it came: a pool warns of each that comes back closed.
     */
    boolean isUndone(SQLException failure) {
      if (LostConnection.isLikely(failure) || !session.isFit()) {
        return false;
      }
      try {
        connection.rollback();
        session.restore();
        return true;
      } catch (SQLException | RuntimeException lost) {
        LOG.debug("pgonce: behind a claim that failed its connection is closed", lost);
        return false;
      }
    }

    /** Its session is no longer one that handlers work in. */
    void end() {
      context.backends().remove(backend);
    }

    /** Behind a transaction pooler it may be another one with each claim. */
    private void worksIn(int newBackend) {
      if (newBackend != backend) {
        end();
        backend = newBackend;
        context.backends().add(backend);
      }
    }

    private void handle(List<Claim> claims, int most) throws SQLException {
      if (claims.isEmpty()) {
        connection.rollback();
        return;
      }
      worksIn(Objects.requireNonNull(claims.get(0).holder()).backendPid());
      if (!worker.mayBegin()) {
        giveBack();
      } else if (claims.size() == 1) {
        handleSingle(claims.get(0));
      } else {
        handleBatch(claims, most);
      }
    }

    private void handleSingle(Claim claim) throws SQLException {
      if (!claim.mustBeAlone(subscribed.options().maxAttempts())) {
        handleNow(claim);
        return;
      }
      var quarantine = context.quarantine();
      var stay = quarantine.enter(longestCall());
      if (stay == null) {
        settlement.postpone(connection, claim);
        return;
      }
      try {
        handleNow(claim);
      } finally {
        quarantine.leave(stay);
      }
    }

    private void handleNow(Claim claim) throws SQLException {
      var clear = claim.suspect() ? suspected(claim) : claim;
      if (clear != null) {
        var attempt = attempt(List.of(clear), next);
        session.handlerBegins();
        if (worker.begin(attempt, 1)) {
          runSingle(attempt);
          return;
        }
      }
      // It is a dead letter, or goes back at once: the listener stops, or a pause began.
      giveBack();
      if (clear != null && clear.token() != null) {
        settlement.giveBack(clear);
      }
    }

    private TransactionalAttempt attempt(
        List<Claim> claims, Supplier<Pipeline.@Nullable Next> behind) {
      return new TransactionalAttempt(TransactionalClaimLoop.this, claims, session, behind);
    }

    private void runSingle(TransactionalAttempt attempt) {
      var hasEnded = false;
      try {
        worker.ended(run(attempt));
        hasEnded = true;
      } finally {
        prefetch.settled(hasEnded && session.isFit());
      }
    }

    private RowsBehind run(TransactionalAttempt attempt) {
      try {
        return attempt.run(worker.slot());
      } finally {
        if (attempt.hasCallbacks()) {
          behind.add(attempt);
        }
      }
    }

    /**
     * An earlier claim of it ended without a word. It may be what killed its process, and would
     * again: so this attempt is counted, and that is committed, before it begins.
     *
     * @return the claim of the counted attempt, in a transaction of its own; null if there is none
     */
    private @Nullable Claim suspected(Claim claim) throws SQLException {
      var counted = settlement.countAhead(connection, claim);
      var claims =
          counted == null ? List.<Claim>of() : ClaimStatement.claimAgain(session, counted, rules);
      return claims.isEmpty() ? null : claims.get(0);
    }

    /**
     * Handles a batch. What was tried before must not fail the others, nor go uncounted among them:
     * it is handled alone behind them. So is each of a batch that was undone.
     *
     * @param most how many there might have been
     */
    private void handleBatch(List<Claim> claims, int most) throws SQLException {
      var untried = claims.stream().filter(Run::isUntried).toList();
      if (untried.isEmpty()) {
        connection.rollback();
        handleAlone(claims);
        return;
      }
      var attempt = attempt(untried, () -> null);
      session.handlerBegins();
      if (!worker.begin(attempt, untried.size())) {
        giveBack();
        return;
      }
      var left = run(attempt);
      // Where a whole batch was found, another may lie behind it.
      var isMoreDue = untried.get(0).scheduled() && claims.size() == most;
      worker.ended(new RowsBehind(left.more(), left.due() || isMoreDue));
      handleAlone(
          attempt.isUndone() ? claims : claims.stream().filter(one -> !isUntried(one)).toList());
    }

    private static boolean isUntried(Claim claim) {
      return !claim.suspect() && claim.attempts() == 0;
    }

    /** Claims each again, which was let go, and handles it. */
    private void handleAlone(List<Claim> claims) throws SQLException {
      if (claims.isEmpty()) {
        return;
      }
      try {
        for (var claim : claims) {
          if (!session.isFit() || !worker.mayBegin() || worker.permits(1) < 1) {
            break;
          }
          handle(ClaimStatement.claimAgain(session, claim, rules), 1);
        }
      } finally {
        cursor.wentBack(); // what was not claimed again
        worker.ended(new RowsBehind(true, claims.get(0).scheduled()));
      }
    }

    private void giveBack() throws SQLException {
      connection.rollback();
      cursor.wentBack();
    }
  }
}
