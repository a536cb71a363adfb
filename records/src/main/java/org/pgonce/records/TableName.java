package org.pgonce.records;

import java.nio.charset.StandardCharsets;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A table's name as PostgreSQL stores it, to the letter, and with or without its schema. Without
 * one, it is the first table of that name on the search path of the connection that looks for it.
 *
 * @param schema null to follow the search path
 */
public record TableName(@Nullable String schema, String table) {

  /**
   * Longest identifier of PostgreSQL, in bytes of UTF-8; it cuts longer ones with only a NOTICE.
   */
  public static final int MAX_BYTES = 63;

  private static final String PART =
      "(\"(?:[^\"]|\"\")*\"|[A-Za-z_\\x{80}-\\x{10FFFF}][\\w$\\x{80}-\\x{10FFFF}]*)";
  private static final Pattern SQL_NAME = Pattern.compile("(?:" + PART + "\\.)?" + PART);
  private static final Pattern PLAIN = Pattern.compile("[a-z_][a-z0-9_]*");

  public TableName {
    if (schema != null) {
      requireIdentifier(schema);
    }
    requireIdentifier(table);
  }

  /**
   * Reads a name as SQL does: {@code author}, {@code app.author}, {@code app."Odd.Name"}. What is
   * not in double quotes is folded to lower case.
   *
   * @throws IllegalArgumentException if it is no such name
   */
  public static TableName parse(String sqlName) {
    var parts = SQL_NAME.matcher(sqlName);
    if (!parts.matches()) {
      throw new IllegalArgumentException(
          "table name «%s» is not one that SQL reads: write author, app.author, or with other characters app.\"Odd.Name\""
              .formatted(sqlName));
    }
    var schema = parts.group(1);
    return new TableName(schema == null ? null : identifier(schema), identifier(parts.group(2)));
  }

  private static String identifier(String part) {
    return part.startsWith("\"")
        ? part.substring(1, part.length() - 1).replace("\"\"", "\"")
        : foldAscii(part);
  }

  private static String foldAscii(String part) {
    var folded = new StringBuilder(part);
    for (var i = 0; i < part.length(); i++) {
      var c = part.charAt(i);
      if (c >= 'A' && c <= 'Z') {
        folded.setCharAt(i, (char) (c - 'A' + 'a'));
      }
    }
    return folded.toString();
  }

  private static void requireIdentifier(String identifier) {
    var bytes = identifier.getBytes(StandardCharsets.UTF_8).length;
    if (identifier.isBlank() || identifier.indexOf('\0') >= 0 || bytes > MAX_BYTES) {
      throw new IllegalArgumentException(
          "identifier «%s» (%d bytes) is not one that PostgreSQL has: 1 to %d bytes, not blank, no NUL"
              .formatted(identifier.replace('\0', '?'), bytes, MAX_BYTES));
    }
  }

  /** Quoted where SQL needs it: what {@link #parse} reads back to the same name. */
  @Override
  public String toString() {
    return schema == null ? shown(table) : shown(schema) + "." + shown(table);
  }

  private static String shown(String identifier) {
    return PLAIN.matcher(identifier).matches()
        ? identifier
        : '"' + identifier.replace("\"", "\"\"") + '"';
  }
}
