package org.pgonce.triggers.internal.migration;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;

/**
 * A part of a script, as PostgreSQL reads it. All parts together are the script.
 *
 * @param text as it is written, with its quotes
 */
record SqlToken(Kind kind, String text) {

  enum Kind {
    /** A text in single quotes: a quote in it is doubled. */
    TEXT,
    /** The same behind an E, where a backslash escapes. */
    ESCAPED,
    IDENTIFIER,
    DOLLAR_QUOTED,
    COMMENT,
    OTHER
  }

  private static final Pattern DOLLAR_QUOTE =
      Pattern.compile("\\$(?:[A-Za-z_\\x{80}-\\x{10FFFF}][\\w\\x{80}-\\x{10FFFF}]*)?\\$");

  /** What is not closed goes to the script's end. */
  static List<SqlToken> of(String script) {
    var tokens = new ArrayList<SqlToken>();
    var plain = 0;
    var at = 0;
    while (at < script.length()) {
      var kind = kindAt(script, at);
      if (kind == Kind.OTHER) {
        at++;
        continue;
      }
      if (plain < at) {
        tokens.add(new SqlToken(Kind.OTHER, script.substring(plain, at)));
      }
      var end = end(script, at, kind);
      tokens.add(new SqlToken(kind, script.substring(at, end)));
      at = end;
      plain = end;
    }
    if (plain < at) {
      tokens.add(new SqlToken(Kind.OTHER, script.substring(plain)));
    }
    return tokens;
  }

  private static Kind kindAt(String script, int at) {
    var word = at > 0 && isOfWord(script.charAt(at - 1));
    return switch (script.charAt(at)) {
      case '\'' -> Kind.TEXT;
      case '"' -> Kind.IDENTIFIER;
      case 'E', 'e' -> !word && script.startsWith("'", at + 1) ? Kind.ESCAPED : Kind.OTHER;
      case '-' -> script.startsWith("--", at) ? Kind.COMMENT : Kind.OTHER;
      case '/' -> script.startsWith("/*", at) ? Kind.COMMENT : Kind.OTHER;
      case '$' ->
          !word && DOLLAR_QUOTE.matcher(script).region(at, script.length()).lookingAt()
              ? Kind.DOLLAR_QUOTED
              : Kind.OTHER;
      default -> Kind.OTHER;
    };
  }

  private static boolean isOfWord(char c) {
    return c == '_' || c == '$' || c >= 0x80 || Character.isLetterOrDigit(c);
  }

  private static int end(String script, int at, Kind kind) {
    return switch (kind) {
      case TEXT -> endOfQuoted(script, at + 1, '\'', false);
      case ESCAPED -> endOfQuoted(script, at + 2, '\'', true);
      case IDENTIFIER -> endOfQuoted(script, at + 1, '"', false);
      case DOLLAR_QUOTED -> endOfDollarQuoted(script, at);
      case COMMENT ->
          script.startsWith("--", at)
              ? orEnd(script, script.indexOf('\n', at))
              : endOfBlock(script, at);
      case OTHER -> at + 1;
    };
  }

  private static int endOfQuoted(String script, int from, char quote, boolean escapes) {
    for (var at = from; at < script.length(); at++) {
      var c = script.charAt(at);
      if (escapes && c == '\\') {
        at++;
      } else if (c == quote) {
        if (at + 1 < script.length() && script.charAt(at + 1) == quote) {
          at++;
        } else {
          return at + 1;
        }
      }
    }
    return script.length();
  }

  private static int endOfDollarQuoted(String script, int at) {
    var tag = script.substring(at, script.indexOf('$', at + 1) + 1);
    var close = script.indexOf(tag, at + tag.length());
    return close < 0 ? script.length() : close + tag.length();
  }

  private static int endOfBlock(String script, int from) {
    var depth = 0;
    for (var at = from; at < script.length() - 1; at++) {
      if (script.startsWith("/*", at)) {
        depth++;
        at++;
      } else if (script.startsWith("*/", at)) {
        depth--;
        at++;
        if (depth == 0) {
          return at + 1;
        }
      }
    }
    return script.length();
  }

  private static int orEnd(String script, int index) {
    return index < 0 ? script.length() : index;
  }

  /** What is between the quotes, as it is written. */
  String content() {
    return switch (kind) {
      case TEXT, IDENTIFIER -> text.substring(1, text.length() - 1);
      case ESCAPED -> text.substring(2, text.length() - 1);
      case DOLLAR_QUOTED -> {
        var tag = text.indexOf('$', 1) + 1;
        yield text.substring(tag, text.length() - tag);
      }
      case COMMENT, OTHER -> text;
    };
  }
}
