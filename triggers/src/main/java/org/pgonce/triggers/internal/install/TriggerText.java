package org.pgonce.triggers.internal.install;

import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.pgonce.triggers.internal.catalog.InstalledTrigger;
import org.pgonce.triggers.internal.definition.CaptureTrigger.Shape;
import org.pgonce.triggers.internal.definition.Event;
import org.pgonce.triggers.internal.definition.Quoted;

/**
 * An installed trigger, written as pgonce writes those that it creates: to be compared with one.
 */
final class TriggerText {

  private TriggerText() {}

  /**
   * The statement that makes it, by lines.
   *
   * @param function as pgonce names it
   */
  static List<String> lines(InstalledTrigger trigger, String function) {
    var name = Quoted.identifier(trigger.name());
    var table = Quoted.table(trigger.table());
    var shape = trigger.shape();
    if (shape == null) {
      return List.of(
          "TRIGGER %s ON %s, with a WHEN or with other names of its transition tables"
              .formatted(name, table));
    }
    var create = shape.deferred() ? "CREATE CONSTRAINT TRIGGER" : "CREATE OR REPLACE TRIGGER";
    return List.of(
        "%s %s %s %s ON %s".formatted(create, name, time(shape), events(shape), table),
        rows(shape),
        "EXECUTE FUNCTION %s();".formatted(function));
  }

  private static String time(Shape shape) {
    return (shape.type() & 2) != 0 ? "BEFORE" : (shape.type() & 64) != 0 ? "INSTEAD OF" : "AFTER";
  }

  private static String events(Shape shape) {
    return Stream.of(Event.values())
        .filter(event -> (shape.type() & event.triggerType()) != 0)
        .map(event -> event + (event == Event.UPDATE ? columns(shape) : ""))
        .collect(Collectors.joining(" OR "));
  }

  private static String columns(Shape shape) {
    return shape.columns().isEmpty()
        ? ""
        : shape.columns().stream()
            .sorted()
            .map(Quoted::identifier)
            .collect(Collectors.joining(", ", " OF ", ""));
  }

  private static String rows(Shape shape) {
    if (shape.deferred()) {
      return "DEFERRABLE INITIALLY DEFERRED FOR EACH ROW";
    }
    var tables = shape.oldTable() ? "OLD TABLE AS old_rows " : "";
    tables += shape.newTable() ? "NEW TABLE AS new_rows " : "";
    return (tables.isEmpty() ? "" : "REFERENCING " + tables)
        + "FOR EACH "
        + ((shape.type() & 1) != 0 ? "ROW" : "STATEMENT");
  }
}
