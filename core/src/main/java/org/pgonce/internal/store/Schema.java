package org.pgonce.internal.store;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import org.pgonce.PgOnceException;

/** The schema {@code pgonce}, as the files of the folder {@code sql} make it. */
public final class Schema {

  /**
   * What finish.sql writes into schema_version. Raise both in each release that changes one of the
   * files.
   */
  private static final int VERSION = 1;

  /** In the order in which they run; changelog.xml has the same list for Liquibase. */
  public static final List<String> FILES =
      List.of(
          "roles.sql",
          "tables.sql",
          "context.sql",
          "gate.sql",
          "delivery_keys.sql",
          "publish.sql",
          "claim.sql",
          "claim_by_key.sql",
          "key_permits.sql",
          "settle.sql",
          "poll.sql",
          "rate.sql",
          "maintenance.sql",
          "install.sql",
          "operate.sql",
          "drop.sql",
          "copies.sql",
          "sandbox.sql",
          "capture.sql",
          "watched_tables.sql",
          "views.sql",
          "grants.sql",
          "finish.sql");

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

  private Schema() {}

  /** The version that this library brings. */
  public static int latest() {
    return VERSION;
  }

  /**
   * Brings the schema to {@link #latest()} within the caller's transaction; does nothing if it is
   * there already. A newer one is left alone. Others that install at the same time wait at the
   * lock, and find it done.
   *
   * @return the version that was there before; 0 if there was none
   */
  static int install(Connection transaction) throws SQLException {
    var before = PinnedPath.during(transaction, () -> version(transaction));
    if (before < latest()
        && PinnedPath.during(transaction, () -> lockedVersion(transaction)) < latest()) {
      run(transaction);
    }
    return before;
  }

  private static int lockedVersion(Connection transaction) throws SQLException {
    try (var statement = transaction.createStatement()) {
      statement.execute(LOCK);
    }
    return version(transaction);
  }

  /**
   * Gives owners and rights back within the caller's transaction, by running the scripts again.
   *
   * @throws PgOnceException if the schema is a newer one, or the role may not do it
   */
  static void mend(Connection transaction, String damage) throws SQLException {
    var mayBeMended =
        PinnedPath.during(
            transaction,
            () -> Ownership.mayMend(transaction) && lockedVersion(transaction) <= latest());
    if (!mayBeMended) {
      throw new PgOnceException("pgonce cannot install: " + damage);
    }
    run(transaction);
  }

  /**
   * Each file pins the path by itself: for the session, which a pin of this transaction would
   * outlive.
   */
  private static void run(Connection transaction) throws SQLException {
    for (var file : FILES) {
      try (var statement = transaction.createStatement()) {
        statement.execute(text(file));
      }
    }
  }

  /** The installed version; 0 if there is none. */
  public static int version(Connection connection) throws SQLException {
    if (!exists(connection)) {
      return 0;
    }
    try (var statement = connection.createStatement();
        var row = statement.executeQuery(INSTALLED)) {
      return row.next() ? row.getInt(1) : 0;
    }
  }

  /** Whether the schema is installed, whatever its version; asks the catalogs only. */
  public static boolean exists(Connection connection) throws SQLException {
    try (var statement = connection.createStatement();
        var row = statement.executeQuery(EXISTS)) {
      return row.next() && row.getBoolean(1);
    }
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
