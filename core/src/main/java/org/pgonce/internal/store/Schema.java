package org.pgonce.internal.store;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import org.pgonce.PgOnceException;

/**
 * The schema {@code pgonce}: its versions are the files of the folder {@code sql}, packaged with
 * this class.
 */
public final class Schema {

  private static final List<String> VERSIONS =
      List.of(
          "V001__roles_and_tables.sql",
          "V002__publish.sql",
          "V003__claim_and_settle.sql",
          "V004__listen.sql",
          "V005__install_and_operate.sql",
          "V006__grants.sql",
          "V007__order.sql",
          "V009__capture.sql",
          "V010__drop.sql",
          "V011__copies.sql",
          "V012__limit_per_key.sql",
          "V013__wake_ups.sql");

  // One key for every database: an advisory lock belongs to the current one. "pgonce" in ASCII.
  private static final String LOCK = "SELECT pg_catalog.pg_advisory_xact_lock(123589553447781)";
  // Not to_regclass: that needs the right to use the schema.
  private static final String EXISTS =
      """
      SELECT EXISTS (
        SELECT FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
         WHERE n.nspname = 'pgonce' AND c.relname = 'schema_version')
      """;
  private static final String VERSION =
      "SELECT coalesce(max(version), 0) FROM pgonce.schema_version";

  private Schema() {}

  /** The version that this library brings. */
  public static int latest() {
    return number(VERSIONS.get(VERSIONS.size() - 1));
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
    if (before >= latest()) {
      return before;
    }
    var reached = PinnedPath.during(transaction, () -> lockedVersion(transaction));
    run(VERSIONS.stream().filter(script -> number(script) > reached).toList(), transaction);
    return before;
  }

  /** The version that a script, named V013__…, brings. */
  private static int number(String script) {
    return Integer.parseInt(script.substring(1, 4));
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
    run(VERSIONS, transaction);
  }

  /**
   * Each pins the path by itself: for the session, which a pin of this transaction would outlive.
   */
  private static void run(List<String> scripts, Connection transaction) throws SQLException {
    for (var script : scripts) {
      try (var statement = transaction.createStatement()) {
        statement.execute(text(script));
      }
    }
  }

  /** The installed version; 0 if there is none. */
  public static int version(Connection connection) throws SQLException {
    if (!exists(connection)) {
      return 0;
    }
    try (var statement = connection.createStatement();
        var row = statement.executeQuery(VERSION)) {
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

  /** All versions as one script. */
  public static String script() {
    return String.join("\n", VERSIONS.stream().map(Schema::text).toList());
  }

  /** What removes it, with everything that waits in it. */
  public static String uninstallScript() {
    return text("uninstall.sql");
  }

  private static String text(String script) {
    try (var in = Schema.class.getResourceAsStream("/org/pgonce/sql/" + script)) {
      if (in == null) {
        throw new IllegalStateException(
            script
                + " is missing from the jar of pgonce-core; the build did not package the folder sql");
      }
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
