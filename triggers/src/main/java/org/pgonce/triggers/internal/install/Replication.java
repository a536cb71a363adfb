package org.pgonce.triggers.internal.install;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import org.pgonce.triggers.TriggerForm;
import org.pgonce.triggers.internal.catalog.InstalledTrigger;
import org.pgonce.triggers.internal.catalog.WatchedTable;
import org.pgonce.triggers.internal.definition.Capture;
import org.pgonce.triggers.internal.definition.Event;
import org.pgonce.triggers.internal.definition.Quoted;

/**
 * Rows that come by logical replication. PostgreSQL (14 to 18) applies them with
 * session_replication_role = replica: a trigger fires for them if it is ENABLE ALWAYS (or REPLICA)
 * and per row, or is about TRUNCATE. Triggers per statement fire for the initial copy alone.
 */
final class Replication {

  private static final String ALWAYS = "A";

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

  private Replication() {}

  static List<String> concerns(
      Connection connection, Capture capture, State state, WatchedTable table) throws SQLException {
    var concerns = new ArrayList<String>();
    for (var wanted : state.wanted()) {
      if (wanted.form() == TriggerForm.STATEMENT && wanted.event() != Event.TRUNCATE) {
        for (var trigger : state.triggersOnTable(wanted)) {
          if (trigger.firing().equals(ALWAYS)) {
            concerns.add(
                "trigger %s on table %s is ENABLE ALWAYS and per statement: PostgreSQL fires it for no row that logical replication applies, but for each that its initial copy brings. Take TriggerForm.ROW, or %s"
                    .formatted(
                        Quoted.identifier(trigger.name()), table.name(), enable(trigger, "")));
          }
        }
      }
    }
    var silent =
        state.wanted().stream()
            .flatMap(wanted -> state.triggersOnTable(wanted).stream())
            .filter(trigger -> trigger.firing().equals("O"))
            .findFirst();
    if (silent.isPresent() && !CatalogLines.of(connection, SUBSCRIBED, table.oid()).isEmpty()) {
      concerns.add(
          "logical replication writes to table %s, and those rows make no notification: handle them where they are written first, or give channel %s TriggerForm.ROW and then %s, which makes one for each row of an initial copy too"
              .formatted(table.name(), capture.channel(), enable(silent.get(), "ALWAYS ")));
    }
    return concerns;
  }

  private static String enable(InstalledTrigger trigger, String how) {
    return "ALTER TABLE %s ENABLE %sTRIGGER %s"
        .formatted(Quoted.table(trigger.table()), how, Quoted.identifier(trigger.name()));
  }
}
