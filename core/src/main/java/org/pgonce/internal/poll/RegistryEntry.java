package org.pgonce.internal.poll;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.context.ListenerContext;
import org.pgonce.internal.jdbc.Statements;
import org.pgonce.internal.listen.ListenStatus;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * This process in the registry of listeners (table {@code pgonce.listener}): entered before its
 * first poll, kept there by a heartbeat each 10 s, removed by its stop. Where it was silent for
 * five heartbeats, others remove it. Each write is a transaction of its own. To be called by one
 * thread at a time, the poll's.
 */
final class RegistryEntry {

  private static final Logger LOG = LoggerFactory.getLogger(RegistryEntry.class);

  private static final int POLLS_PER_HEARTBEAT = 10;
  private static final Duration MOST_BETWEEN_HEARTBEATS = Duration.ofSeconds(10);
  private static final int HEARTBEATS_PER_SILENCE = 5;
  private static final int LONGEST_DIFFERENCE = 2_000;

  // All of it travels as text, as in the poll.
  private static final String ENTER =
      "SELECT pgonce.listener_starts(?::text::uuid, ?, ?::text::integer[], ?, ?::text::bigint, ?::text::integer, ?::text::integer[])";
  private static final String REMOVE = "SELECT pgonce.listener_stops(?::text::uuid)";
  private static final String HEARTBEAT =
      "SELECT pgonce.listener_seen(?::text::uuid, ?, ?::text::integer, ?::text::text[], ?::text::integer[])";

  private final ListenerContext context;
  private final String listener;
  private final Supplier<ListenStatus> listening;
  private final Housekeeping housekeeping;
  private volatile boolean isThere;
  private long heartbeatAt = System.nanoTime();
  // The differences that the registry knows of.
  private List<String> reported = List.of();

  RegistryEntry(
      ListenerContext context,
      String listener,
      Supplier<ListenStatus> listening,
      Housekeeping housekeeping) {
    this.context = context;
    this.listener = listener;
    this.listening = listening;
    this.housekeeping = housekeeping;
  }

  /** The id of this process, a UUID. */
  String listener() {
    return listener;
  }

  /** Enters this process if it is not there. */
  void ensure(List<PollTarget> targets, Duration pollInterval) throws SQLException {
    if (!isThere) {
      // By itself: the poll must see what was committed before the gates were set.
      context.transactions().make(connection -> enter(connection, targets, pollInterval));
    }
  }

  private void enter(Connection connection, List<PollTarget> targets, Duration pollInterval)
      throws SQLException {
    var listens = listening.get();
    var silence = heartbeatInterval(pollInterval).multipliedBy(HEARTBEATS_PER_SILENCE);
    Statements.execute(
        connection,
        ENTER,
        listener,
        context.instance(),
        Statements.array(targets.stream().map(PollTarget::subscription).toList()),
        listens.source(),
        String.valueOf(silence.toMillis()),
        backend(listens),
        Statements.array(targets.stream().map(PollTarget::workers).toList()));
    reported = targets.stream().map(target -> "").toList();
    isThere = true; // or not, if the commit fails: then the poll says so
  }

  /** The poll found that others have removed it. */
  void wasRemoved() {
    isThere = false;
  }

  /** Behind a poll: a lock on the registry keeps no notification waiting. */
  void heartbeat(List<PollTarget> targets, Duration pollInterval) {
    var now = System.nanoTime();
    var differences = targets.stream().map(RegistryEntry::difference).toList();
    // A new difference is reported at once, for explain.
    var isNews = !reported.equals(differences);
    if (now - heartbeatAt < 0 && !isNews) {
      return;
    }
    var listens = listening.get();
    // Not later than the tenth poll, whose time has a jitter.
    heartbeatAt = now + heartbeatInterval(pollInterval).toNanos() - pollInterval.toNanos() / 2;
    try {
      context
          .transactions()
          .make(
              connection ->
                  Statements.execute(
                      connection,
                      HEARTBEAT,
                      listener,
                      listens.source(),
                      backend(listens),
                      Statements.array(differences),
                      Statements.array(List.copyOf(context.backends()))));
      reported = differences;
    } catch (SQLException | RuntimeException e) {
      housekeeping.failed("heartbeat", e);
    }
    housekeeping.heartbeat();
    if (isNews) {
      housekeeping.runSoon(); // of a drop, perhaps: what waited has its delivery keys until then
    }
  }

  /** Waits for the database. Where that fails, others remove it when its silence is over. */
  void remove() {
    if (!isThere) {
      return;
    }
    try {
      context.transactions().make(connection -> Statements.execute(connection, REMOVE, listener));
    } catch (SQLException | RuntimeException e) {
      LOG.debug(
          "pgonce: the listener could not take itself off the registry; the others will when its silence is over",
          e);
    }
  }

  /** The server's process of the session that listens; null if there is none. */
  private static @Nullable String backend(ListenStatus status) {
    var session = status.session();
    return session == null ? null : String.valueOf(session.backendPid());
  }

  /** Empty if there is none. */
  private static String difference(PollTarget target) {
    var difference = target.activity().outdated();
    return difference == null
        ? ""
        : difference.substring(0, Math.min(difference.length(), LONGEST_DIFFERENCE));
  }

  private static Duration heartbeatInterval(Duration pollInterval) {
    var millis = pollInterval.toMillis();
    var tenth = Math.min(POLLS_PER_HEARTBEAT * millis, MOST_BETWEEN_HEARTBEATS.toMillis());
    return Duration.ofMillis(Math.max(millis, tenth));
  }
}
