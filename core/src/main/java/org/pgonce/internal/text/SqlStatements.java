package org.pgonce.internal.text;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * Cuts an SQL string into its statements, at each semicolon: those in the body of a routine, {@code
 * BEGIN ATOMIC …; END}, as well.
 */
public final class SqlStatements {

  private SqlStatements() {}

  /** The tokens of each statement but comments and white space; empty ones are left out. */
  public static List<List<SqlToken>> of(String sql) {
    var statements = new ArrayList<List<SqlToken>>();
    var statement = new ArrayList<SqlToken>();
    for (var token : SqlToken.of(sql)) {
      if (token.is(";")) {
        statements.add(statement);
        statement = new ArrayList<>();
      } else if (token.kind() != SqlToken.Kind.COMMENT && token.kind() != SqlToken.Kind.SPACE) {
        statement.add(token);
      }
    }
    statements.add(statement);
    statements.removeIf(List::isEmpty);
    return statements;
  }

  /**
   * The words of a statement in lower case, its quoted identifiers with their quotes, and its dots,
   * by which {@code SET LOCAL x} and {@code SET local.x} differ.
   */
  public static List<String> words(List<SqlToken> statement) {
    return statement.stream()
        .filter(
            token -> token.isWord() || token.kind() == SqlToken.Kind.IDENTIFIER || token.is("."))
        .map(token -> token.isWord() ? token.text().toLowerCase(Locale.ROOT) : token.text())
        .toList();
  }
}
