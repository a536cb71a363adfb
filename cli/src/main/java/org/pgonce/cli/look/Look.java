package org.pgonce.cli.look;

import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.pgonce.operations.internal.sql.Rows;

/**
 * What one look of {@code tail} has seen: of each kind of event the last ones, as many as a look
 * holds. When some of them go, older ones come into sight, which are not new.
 */
final class Look {

  /** As EVENTS of {@link TailCommand} has it. */
  private static final int MOST = 1_000;

  private enum Kind {
    DEAD,
    FAILED,
    OPERATION
  }

  /** In the order of the look; all failures have the same time. */
  private record Place(Instant at, long id) implements Comparable<Place> {

    private static final Comparator<Place> ORDER =
        Comparator.comparing(Place::at).thenComparingLong(Place::id);

    @Override
    public int compareTo(Place other) {
      return ORDER.compare(this, other);
    }
  }

  private final Set<String> keys = new HashSet<>();

  /** Only of kinds of which there may be more than was seen. */
  private final Map<Kind, Place> oldest = new HashMap<>();

  Look(Rows events) {
    var places = new HashMap<Kind, List<Place>>();
    for (var row : events.values()) {
      keys.add(key(row));
      places.computeIfAbsent(kind(row), kind -> new ArrayList<>()).add(place(row));
    }
    places.forEach(
        (kind, seen) -> {
          if (seen.size() >= MOST) {
            oldest.put(kind, seen.stream().min(Comparator.naturalOrder()).orElseThrow());
          }
        });
  }

  /** Whether it has come about since. By its place alone, what is committed late would be lost. */
  boolean isNew(List<? extends @Nullable Object> row) {
    var bound = oldest.get(kind(row));
    return !keys.contains(key(row)) && (bound == null || place(row).compareTo(bound) > 0);
  }

  /** It changes with each attempt, so that each failure is one event. */
  private static String key(List<? extends @Nullable Object> row) {
    return row.subList(0, 6).toString();
  }

  private static Kind kind(List<? extends @Nullable Object> row) {
    return switch (String.valueOf(row.get(1))) {
      case "DEAD" -> Kind.DEAD;
      case "FAILED" -> Kind.FAILED;
      default -> Kind.OPERATION;
    };
  }

  private static Place place(List<? extends @Nullable Object> row) {
    return new Place(
        row.get(0) instanceof Instant at ? at : Instant.EPOCH,
        row.get(4) instanceof Number id ? id.longValue() : 0);
  }
}
