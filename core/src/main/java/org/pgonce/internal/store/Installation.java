package org.pgonce.internal.store;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.pgonce.Channel;
import org.pgonce.PgOnceException;
import org.pgonce.UnreachableException;
import org.pgonce.internal.jdbc.Failures;
import org.pgonce.internal.jdbc.LostConnection;
import org.pgonce.internal.jdbc.Statements;
import org.pgonce.internal.jdbc.Transactions;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Installs channel by channel, each in a transaction of its own, and the schema with the first. In
 * one transaction the tables of the first would stay locked, and their writers would wait, until
 * the last had its lock.
 */
public final class Installation {

  // An installation gives up rather than make writers queue behind it. A process that freezes while
  // it holds a table's lock loses it after 5 s.
  private static final String BOUND_THE_WAIT =
      """
      SELECT pg_catalog.set_config('lock_timeout', '10s', true),
             CASE WHEN pg_catalog.current_setting('idle_in_transaction_session_timeout')::pg_catalog.interval
                       NOT BETWEEN INTERVAL '1 microsecond' AND INTERVAL '5 seconds'
                  THEN pg_catalog.set_config('idle_in_transaction_session_timeout', '5s', true) END
      """;

  private static final Logger LOG = LoggerFactory.getLogger(Installation.class);

  private final Transactions transactions;
  private final String instance;
  private final List<String> installed = new ArrayList<>();

  /**
   * @param instance what the operation log says did it
   */
  public Installation(Transactions transactions, String instance) {
    this.transactions = transactions;
    this.instance = instance;
  }

  /**
   * Brings the schema, if it is not there or has lost rights, and makes the channels as defined.
   * Each statement waits 10 s at most for a lock.
   *
   * @throws PgOnceException that says what was installed before the failure
   */
  public void install(List<Channel<?>> channels) {
    // In one order everywhere, so that two installations of the same channels do not deadlock.
    var ordered = channels.stream().sorted(Comparator.comparing(Channel::name)).toList();
    if (ordered.isEmpty()) {
      var unused = run(List.of(), Schema::bring);
    }
    for (var channel : ordered) {
      var names = List.of(channel.name());
      while (!run(names, transaction -> install(transaction, channel))) {
        LOG.info("pgonce: schema pgonce was brought up to date");
      }
      installed.add(channel.name());
    }
  }

  /**
   * False if a schema that others use was changed: to be committed before a table is waited for.
   */
  private boolean install(Connection transaction, Channel<?> channel) throws SQLException {
    if (installed.isEmpty() && Schema.bring(transaction)) {
      return false;
    }
    define(transaction, channel);
    channel.feed().install(transaction, channel);
    return true;
  }

  /** Compares them with the database, and names all differences in a {@link PgOnceException}. */
  public void check(List<Channel<?>> channels) {
    List<String> problems;
    try {
      problems = transactions.run(transaction -> problems(transaction, channels));
    } catch (SQLException e) {
      throw refused("pgonce cannot check its channels: " + Failures.withHint(e), e);
    }
    if (!problems.isEmpty()) {
      throw new PgOnceException(
          "channels are not installed as they are defined:\n- " + String.join("\n- ", problems));
    }
  }

  private static List<String> problems(Connection transaction, List<Channel<?>> channels)
      throws SQLException {
    PinnedPath.pin(transaction);
    var rights = Rights.problems(transaction);
    if (!rights.isEmpty()) {
      return rights;
    }
    var problems = new LinkedHashSet<String>(); // what is no subscription's own is said by each
    for (var channel : channels) {
      for (var name : channel.options().names()) {
        var installed = Installed.lookUp(transaction, channel, name);
        problems.addAll(installed.problems(transaction, channel, name));
      }
    }
    return List.copyOf(problems);
  }

  private boolean run(List<String> names, Transactions.Work<Boolean> work) {
    var begun = new AtomicBoolean();
    try {
      return transactions.run(
          transaction -> {
            begun.set(true);
            Transactions.nameOperator(transaction, instance);
            PinnedPath.pin(transaction);
            bound(transaction);
            return work.on(transaction);
          });
    } catch (SQLException e) {
      var before = Failures.withHint(e) + before();
      if (!begun.get()) {
        throw refused("pgonce cannot install " + names + ", nothing was changed: " + before, e);
      }
      // If it ended in the COMMIT, only the answer may have been lost.
      var outcome =
          LostConnection.isLikely(e)
              ? ", the connection ended and what became of it is not known (install again, it does no harm): "
              : ", nothing was changed: ";
      throw new PgOnceException("pgonce cannot install " + names + outcome + before, e);
    } catch (PgOnceException e) {
      throw installed.isEmpty() ? e : new PgOnceException(e.getMessage() + before(), e);
    }
  }

  /** Before anything was changed. */
  private static PgOnceException refused(String message, SQLException failure) {
    return LostConnection.mayPass(failure)
        ? new UnreachableException(message, failure)
        : new PgOnceException(message, failure);
  }

  private String before() {
    return installed.isEmpty()
        ? ""
        : ". Installed before that, each in a transaction of its own: "
            + String.join(", ", installed)
            + ". Install again to go on";
  }

  /** For a transaction of pgonce's own that installs or drops. */
  public static void bound(Connection transaction) throws SQLException {
    Statements.execute(transaction, BOUND_THE_WAIT);
  }

  /** Makes one channel as defined, without what feeds it; the schema must be there. */
  public static void define(Connection transaction, Channel<?> channel) throws SQLException {
    var missing =
        Schema.exists(transaction) ? Rights.missingToInstall(transaction) : Schema.MISSING;
    if (missing != null) {
      throw new PgOnceException(
          "pgonce cannot install channel %s, nothing was changed: %s"
              .formatted(channel.name(), missing));
    }
    // Not prepared: a definition may hold a question mark.
    try (var statement = transaction.createStatement()) {
      statement.execute(ChannelSql.install(channel));
    }
  }
}
