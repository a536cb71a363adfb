package org.pgonce.triggers.internal.definition;

import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.pgonce.triggers.TriggerForm;

/**
 * Which changes of a table are captured.
 *
 * @param events not empty
 * @param updateOf an UPDATE counts if its SET list names one of these columns; empty: any
 * @param changed an UPDATE counts if one of these columns has another value, or, where this is
 *     empty, any column; null: whether or not
 * @param condition SQL over old and new; null: none
 * @param form null: the library chooses
 */
public record CaptureFilter(
    Set<Event> events,
    List<String> updateOf,
    @Nullable List<String> changed,
    @Nullable String condition,
    @Nullable TriggerForm form) {

  public CaptureFilter {
    events = Set.copyOf(events);
    updateOf = List.copyOf(updateOf);
    changed = changed == null ? null : List.copyOf(changed);
  }

  /** Whether what it captures of an update depends on the row before. */
  boolean comparesRows() {
    return changed != null || condition != null;
  }
}
