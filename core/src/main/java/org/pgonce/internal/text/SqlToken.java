package org.pgonce.internal.text;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A part of an SQL string, as PostgreSQL's own scanner reads it with standard_conforming_strings =
 * on, its default; but a text that goes on behind a line break is two. All parts together are the
 * string. What is not closed goes to the string's end.
 *
 * @param text as it is written, with its quotes
 */
public record SqlToken(Kind kind, String text) {

  private static final String LETTERS = "A-Za-z_\\x{80}-\\x{10FFFF}";
  private static final String QUOTED_NAME = "\"(?:[^\"]++|\"\")*+\"?+";
  private static final Pattern BLOCK_MARK = Pattern.compile("/\\*|\\*/");

  /** Possessive, so that long texts need no stack. */
  public enum Kind {
    /** A text where a backslash escapes: E'…'. */
    ESCAPED("[Ee]'(?:[^'\\\\]++|''|\\\\.)*+['\\\\]?+"),
    /** A text in single quotes: a quote in it is doubled. */
    TEXT("'(?:[^']++|'')*+'?+"),
    /** A name in double quotes. */
    IDENTIFIER(QUOTED_NAME),
    DOLLAR_QUOTED("(\\$(?:[" + LETTERS + "][" + LETTERS + "0-9]*+)?+\\$).*?(?:\\1|\\z)"),
    /** A keyword or a name without quotes; also a name with Unicode escapes, {@code U&"…"}. */
    WORD("[Uu]&" + QUOTED_NAME + "|[" + LETTERS + "][" + LETTERS + "0-9$]*+"),
    /** To the end of the line; or the start of a block. */
    COMMENT("--[^\\n\\r]*+|/\\*"),
    SPACE("[ \\t-\\r]++"),
    /** One character of anything else. */
    OTHER(".");

    private final Pattern pattern;

    Kind(String pattern) {
      this.pattern = Pattern.compile(pattern, Pattern.DOTALL);
    }

    /** By its first characters. A dollar sign that begins no quote is {@link #OTHER} as well. */
    private static Kind at(int at, String sql) {
      var next = at + 1 < sql.length() ? sql.charAt(at + 1) : ' ';
      var first = sql.charAt(at);
      return switch (first) {
        case 'E', 'e' -> next == '\'' ? ESCAPED : WORD;
        case '\'' -> TEXT;
        case '"' -> IDENTIFIER;
        case '$' -> DOLLAR_QUOTED;
        case '-' -> next == '-' ? COMMENT : OTHER;
        case '/' -> next == '*' ? COMMENT : OTHER;
        case ' ', '\t', '\n', 0x0B, '\f', '\r' -> SPACE;
        default -> first == '_' || first >= 0x80 || Character.isLetter(first) ? WORD : OTHER;
      };
    }
  }

  public static List<SqlToken> of(String sql) {
    var tokens = new ArrayList<SqlToken>();
    var matcher = Kind.OTHER.pattern.matcher(sql);
    for (int at = 0, end; at < sql.length(); at = end) {
      var kind = Kind.at(at, sql);
      matcher.region(at, sql.length()).usePattern(kind.pattern);
      if (matcher.lookingAt()) {
        end = sql.startsWith("/*", at) ? endOfBlock(sql, at) : matcher.end();
      } else {
        kind = Kind.OTHER;
        end = at + 1;
      }
      tokens.add(new SqlToken(kind, sql.substring(at, end)));
    }
    return tokens;
  }

  /** Blocks nest. */
  private static int endOfBlock(String sql, int from) {
    var marks = BLOCK_MARK.matcher(sql).region(from, sql.length());
    for (var depth = 0; marks.find(); ) {
      depth += marks.group().equals("/*") ? 1 : -1;
      if (depth == 0) {
        return marks.end();
      }
    }
    return sql.length();
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
        .flatMap(
            token ->
                switch (token.kind()) {
                  case TEXT, ESCAPED, DOLLAR_QUOTED -> meaningful(token.content()).stream();
                  default -> Stream.of(token);
                })
        .toList();
  }

  /** Without comments and white space. */
  public static List<SqlToken> meaningful(String sql) {
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
}
