package org.pgonce.operations.internal.sql;

import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;

/** Which causes of {@code pgonce.explain} only a person ends. */
public final class Causes {

  /** Neither time nor a listener ends these. */
  public static final Set<String> FOR_A_PERSON =
      Set.of(
          "DEAD",
          "BLOCKED_BY_DEAD",
          "COPY_NOT_ADOPTED",
          "LOCK_WAIT",
          "PAUSED",
          "NO_LISTENER",
          "OUTDATED_LISTENERS",
          "STARVED",
          "NOT_STORED");

  /** As literals of SQL. */
  static final String FOR_A_PERSON_SQL =
      new TreeSet<>(FOR_A_PERSON)
          .stream().map(cause -> "'" + cause + "'").collect(Collectors.joining(", "));

  private Causes() {}
}
