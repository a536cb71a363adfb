package org.pgonce.internal.text;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.IntPredicate;
import java.util.stream.Collectors;

/**
 * A part of an SQL string, as PostgreSQL's own scanner reads it with standard_conforming_strings =
 * on, its default; but a text that goes on behind a line break is two. All parts together are the
 * string. What is not closed goes to the string's end.
 *
 * @param text as it is written, with its quotes
 */
public record SqlToken(Kind kind, String text) {

  public enum Kind {
    /** A keyword or a name without quotes; also a name with Unicode escapes, U&"…". */
    WORD,
    /** A name in double quotes. */
    IDENTIFIER,
    /** A text in single quotes: a quote in it is doubled. */
    TEXT,
    /** The same where a backslash escapes: behind an E. */
    ESCAPED,
    DOLLAR_QUOTED,
    COMMENT,
    SPACE,
    /** One character of anything else. */
    OTHER
  }

  public static List<SqlToken> of(String sql) {
    var tokens = new ArrayList<SqlToken>();
    for (var at = 0; at < sql.length(); ) {
      var kind = kindAt(sql, at);
      var end = end(sql, at, kind);
      tokens.add(new SqlToken(kind, sql.substring(at, end)));
      at = end;
    }
    return tokens;
  }

  /**
   * The tokens of each statement but comments and white space; empty ones are left out. They end at
   * each semicolon, also in the body of a routine: {@code BEGIN ATOMIC …; END}.
   */
  public static List<List<SqlToken>> statements(String sql) {
    var statements = new ArrayList<List<SqlToken>>();
    var statement = new ArrayList<SqlToken>();
    for (var token : meaningful(sql)) {
      if (token.is(";")) {
        statements.add(statement);
        statement = new ArrayList<>();
      } else {
        statement.add(token);
      }
    }
    statements.add(statement);
    statements.removeIf(List::isEmpty);
    return statements;
  }

  /** The same statement, where the tokens of each text stand in its place. */
  public static List<SqlToken> withTexts(List<SqlToken> statement) {
    return statement.stream()
        .flatMap(token -> (token.isText() ? meaningful(token.content()) : List.of(token)).stream())
        .toList();
  }

  private static List<SqlToken> meaningful(String sql) {
    return of(sql).stream()
        .filter(token -> token.kind() != Kind.COMMENT && token.kind() != Kind.SPACE)
        .toList();
  }

  /**
   * The words of a statement in lower case, its quoted identifiers with their quotes, and its dots,
   * by which {@code SET LOCAL x} and {@code SET local.x} differ; with a space between them.
   */
  public static String words(List<SqlToken> statement) {
    return statement.stream()
        .filter(
            token -> token.kind() == Kind.WORD || token.kind() == Kind.IDENTIFIER || token.is("."))
        .map(
            token ->
                token.kind() == Kind.WORD ? token.text().toLowerCase(Locale.ROOT) : token.text())
        .collect(Collectors.joining(" "));
  }

  /** Whether it is this word or character, without quotes; words in any case. */
  public boolean is(String word) {
    return text.equalsIgnoreCase(word);
  }

  /** Whether it is a text, of whichever form. */
  private boolean isText() {
    return kind == Kind.TEXT || kind == Kind.ESCAPED || kind == Kind.DOLLAR_QUOTED;
  }

  /** What is between the quotes, as it is written. */
  public String content() {
    return switch (kind) {
      case IDENTIFIER -> between(1, 1);
      case TEXT, ESCAPED -> between(text.indexOf('\'') + 1, 1);
      case DOLLAR_QUOTED -> between(text.indexOf('$', 1) + 1, text.indexOf('$', 1) + 1);
      case WORD, COMMENT, SPACE, OTHER -> text;
    };
  }

  private String between(int start, int atEnd) {
    return text.substring(start, Math.max(start, text.length() - atEnd));
  }

  private static Kind kindAt(String sql, int at) {
    var c = sql.charAt(at);
    if (isWordStart(c)) {
      return (c == 'E' || c == 'e') && sql.startsWith("'", at + 1) ? Kind.ESCAPED : Kind.WORD;
    }
    return switch (c) {
      case '\'' -> Kind.TEXT;
      case '"' -> Kind.IDENTIFIER;
      case '$' -> dollarTag(sql, at).isEmpty() ? Kind.OTHER : Kind.DOLLAR_QUOTED;
      case '-' -> sql.startsWith("--", at) ? Kind.COMMENT : Kind.OTHER;
      case '/' -> sql.startsWith("/*", at) ? Kind.COMMENT : Kind.OTHER;
      default -> isSpace(c) ? Kind.SPACE : Kind.OTHER;
    };
  }

  private static int end(String sql, int at, Kind kind) {
    return switch (kind) {
      case WORD -> endOfWord(sql, at);
      case IDENTIFIER -> endOfQuoted(sql, at, '"', false);
      case TEXT -> endOfQuoted(sql, at, '\'', false);
      case ESCAPED -> endOfQuoted(sql, at + 1, '\'', true);
      case DOLLAR_QUOTED -> {
        var tag = dollarTag(sql, at);
        var close = sql.indexOf(tag, at + tag.length());
        yield close < 0 ? sql.length() : close + tag.length();
      }
      case COMMENT -> sql.charAt(at) == '-' ? endOfLine(sql, at) : endOfBlock(sql, at);
      case SPACE -> endOf(sql, at, SqlToken::isSpace);
      case OTHER -> at + 1;
    };
  }

  private static int endOf(String sql, int from, IntPredicate part) {
    var at = from;
    while (at < sql.length() && part.test(sql.charAt(at))) {
      at++;
    }
    return at;
  }

  private static int endOfWord(String sql, int at) {
    var end = endOf(sql, at, SqlToken::isWordPart);
    var isU = end == at + 1 && (sql.charAt(at) == 'U' || sql.charAt(at) == 'u');
    return isU && sql.startsWith("&\"", end) ? endOfQuoted(sql, end + 1, '"', false) : end;
  }

  private static int endOfQuoted(String sql, int open, char quote, boolean backslashes) {
    for (var at = open + 1; at < sql.length(); at++) {
      var c = sql.charAt(at);
      if (backslashes && c == '\\') {
        at++;
      } else if (c == quote) {
        if (at + 1 == sql.length() || sql.charAt(at + 1) != quote) {
          return at + 1;
        }
        at++;
      }
    }
    return sql.length();
  }

  private static int endOfLine(String sql, int from) {
    return endOf(sql, from, c -> c != '\n' && c != '\r');
  }

  private static int endOfBlock(String sql, int from) {
    var depth = 0;
    for (var at = from; at < sql.length(); at++) {
      if (sql.startsWith("/*", at)) {
        depth++;
        at++;
      } else if (sql.startsWith("*/", at)) {
        depth--;
        at++;
        if (depth == 0) {
          return at + 1;
        }
      }
    }
    return sql.length();
  }

  /** The opening tag of a dollar quote, or an empty string: a parameter such as $1. */
  private static String dollarTag(String sql, int at) {
    var end = at + 1;
    while (end < sql.length()
        && (isWordStart(sql.charAt(end)) || (end > at + 1 && isDigit(sql.charAt(end))))) {
      end++;
    }
    return sql.startsWith("$", end) ? sql.substring(at, end + 1) : "";
  }

  private static boolean isSpace(int c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
  }

  private static boolean isDigit(int c) {
    return c >= '0' && c <= '9';
  }

  private static boolean isWordStart(int c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c >= 0x80;
  }

  private static boolean isWordPart(int c) {
    return isWordStart(c) || isDigit(c) || c == '$';
  }
}
