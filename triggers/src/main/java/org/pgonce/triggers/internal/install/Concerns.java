package org.pgonce.triggers.internal.install;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.pgonce.internal.jdbc.Statements;
import org.pgonce.internal.store.Schema;
import org.pgonce.records.internal.catalog.WatchedTable;
import org.pgonce.triggers.TriggerForm;
import org.pgonce.triggers.internal.definition.Event;
import org.pgonce.triggers.internal.definition.Quoted;

/** What of a watched table costs notifications or safety, though its triggers are as defined. */
final class Concerns {

  // PostgreSQL drops the copies of the triggers when a partition is detached, and keeps no trace;
  // so what partitions the table had is kept when the channel is installed.
  private static final String DETACHED =
      "SELECT d FROM pgonce.detached_partitions(?, CAST(CAST(? AS bigint) AS oid)) AS d";
  private static final int FEW = 5;

  // The table, or one of its partitions, is written by a subscription of this database.
  private static final String SUBSCRIBED =
      """
      WITH RECURSIVE part AS (
        SELECT CAST(CAST(? AS bigint) AS oid) AS id
        UNION
        SELECT i.inhrelid FROM part JOIN pg_catalog.pg_inherits i ON i.inhparent = part.id
      )
      SELECT 'subscribed' FROM part JOIN pg_catalog.pg_subscription_rel s ON s.srrelid = part.id LIMIT 1
      """;

  // As to_json goes: into arrays, domains and composite types, which are never cast themselves.
  // PostgreSQL's own types, with object ids below 16384, are not looked up among the casts. Trusted
  // are superusers, members of pgonce_owner, who can read and forge notifications anyway, and roles
  // that may act as the functions' owner, whose rights such a function has.
  private static final String UNTRUSTED_CASTS =
      """
      WITH RECURSIVE typed AS (
        SELECT a.atttypid AS id FROM pg_catalog.pg_attribute a
         WHERE a.attrelid = CAST(CAST(? AS bigint) AS oid) AND a.attnum > 0 AND NOT a.attisdropped
        UNION
        SELECT part.id FROM typed d JOIN pg_catalog.pg_type t ON t.oid = d.id
         CROSS JOIN LATERAL (
           SELECT t.typbasetype AS id WHERE t.typtype = 'd'
           UNION ALL
           SELECT t.typelem WHERE t.typsubscript = 'pg_catalog.array_subscript_handler'::pg_catalog.regproc
           UNION ALL
           SELECT a.atttypid FROM pg_catalog.pg_attribute a WHERE t.typtype = 'c' AND a.attrelid = t.typrelid AND a.attnum > 0 AND NOT a.attisdropped) part
      )
      SELECT pg_catalog.format('type %s of table %s has a cast to json by function %s of role %I: each write runs that function in the writer''s session, where it can leave prepared statements which the writer then runs. Let a superuser, pgonce_owner or role %I own it (ALTER FUNCTION %s OWNER TO pgonce_owner), or drop the cast (DROP CAST (%s AS json)); and let no role own the type that you would not trust with this, as it can make the cast again',
               t.oid::pg_catalog.regtype, w.oid::pg_catalog.regclass, f.oid::pg_catalog.regprocedure, o.rolname, n.rolname, f.oid::pg_catalog.regprocedure, t.oid::pg_catalog.regtype)
        FROM typed d
        JOIN pg_catalog.pg_type t ON t.oid = d.id AND t.typtype NOT IN ('c', 'd')
        JOIN pg_catalog.pg_cast x ON x.castsource = d.id AND x.casttarget = 'pg_catalog.json'::pg_catalog.regtype AND x.castmethod = 'f'
        JOIN pg_catalog.pg_proc f ON f.oid = x.castfunc
        JOIN pg_catalog.pg_roles o ON o.oid = f.proowner
        JOIN pg_catalog.pg_class w ON w.oid = CAST(CAST(? AS bigint) AS oid)
        JOIN pg_catalog.pg_roles n ON n.rolname = coalesce(?, pg_catalog.pg_get_userbyid(w.relowner))
       WHERE t.oid >= 16384 AND NOT o.rolsuper
         AND NOT EXISTS (SELECT FROM pg_catalog.pg_roles r WHERE r.rolname = 'pgonce_owner' AND pg_catalog.pg_has_role(o.oid, r.oid, 'MEMBER'))
         AND NOT pg_catalog.pg_has_role(o.oid, n.oid, 'MEMBER')
       ORDER BY 1
      """;

  private Concerns() {}

  /** One line each. */
  static List<String> of(Connection connection, String channel, State state, WatchedTable table)
      throws SQLException {
    var concerns = new ArrayList<>(detached(connection, channel, table));
    concerns.addAll(replication(connection, channel, state, table));
    concerns.addAll(untrustedCasts(connection, state, table));
    return concerns;
  }

  /**
   * Casts to json by which rows become JSON, of roles that are not trusted. PostgreSQL runs such a
   * function in the writer's session with the rights of the functions' owner. What it prepares
   * there, under the statement names of a driver, the writer runs.
   */
  static List<String> untrustedCasts(Connection connection, State state, WatchedTable table)
      throws SQLException {
    return Statements.rows(
        connection,
        UNTRUSTED_CASTS,
        row -> row.getString(1),
        table.oid(),
        table.oid(),
        state.runsAs());
  }

  /** Detaching is what partitions are made for: so nothing is refused for it. */
  private static List<String> detached(Connection connection, String channel, WatchedTable table)
      throws SQLException {
    if (!table.isPartitioned() || !Schema.exists(connection)) {
      return List.of();
    }
    var detached =
        Statements.rows(connection, DETACHED, row -> row.getString(1), channel, table.oid());
    if (detached.isEmpty()) {
      return List.of();
    }
    var few = String.join(", ", detached.subList(0, Math.min(FEW, detached.size())));
    var more = detached.size() > FEW ? " and %d more".formatted(detached.size() - FEW) : "";
    return List.of(
        "no longer partitions of table %s: %s%s; what is written to them makes no notification. If they are still in use, give them channels of their own; if that is meant: SELECT pgonce.forget_partitions(%s)"
            .formatted(table.name(), few, more, Quoted.literal(channel)));
  }

  /**
   * PostgreSQL (14 to 18) applies rows of logical replication with session_replication_role =
   * replica: a trigger fires for them if it is ENABLE ALWAYS (or REPLICA) and per row, or is about
   * TRUNCATE. Triggers per statement fire for the initial copy alone.
   */
  private static List<String> replication(
      Connection connection, String channel, State state, WatchedTable table) throws SQLException {
    var concerns = new ArrayList<String>();
    state.wanted().triggers().stream()
        .filter(wanted -> wanted.form() == TriggerForm.STATEMENT)
        .filter(wanted -> wanted.event() != Event.TRUNCATE)
        .flatMap(wanted -> firing(state.triggersOnTable(wanted), "A"))
        .forEach(
            trigger ->
                concerns.add(
                    "trigger %s on table %s is ENABLE ALWAYS and per statement: PostgreSQL fires it for no row that logical replication applies, but for each that its initial copy brings. Take TriggerForm.ROW, or %s"
                        .formatted(
                            Quoted.identifier(trigger.name()), table.name(), enable(trigger, ""))));
    var silent =
        state.wanted().triggers().stream()
            .flatMap(wanted -> firing(state.triggersOnTable(wanted), "O"))
            .findFirst();
    if (silent.isPresent()
        && !Statements.rows(connection, SUBSCRIBED, row -> true, table.oid()).isEmpty()) {
      concerns.add(
          "logical replication writes to table %s, and those rows make no notification: handle them where they are written first, or give channel %s TriggerForm.ROW and then %s, which makes one for each row of an initial copy too"
              .formatted(table.name(), channel, enable(silent.get(), "ALWAYS ")));
    }
    return concerns;
  }

  private static Stream<InstalledTrigger> firing(List<InstalledTrigger> triggers, String how) {
    return triggers.stream().filter(trigger -> trigger.firing().equals(how));
  }

  private static String enable(InstalledTrigger trigger, String how) {
    return "ALTER TABLE %s ENABLE %sTRIGGER %s"
        .formatted(Quoted.table(trigger.table()), how, Quoted.identifier(trigger.name()));
  }
}
