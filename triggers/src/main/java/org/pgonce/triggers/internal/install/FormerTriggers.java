package org.pgonce.triggers.internal.install;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import org.pgonce.internal.jdbc.Statements;
import org.pgonce.records.TableName;
import org.pgonce.triggers.internal.definition.CaptureFunction;
import org.pgonce.triggers.internal.definition.Quoted;
import org.pgonce.triggers.internal.definition.TriggerLookup;

/**
 * The functions and triggers that a change replaces or drops, as the database prints them: while
 * the connection's path is pinned, with each name in full.
 */
final class FormerTriggers {

  private static final String FUNCTION =
      "SELECT pg_catalog.pg_get_functiondef(CAST(CAST(? AS bigint) AS oid))";

  private static final Map<String, String> FIRING =
      Map.of("D", "DISABLE", "R", "ENABLE REPLICA", "A", "ENABLE ALWAYS");

  private final Connection connection;
  private final State state;
  private final TableName table;

  FormerTriggers(Connection connection, State state, TableName table) {
    this.connection = connection;
    this.state = state;
    this.table = table;
  }

  /** Functions that were not there before. */
  List<CaptureFunction> added() {
    return state.wanted().stream()
        .filter(trigger -> state.function(trigger) == null)
        .map(CaptureFunction::new)
        .toList();
  }

  /** What makes the others what they were. */
  String restored() throws SQLException {
    var functions = new StringBuilder();
    var triggers = new StringBuilder();
    for (var outdated : state.outdated()) {
      functions.append(definition(outdated));
      state.triggersOf(outdated).forEach(trigger -> triggers.append(definition(trigger)));
    }
    for (var wanted : state.wanted()) {
      var before = state.function(wanted);
      if (before == null) {
        continue;
      }
      if (new FunctionDrift(wanted, state).isToBeReplaced()) {
        functions.append(definition(before));
      }
      var drift = new TriggerDrift(wanted, state);
      if (drift.isToBeReplaced()) {
        triggers.append(
            TriggerLookup.ifThere(
                table, wanted.bareName(), wanted.printedForm(), wanted.drop(table)));
      }
      drift.gone().forEach(trigger -> triggers.append(definition(trigger)));
    }
    return OwnerRole.script(functions)
        + TriggerSteps.boundedScript(triggers, BoundedLock.LONGEST_WAIT_MS);
  }

  /** As whose it was. */
  private String definition(InstalledFunction function) throws SQLException {
    var definition = Statements.row(connection, FUNCTION, row -> row.getString(1), function.oid());
    return "SET ROLE %s;\n%s;\nREVOKE ALL ON FUNCTION %s() FROM PUBLIC;\nCOMMENT ON FUNCTION %3$s() IS %s;\nRESET ROLE;\n"
        .formatted(
            Quoted.identifier(function.owner()),
            definition.stripTrailing(),
            function.sqlName(),
            Quoted.literal(function.comment()));
  }

  /** With a name that its like, made since, may have. */
  private static String definition(InstalledTrigger trigger) {
    var name = Quoted.identifier(trigger.name());
    var table = Quoted.table(trigger.table());
    var how = FIRING.get(trigger.firing());
    return TriggerLookup.unlessThere(
        trigger.table(),
        trigger.name(),
        trigger.form(),
        trigger.firing(),
        "DROP TRIGGER IF EXISTS %s ON %s;\n%s;\n".formatted(name, table, trigger.definition())
            + (how == null ? "" : "ALTER TABLE %s %s TRIGGER %s;\n".formatted(table, how, name)));
  }
}
