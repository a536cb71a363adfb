package org.pgonce.triggers.internal.install;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;
import org.pgonce.internal.jdbc.Statements;
import org.pgonce.records.TableName;
import org.pgonce.triggers.internal.definition.CaptureFunction;
import org.pgonce.triggers.internal.definition.CaptureTrigger;
import org.pgonce.triggers.internal.definition.Quoted;
import org.pgonce.triggers.internal.definition.TriggerLookup;

/**
 * The function and the triggers that a change replaces or drops, as the database prints them: while
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

  /** What makes function and triggers what they were. */
  String restored(int waitMs) throws SQLException {
    var before = Objects.requireNonNull(state.function(), "there was one");
    var triggers = new StringBuilder();
    var gone = new ArrayList<>(TriggerDrift.surplus(state));
    for (var wanted : state.wanted().triggers()) {
      var drift = new TriggerDrift(wanted, state);
      if (drift.isToBeReplaced()) {
        triggers.append(
            TriggerLookup.ifThere(
                table, wanted.bareName(), wanted.printedForm(), wanted.drop(table)));
        Stream.ofNullable(drift.replaced()).forEach(gone::add);
      }
    }
    gone.forEach(trigger -> triggers.append(definition(trigger)));
    return OwnerRole.script(new FunctionDrift(state).isToBeReplaced() ? definition(before) : "")
        + TriggerSteps.boundedScript(triggers, waitMs);
  }

  /** As whose it was: by its name only if that is not the role that installs would choose. */
  private String definition(InstalledFunction function) throws SQLException {
    var definition = Statements.row(connection, FUNCTION, row -> row.getString(1), function.oid());
    var sql =
        "%s;\n%s\nCOMMENT ON FUNCTION %s() IS %s;\n"
            .formatted(
                definition.stripTrailing(),
                CaptureFunction.forOwnerAlone(function.sqlName()),
                function.sqlName(),
                Quoted.literal(function.comment()));
    return function.owner().equals(state.owner())
        ? OwnerRole.lookUp(table) + OwnerRole.asLookedUp(sql)
        : OwnerRole.as(Quoted.identifier(function.owner()), sql);
  }

  /** With a name that its like, made since, may have. */
  private String definition(InstalledTrigger trigger) {
    var name = Quoted.identifier(trigger.name());
    var on = Quoted.table(trigger.table());
    var how = FIRING.get(trigger.firing());
    return TriggerLookup.unlessThere(
        trigger.table(),
        trigger.name(),
        trigger.form(),
        trigger.firing(),
        CaptureTrigger.lockBeforeDrop(trigger.isPartitioned(), trigger.table())
            + "DROP TRIGGER IF EXISTS %s ON %s;\n%s;\n".formatted(name, on, trigger.definition())
            + (how == null ? "" : "ALTER TABLE %s %s TRIGGER %s;\n".formatted(on, how, name)));
  }
}
