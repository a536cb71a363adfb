package org.pgonce.jackson;

import java.util.Collection;
import java.util.stream.Collectors;

/** Names for a message about a field that is missing: never values, and not all of a large map. */
final class MissingField {

  private static final int MOST = 10;
  private static final int LONGEST = 48;

  private MissingField() {}

  static String inPlace(Collection<String> names) {
    return names.isEmpty()
        ? "none"
        : names.stream()
            .limit(MOST)
            .map(name -> name.length() <= LONGEST ? name : name.substring(0, LONGEST) + "...")
            .collect(Collectors.joining(", ", "", names.size() > MOST ? ", ..." : ""));
  }
}
