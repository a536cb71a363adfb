package org.pgonce.triggers.internal.definition;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What of a row is stored.
 *
 * @param kind what a payload is
 * @param selection which columns a row has there
 * @param columns those that the selection names
 * @param expression SQL over old and new that makes the payload; only where it is computed
 */
public record Content(
    Kind kind, Selection selection, List<String> columns, @Nullable String expression) {

  /** Everything of a row. */
  public static final Content ROW = new Content(Kind.ROW, Selection.ALL, List.of(), null);

  public Content {
    columns = List.copyOf(columns);
  }

  /** What a payload is. */
  public enum Kind {
    /** The new row, or the old one where it was deleted. */
    ROW,
    /** What happened, with the rows before and after. */
    CHANGE,
    /** What an expression makes. */
    COMPUTED
  }

  /** Which columns a row has in the payload. */
  public enum Selection {
    ALL,
    ONLY,
    WITHOUT,
    PRIMARY_KEY
  }

  public Content withKind(Kind other) {
    return new Content(other, selection, columns, expression);
  }

  public Content withSelection(Selection other, List<String> named) {
    return new Content(kind, other, named, expression);
  }

  public Content computed(String sql) {
    return new Content(Kind.COMPUTED, selection, columns, sql);
  }

  /** Whether a payload shows the column. */
  public boolean shows(String column) {
    return switch (selection) {
      case ALL, PRIMARY_KEY -> true;
      case ONLY -> columns.contains(column);
      case WITHOUT -> !columns.contains(column);
    };
  }
}
