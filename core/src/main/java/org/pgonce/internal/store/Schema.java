package org.pgonce.internal.store;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.regex.Pattern;
import org.pgonce.PgOnceException;
import org.pgonce.internal.jdbc.Statements;

/** The schema {@code pgonce}, as the files of the folder {@code sql} make it. */
public final class Schema {

  /**
   * What install_end.sql writes into schema_version. Raise both in each release that changes one of
   * the files.
   */
  private static final int VERSION = 1;

  /** In the order in which they run: as changelog.xml lists them for Liquibase. */
  public static final List<String> FILES =
      Pattern.compile("path=\"([a-z_]+\\.sql)\"")
          .matcher(text("changelog.xml").split("<rollback>", 2)[0])
          .results()
          .map(file -> file.group(1))
          .toList();

  /** What to do where the schema or a channel is not there. */
  static final String INSTALL = "call PgOnce.install (Spring Boot: pgonce.install=always)";

  static final String MISSING =
      "schema pgonce is missing: " + INSTALL + ", or run the files of sql/";

  // One key for every database: an advisory lock belongs to the current one. "pgonce" in ASCII.
  private static final String LOCK = "SELECT pg_catalog.pg_advisory_xact_lock(123589553447781)";
  // Not to_regclass: that needs the right to use the schema.
  private static final String EXISTS =
      """
      SELECT EXISTS (
        SELECT FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
         WHERE n.nspname = 'pgonce' AND c.relname = 'schema_version')
      """;
  private static final String INSTALLED =
      "SELECT coalesce(max(version), 0) FROM pgonce.schema_version";
  private static final String ROLE = "SELECT pg_catalog.current_setting('role')";
  private static final String SET_ROLE = "SELECT pg_catalog.set_config('role', ?, false)";

  private Schema() {}

  /** The version that this library brings. */
  public static int latest() {
    return VERSION;
  }

  /**
   * Brings the schema to {@link #latest()} within the caller's pinned transaction, and gives it
   * back the owners and rights that it has lost. Does nothing if it is there already; a newer one
   * is left alone. Others that install at the same time wait at the lock, and find it done.
   *
   * @return whether it has changed a schema that was there
   * @throws PgOnceException if owners or rights are lost, and the role may not give them back; or
   *     if it has no right on the schema
   */
  static boolean bring(Connection transaction) throws SQLException {
    var before = exists(transaction);
    if (!mustRun(transaction)) {
      return false;
    }
    run(transaction);
    return before;
  }

  private static boolean mustRun(Connection transaction) throws SQLException {
    var damage = Rights.damage(transaction);
    if (damage != null) {
      if (!Rights.mayMend(transaction) || lockedVersion(transaction) > latest()) {
        throw new PgOnceException("pgonce cannot install: " + damage);
      }
      return true;
    }
    var missing = Rights.missingToReadVersion(transaction);
    if (missing != null) {
      throw new PgOnceException("pgonce cannot install, nothing was changed: " + missing);
    }
    return version(transaction) < latest() && lockedVersion(transaction) < latest();
  }

  private static int lockedVersion(Connection transaction) throws SQLException {
    Statements.execute(transaction, LOCK);
    return version(transaction);
  }

  /**
   * Each file pins the path for the session, and then gives it back the one that it has found. The
   * last one ends with RESET ROLE, which is not the role that a pool may have set.
   */
  private static void run(Connection transaction) throws SQLException {
    PinnedPath.unpin(transaction);
    var role = Statements.row(transaction, ROLE, row -> row.getString(1));
    try (var statement = transaction.createStatement()) {
      for (var file : FILES) {
        statement.execute(text(file));
      }
    }
    Statements.execute(transaction, SET_ROLE, role);
    PinnedPath.pin(transaction);
  }

  /** The installed version; 0 if there is none. */
  private static int version(Connection connection) throws SQLException {
    return exists(connection) ? Statements.row(connection, INSTALLED, row -> row.getInt(1)) : 0;
  }

  /** What keeps this library from using the schema, which is there: one line, or none. */
  static List<String> problems(Connection connection) throws SQLException {
    var installed = version(connection);
    return installed >= latest()
        ? List.of()
        : List.of(
            "the schema pgonce is of version %d, and this library needs version %d: %s, or run the files of sql/"
                .formatted(installed, latest(), INSTALL));
  }

  /** Whether the schema is installed, whatever its version; asks the catalogs only. */
  public static boolean exists(Connection connection) throws SQLException {
    return Statements.row(connection, EXISTS, row -> row.getBoolean(1));
  }

  /** All files as one script. */
  public static String script() {
    return String.join("\n", FILES.stream().map(Schema::text).toList());
  }

  /** What removes it, with everything that waits in it. */
  public static String uninstallScript() {
    return text("uninstall.sql");
  }

  private static String text(String file) {
    try (var in = Schema.class.getResourceAsStream("/org/pgonce/sql/" + file)) {
      if (in == null) {
        throw new IllegalStateException(
            file
                + " is missing from the jar of pgonce-core; the build did not package the folder sql");
      }
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
