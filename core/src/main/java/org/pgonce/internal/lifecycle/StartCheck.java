package org.pgonce.internal.lifecycle;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BooleanSupplier;
import org.pgonce.Backoff;
import org.pgonce.PgOnceException;
import org.pgonce.internal.context.ListenerContext;
import org.pgonce.internal.handle.Registration;
import org.pgonce.internal.jdbc.Failures;
import org.pgonce.internal.jdbc.LostConnection;
import org.pgonce.internal.jdbc.NamedStatements.ModeNotKnownException;
import org.pgonce.internal.store.Installed;
import org.pgonce.internal.store.PinnedPath;
import org.pgonce.internal.store.Rights;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Whether anything would keep a notification from being handled, asked before the start. */
final class StartCheck {

  private static final Logger LOG = LoggerFactory.getLogger(StartCheck.class);

  private static final Backoff BETWEEN_TRIES =
      new Backoff(Duration.ofMillis(100), Duration.ofSeconds(1));

  // pgjdbc: the server and the settings of the login do not go together.
  private static final String LOGIN_REJECTED = "08004";

  private final ListenerContext context;
  private final List<Registration<?>> subscribed;
  private final FeedWatch feeds;
  private final Duration patience;
  private final BooleanSupplier givenUp;

  /**
   * @param feeds told what they warn of
   * @param patience for how long it is tried again where no connection can be had, or it ends
   * @param givenUp asked between two tries
   */
  StartCheck(
      ListenerContext context,
      List<Registration<?>> subscribed,
      FeedWatch feeds,
      Duration patience,
      BooleanSupplier givenUp) {
    this.context = context;
    this.subscribed = subscribed;
    this.feeds = feeds;
    this.patience = patience;
    this.givenUp = givenUp;
  }

  /**
   * Returns what is installed of each, by label.
   *
   * @throws PgOnceException naming all problems; or the database could not be asked
   */
  Map<String, Installed> run() throws InterruptedException {
    var end = System.nanoTime() + patience.toNanos();
    for (var tries = 1; ; tries++) {
      try {
        requireOwnStatements();
        return context
            .transactions()
            .run(connection -> PinnedPath.during(connection, () -> check(connection)));
      } catch (SQLException e) {
        if (!mayPass(e) || System.nanoTime() - end > 0 || givenUp.getAsBoolean()) {
          throw new PgOnceException(
              "pgonce cannot start to listen, the database cannot be asked: " + Failures.inWords(e),
              e);
        }
        LOG.warn(
            "pgonce: the database could not be asked at the start ({}); it is tried again for up to {} ms",
            Failures.inWords(e),
            (end - System.nanoTime()) / 1_000_000);
        LOG.debug("pgonce: the failure in full", e);
      }
      Thread.sleep(BETWEEN_TRIES.after(tries).toMillis());
    }
  }

  /** Whether nobody has to change anything for it. */
  private static boolean mayPass(SQLException failure) {
    var state = failure.getSQLState();
    return state == null
        || failure instanceof ModeNotKnownException
        || (LostConnection.isToldBy(failure) && !LOGIN_REJECTED.equals(state));
  }

  private void requireOwnStatements() throws SQLException {
    var problem = context.transactions().namedStatementsProblem();
    if (problem != null) {
      throw new PgOnceException("pgonce cannot start to listen:\n- " + problem);
    }
  }

  private Map<String, Installed> check(Connection connection) throws SQLException {
    var problems = new ArrayList<>(Rights.problems(connection));
    var subscriptions = new HashMap<String, Installed>();
    if (problems.isEmpty()) {
      problems.addAll(Rights.copyProblems(connection));
      for (var one : subscribed) {
        var installed = Installed.lookUp(connection, one.channel(), one.subscription());
        subscriptions.put(one.label(), installed);
        var channelProblems = installed.problems(one.channel(), one.subscription());
        problems.addAll(
            channelProblems.isEmpty()
                ? one.channel().feed().problems(connection, one.channel())
                : channelProblems);
      }
    }
    if (!problems.isEmpty()) {
      throw new PgOnceException(
          "pgonce cannot start to listen:\n- " + String.join("\n- ", problems));
    }
    feeds.begin(connection);
    return subscriptions;
  }
}
