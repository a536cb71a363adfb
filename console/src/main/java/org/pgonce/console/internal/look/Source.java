package org.pgonce.console.internal.look;

import static java.util.Map.entry;

import java.sql.SQLException;
import java.util.Map;
import javax.sql.DataSource;
import org.pgonce.operations.internal.sql.Database;
import org.pgonce.operations.internal.sql.RefusedException;

/** Connections for the pages, one a request. */
public record Source(DataSource dataSource) {

  private static final int STATEMENT_SECONDS = 5;
  private static final int LOCK_SECONDS = 2;

  private static final Map<String, String> TO_DO =
      Map.ofEntries(
          entry(
              "42501",
              "The console's role has not the right: to look takes GRANT pgonce_monitor, to act GRANT pgonce_admin."),
          entry(
              "57014",
              "It took longer than 5 seconds. The command line gives it longer: --statement-timeout."),
          entry("55P03", "Somebody holds the lock: try again."),
          entry(
              "25006",
              "If the server is a standby: the console needs the primary to act. Else transactions of its login are read-only by default: ALTER ROLE or ALTER DATABASE ... RESET default_transaction_read_only."),
          entry(
              "42P01",
              "Schema pgonce is not there, or is of another release: pgonce migrate check."),
          entry("3F000", "Schema pgonce is not there: pgonce migrate check."),
          entry(
              "42883",
              "Schema pgonce is not there, or is of another release: pgonce migrate check."),
          entry("42703", "Schema pgonce is of another release: pgonce migrate check."),
          entry("08001", "The database cannot be reached. Does the server run?"),
          entry("08006", "The connection was lost: try again."),
          entry(
              "53300",
              "The server has as many connections as it may: make a pool smaller, or raise max_connections or the limit of the role or database."));

  public Database open() {
    return Database.open(dataSource, STATEMENT_SECONDS, LOCK_SECONDS, Source::inWords);
  }

  /** For a page: without the driver's details, which name the statement. */
  private static RefusedException inWords(SQLException failure) {
    var state = String.valueOf(failure.getSQLState());
    var message = String.valueOf(failure.getMessage()).lines().findFirst().orElse("no message");
    var advice = TO_DO.get(state);
    return new RefusedException(
        "%s (%s)%s".formatted(message, state, advice == null ? "" : ". " + advice), failure);
  }
}
