package org.pgonce.internal.text;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** Cuts an SQL string into its statements the way PostgreSQL's own scanner does. */
public final class SqlStatements {

  private final List<List<SqlToken>> statements = new ArrayList<>();
  private List<SqlToken> statement = new ArrayList<>();
  private int parentheses;
  private int blocks;

  private SqlStatements() {}

  /** The tokens of each statement but comments and white space; empty ones are left out. */
  public static List<List<SqlToken>> of(String sql) {
    var cut = new SqlStatements();
    cut.add(SqlToken.of(sql));
    return cut.statements;
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

  private void add(List<SqlToken> tokens) {
    for (var token : tokens) {
      if (token.is(";") && blocks == 0) {
        end();
      } else if (token.kind() != SqlToken.Kind.COMMENT && token.kind() != SqlToken.Kind.SPACE) {
        parentheses += token.is("(") ? 1 : token.is(")") ? -1 : 0;
        trackBody(token);
        statement.add(token);
      }
    }
    end();
  }

  /** The semicolons of a body, CREATE FUNCTION … BEGIN ATOMIC …; …; END, end no statement. */
  private void trackBody(SqlToken token) {
    if (blocks == 0) {
      if (token.is("atomic") && last("begin") && parentheses == 0 && createsRoutine()) {
        blocks = 1;
      }
    } else if (!last("as") && !last(".")) {
      blocks += token.is("case") ? 1 : token.is("end") ? -1 : 0;
    }
  }

  private boolean last(String word) {
    return !statement.isEmpty() && statement.get(statement.size() - 1).is(word);
  }

  private boolean createsRoutine() {
    var kind = statement.size() > 3 && statement.get(1).is("or") ? 3 : 1;
    return statement.get(0).is("create")
        && (statement.get(kind).is("function") || statement.get(kind).is("procedure"));
  }

  private void end() {
    if (!statement.isEmpty()) {
      statements.add(statement);
      statement = new ArrayList<>();
    }
    parentheses = 0;
    blocks = 0;
  }
}
