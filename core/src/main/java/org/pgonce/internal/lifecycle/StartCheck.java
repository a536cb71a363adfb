package org.pgonce.internal.lifecycle;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BooleanSupplier;
import org.pgonce.Backoff;
import org.pgonce.PgOnceException;
import org.pgonce.UnreachableException;
import org.pgonce.internal.context.ListenerContext;
import org.pgonce.internal.handle.Registration;
import org.pgonce.internal.jdbc.Failures;
import org.pgonce.internal.jdbc.LostConnection;
import org.pgonce.internal.jdbc.Statements;
import org.pgonce.internal.store.Installed;
import org.pgonce.internal.store.PinnedPath;
import org.pgonce.internal.store.Rights;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Asks the database, before the start, for all that would keep notifications from being handled.
 */
final class StartCheck {

  private static final Logger LOG = LoggerFactory.getLogger(StartCheck.class);

  private static final Backoff BETWEEN_TRIES =
      new Backoff(Duration.ofMillis(100), Duration.ofSeconds(1));

  private static final String BOUND_THE_WAIT =
      "SELECT pg_catalog.set_config('lock_timeout', '10s', true)";
  private static final String LOCK_NOT_AVAILABLE = "55P03";
  private static final String LOCKED = ". Look who locks tables of schema pgonce (pg_locks)";

  private final ListenerContext context;
  private final List<Registration<?>> registrations;
  private final FeedWatch feeds;

  StartCheck(ListenerContext context, List<Registration<?>> registrations, FeedWatch feeds) {
    this.context = context;
    this.registrations = registrations;
    this.feeds = feeds;
  }

  /**
   * Returns the registrations with what is installed of each.
   *
   * @param timeout for how long it tries again where no connection can be had, or one ends
   * @param givenUp asked between two tries
   * @throws PgOnceException naming all problems
   * @throws UnreachableException if the database could not be asked for all this time
   */
  List<Registration<?>> run(Duration timeout, BooleanSupplier givenUp) throws InterruptedException {
    var end = System.nanoTime() + timeout.toNanos();
    for (var tries = 1; ; tries++) {
      try {
        var problem = context.transactions().namedStatementsProblem();
        refuseIf(problem == null ? List.of() : List.of(problem));
        return context.transactions().run(this::check);
      } catch (SQLException e) {
        var left = end - System.nanoTime();
        var isLocked = LOCK_NOT_AVAILABLE.equals(e.getSQLState());
        var mayPass = isLocked || LostConnection.mayPass(e);
        var reason = Failures.inWords(e) + (isLocked ? LOCKED : "");
        if (!mayPass || left < 0 || givenUp.getAsBoolean()) {
          var message =
              "pgonce cannot start%s, the database cannot be asked: %s"
                  .formatted(toListen(), reason);
          throw mayPass ? new UnreachableException(message, e) : new PgOnceException(message, e);
        }
        LOG.warn(
            "pgonce: the database could not be asked at the start ({}); it is tried again for up to {} ms",
            reason,
            left / 1_000_000);
        LOG.debug("pgonce: the failure in full", e);
      }
      Thread.sleep(BETWEEN_TRIES.after(tries).toMillis());
    }
  }

  private List<Registration<?>> check(Connection connection) throws SQLException {
    PinnedPath.pin(connection);
    Statements.execute(connection, BOUND_THE_WAIT);
    refuseIf(
        registrations.isEmpty()
            ? Rights.publishingProblems(connection)
            : Rights.problems(connection));
    if (registrations.isEmpty()) {
      return List.of();
    }
    var problems = new ArrayList<>(Rights.copyProblems(connection));
    var found = new ArrayList<Registration<?>>();
    for (var one : registrations) {
      var installed = Installed.lookUp(connection, one.channel(), one.subscription());
      problems.addAll(installed.problems(connection, one.channel(), one.subscription()));
      found.add(one.as(installed));
    }
    refuseIf(problems);
    feeds.begin(connection);
    return found;
  }

  private void refuseIf(List<String> problems) {
    if (!problems.isEmpty()) {
      throw new PgOnceException(
          "pgonce cannot start%s:\n- %s".formatted(toListen(), String.join("\n- ", problems)));
    }
  }

  private String toListen() {
    return registrations.isEmpty() ? "" : " to listen";
  }
}
