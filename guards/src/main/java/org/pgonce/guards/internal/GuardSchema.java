package org.pgonce.guards.internal;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.SQLException;
import org.pgonce.internal.store.Installation;
import org.pgonce.internal.store.PinnedPath;

/** The schema {@code pgonce_guards}, as the script sql/guards/install.sql makes it. */
public final class GuardSchema {

  /** What the script writes into the schema's comment. Raise it with each change of the script. */
  private static final int VERSION = 4;

  private static final String SCRIPT = "/org/pgonce/guards/sql/install.sql";

  // One key for every database: an advisory lock belongs to the current one. "pgonce" in ASCII, +
  // 2.
  private static final String LOCK = "SELECT pg_catalog.pg_advisory_xact_lock(123589553447783)";

  // Reads the catalogs only, so it works without any right on the schema. A restore may have lost
  // the comment, the owners or the rights: then the script runs again.
  private static final String IS_CURRENT =
      """
      SELECT EXISTS (
        SELECT FROM pg_catalog.pg_namespace n
         WHERE n.nspname = 'pgonce_guards' AND pg_catalog.pg_get_userbyid(n.nspowner) = 'pgonce_owner'
           AND pg_catalog.substring(pg_catalog.obj_description(n.oid, 'pg_namespace'), '^pgonce guards, version ([0-9]+)')::integer >= %s
           AND (SELECT count(*) FROM pg_catalog.pg_roles r
                 WHERE r.rolname IN ('pgonce_guard', 'pgonce_listener', 'pgonce_admin')
                   AND pg_catalog.has_schema_privilege(r.oid, n.oid, 'USAGE')) = 3)
      """
          .formatted(VERSION);

  private GuardSchema() {}

  /** Within a transaction of its own, which the caller commits. */
  static boolean install(Connection transaction) throws SQLException {
    PinnedPath.pin(transaction);
    Installation.bound(transaction);
    if (isCurrent(transaction) || isCurrentOnceLocked(transaction)) {
      return false;
    }
    // It pins the path for the session, and then gives it back the one that it has found.
    PinnedPath.unpin(transaction);
    try (var statement = transaction.createStatement()) {
      statement.execute(script());
    }
    return true;
  }

  /** Others that install at the same time wait here, and find it done. */
  private static boolean isCurrentOnceLocked(Connection transaction) throws SQLException {
    try (var statement = transaction.createStatement()) {
      statement.execute(LOCK);
    }
    return isCurrent(transaction);
  }

  private static boolean isCurrent(Connection transaction) throws SQLException {
    try (var statement = transaction.createStatement();
        var row = statement.executeQuery(IS_CURRENT)) {
      return row.next() && row.getBoolean(1);
    }
  }

  /** All of it: makes the schema, or brings one that is there up to date. */
  public static String script() {
    try (var in = GuardSchema.class.getResourceAsStream(SCRIPT)) {
      if (in == null) {
        throw new IllegalStateException(
            SCRIPT + " is missing from the jar of pgonce-guards; the build did not package it");
      }
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
