package org.pgonce.triggers.internal.install;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import org.pgonce.triggers.TableName;
import org.pgonce.triggers.internal.catalog.InstalledFunction;
import org.pgonce.triggers.internal.catalog.InstalledTrigger;
import org.pgonce.triggers.internal.definition.Capture;
import org.pgonce.triggers.internal.definition.CaptureFunction;
import org.pgonce.triggers.internal.definition.CaptureTrigger;
import org.pgonce.triggers.internal.definition.Quoted;
import org.pgonce.triggers.internal.definition.TriggerLookup;

/**
 * The functions and triggers that a change replaces or drops, as the database tells them: while the
 * connection's path is pinned, with each name in full.
 */
final class FormerTriggers {

  private static final String FUNCTION =
      "SELECT pg_catalog.pg_get_functiondef(CAST(CAST(? AS bigint) AS oid))";
  private static final String TRIGGER =
      "SELECT pg_catalog.pg_get_triggerdef(t.oid) FROM pg_catalog.pg_trigger t WHERE t.tgrelid = CAST(CAST(? AS bigint) AS oid) AND t.tgname = ?";

  private final Connection connection;
  private final State state;
  private final TableName table;

  FormerTriggers(Connection connection, Capture capture, State state, TableName table) {
    this.connection = connection;
    this.state = state;
    this.table = table;
  }

  /** Functions that were not there before, by their bare names. */
  List<String> added() {
    return state.wanted().stream()
        .filter(trigger -> state.function(trigger) == null)
        .map(CaptureTrigger::bareFunctionName)
        .toList();
  }

  /** What makes the others what they were. */
  String restored() throws SQLException {
    var functions = new StringBuilder();
    var triggers = new StringBuilder();
    for (var outdated : state.outdated()) {
      functions.append(definition(outdated));
      for (var trigger : state.installed().getOrDefault(outdated, List.of())) {
        triggers.append(definition(trigger, outdated.name()));
      }
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
        triggers.append(wanted.lookup(table).ifThere(wanted.drop(table)));
      }
      for (var trigger : drift.gone()) {
        triggers.append(definition(trigger, wanted.bareFunctionName()));
      }
    }
    return OwnerRole.script(functions)
        + (triggers.isEmpty()
            ? ""
            : "SET lock_timeout = '%d ms';\n%sRESET lock_timeout;\n"
                .formatted(BoundedLock.LONGEST_WAIT_MS, triggers));
  }

  private String definition(InstalledFunction function) throws SQLException {
    try (var statement = connection.prepareStatement(FUNCTION)) {
      statement.setLong(1, function.oid());
      try (var row = statement.executeQuery()) {
        row.next();
        var name = CaptureFunction.name(function.name());
        return "%s;\nREVOKE ALL ON FUNCTION %s() FROM PUBLIC;\nCOMMENT ON FUNCTION %2$s() IS %s;\n"
            .formatted(row.getString(1).stripTrailing(), name, Quoted.literal(function.comment()));
      }
    }
  }

  /** With a name that its like, made since, may have. */
  private String definition(InstalledTrigger trigger, String function) throws SQLException {
    var name = Quoted.identifier(trigger.name());
    var table = Quoted.table(trigger.table());
    try (var statement = connection.prepareStatement(TRIGGER)) {
      statement.setLong(1, trigger.tableOid());
      statement.setString(2, trigger.name());
      try (var row = statement.executeQuery()) {
        row.next();
        var made =
            "DROP TRIGGER IF EXISTS %s ON %s;\n%s;\n%s"
                .formatted(name, table, row.getString(1), firing(trigger, name, table));
        var shape = trigger.shape();
        return shape == null
            ? made
            : TriggerLookup.of(trigger.table(), trigger.name(), function, shape, trigger.firing())
                .unlessThere(made);
      }
    }
  }

  private static String firing(InstalledTrigger trigger, String name, String table) {
    var how =
        switch (trigger.firing()) {
          case "D" -> "DISABLE";
          case "R" -> "ENABLE REPLICA";
          case "A" -> "ENABLE ALWAYS";
          default -> "";
        };
    return how.isEmpty() ? "" : "ALTER TABLE %s %s TRIGGER %s;\n".formatted(table, how, name);
  }
}
