package org.pgonce.cli.database;

import static java.util.Map.entry;

import java.sql.SQLException;
import java.util.Map;
import java.util.regex.Pattern;
import org.pgonce.operations.internal.sql.RefusedException;
import org.postgresql.util.PSQLException;

/** What the database refused, in words, and what to do about it. */
final class Failure {

  private static final Map<String, String> TO_DO =
      Map.ofEntries(
          entry(
              "42501",
              "This login has not the right. To look takes GRANT pgonce_monitor, to change something or to see payloads GRANT pgonce_admin, to publish GRANT pgonce_publisher, to migrate GRANT pgonce_owner: see pgonce grants."),
          entry("57014", "Give it longer: --statement-timeout, as 5m."),
          entry(
              "55P03",
              "Somebody holds the lock: try again, or give it longer: --lock-timeout, as 1m."),
          entry(
              "25006",
              "If the server is a standby: give the address of the primary. Else transactions of this login are read-only by default: ALTER ROLE or ALTER DATABASE ... RESET default_transaction_read_only."),
          entry("42P01", "Schema pgonce is not there, or is older: pgonce migrate check."),
          entry("3F000", "Schema pgonce is not there: pgonce migrate check."),
          entry("42883", "Schema pgonce is not there, or is older: pgonce migrate check."),
          entry("42703", "Schema pgonce is older: pgonce migrate check."),
          entry("28P01", "The password is by PGPASSWORD, PGONCE_URL, ~/.pgpass or --password."),
          entry("08001", "Is the address right (--url, PGHOST, PGPORT), and does the server run?"),
          entry(
              "53300",
              "It has as many connections as it may: make a pool smaller, end sessions that nobody needs, or raise max_connections or the limit of the role or database. A superuser may have one that is reserved."),
          entry("54000", "If it is the queue of NOTIFY: pgonce doctor says what to do."),
          entry("57P03", "It starts, stops or recovers: try again."));

  private static final Pattern OF_CONNECTIONS = Pattern.compile("(08|28|3D)...|53300|57P03");

  // The connection is lost, or the server ends, starts, or has too many.
  private static final Pattern PASSING = Pattern.compile("08...|57P0[123]|53300");

  private Failure() {}

  /** Whether the same may be answered in a while, by another connection. */
  static boolean mayPass(RefusedException refused) {
    return refused.getCause() instanceof SQLException failure
        && PASSING.matcher(String.valueOf(failure.getSQLState())).matches();
  }

  /**
   * @param where was asked: the driver does not always say it
   */
  static RefusedException inWords(SQLException failure, String where) {
    var server =
        failure instanceof PSQLException postgres ? postgres.getServerErrorMessage() : null;
    var message =
        server == null || server.getMessage() == null ? failure.getMessage() : server.getMessage();
    var hint = server == null ? null : server.getHint();
    var state = String.valueOf(failure.getSQLState());
    var words =
        String.valueOf(message)
            .strip()
            .replace("in pgonce.channel_status", "in pgonce channels"); // as one types it here
    // What pgonce itself says has its own advice.
    var advice = words.startsWith("pgonce") ? null : TO_DO.get(state);
    return new RefusedException(
        words
            + (hint == null ? "" : ". " + hint)
            + " ("
            + state
            + ")"
            + (OF_CONNECTIONS.matcher(state).matches() ? " at " + where : "")
            + (advice == null ? "" : ".\n" + advice),
        failure);
  }
}
