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
import org.pgonce.triggers.internal.definition.Template;

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

  private static final String UNTRUSTED_CASTS = Template.text("untrusted_casts.sql");

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
