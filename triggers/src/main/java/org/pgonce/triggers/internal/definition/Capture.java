package org.pgonce.triggers.internal.definition;

import java.util.Locale;
import java.util.Set;
import java.util.stream.Collectors;
import org.pgonce.Mode;
import org.pgonce.triggers.TableName;

/**
 * What is captured, and for which channel: the definition that all DDL is made from.
 *
 * @param events not empty
 * @param rowType what a row is decoded to
 * @param keys what makes its delivery key and its order key
 */
public record Capture(
    String channel,
    Mode mode,
    TableName table,
    Set<Event> events,
    Class<?> rowType,
    KeyColumns keys) {

  public Capture {
    events = Set.copyOf(events);
  }

  /** For example {@code trigger after insert on author}. */
  public String description() {
    return "trigger after "
        + events.stream()
            .sorted()
            .map(event -> event.name().toLowerCase(Locale.ROOT))
            .collect(Collectors.joining(" or "))
        + " on "
        + table;
  }
}
