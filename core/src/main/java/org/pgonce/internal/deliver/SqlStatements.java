package org.pgonce.internal.deliver;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * Cuts an SQL string into its statements the way PostgreSQL's own scanner does, and keeps the first
 * words of each: enough to tell what kind of statement it is, wherever in the string it hides.
 *
 * <p>A word is lower-cased; a quoted identifier keeps its quotes, so that it is never taken for a
 * keyword. Dots are kept as words, since {@code SET LOCAL x} and {@code SET local.x} differ by
 * them. Anything before the first word, such as the brace of JDBC's <code>{call …}</code>, is
 * skipped.
 */
final class SqlStatements {

  // DECLARE … CURSOR WITH HOLD says what it is with its eleventh word at the latest.
  private static final int WORDS_KEPT = 12;

  private final String sql;
  private final boolean backslashEscapes;
  private final List<List<String>> statements = new ArrayList<>(4);
  private List<String> words = new ArrayList<>(4);
  private String previous = "";
  private boolean backslashBeforeQuote;
  private boolean createsRoutine;
  private int parentheses;
  private int blocks;
  private int at;

  private SqlStatements(String sql, boolean backslashEscapes) {
    this.sql = sql;
    this.backslashEscapes = backslashEscapes;
  }

  /**
   * The first words of each statement, in order; statements without a word are left out. Where the
   * string reads differently under {@code standard_conforming_strings = off}, the statements of
   * that reading follow: the setting can change after the check, so both readings count.
   */
  static List<List<String>> leadingWords(String sql) {
    var standard = new SqlStatements(sql, false);
    standard.scan();
    if (standard.backslashBeforeQuote) {
      var escaped = new SqlStatements(sql, true);
      escaped.scan();
      standard.statements.addAll(escaped.statements);
    }
    return standard.statements;
  }

  private void scan() {
    while (at < sql.length()) {
      char c = sql.charAt(at);
      if (isIdentifierStart(c)) {
        identifier();
      } else if (c == '\'') {
        literal(backslashEscapes);
      } else if (c == '"') {
        word(quotedIdentifier());
      } else if (c == '$') {
        dollarQuote();
      } else if (sql.startsWith("--", at)) {
        lineComment();
      } else if (sql.startsWith("/*", at)) {
        blockComment();
      } else {
        punctuation(c);
      }
    }
    endStatement();
  }

  private void punctuation(char c) {
    at++;
    if (c == ';' && blocks == 0) {
      endStatement();
    } else if (c == '(') {
      parentheses++;
    } else if (c == ')') {
      parentheses--;
    } else if (c == '.') {
      word(".");
    }
  }

  private void identifier() {
    int start = at;
    while (at < sql.length() && isIdentifierPart(sql.charAt(at))) {
      at++;
    }
    String name = sql.substring(start, at).toLowerCase(Locale.ROOT);
    if (name.equals("e") && at < sql.length() && sql.charAt(at) == '\'') {
      literal(true);
    } else if (name.equals("u") && sql.startsWith("&\"", at)) {
      at++;
      word("u&" + quotedIdentifier());
    } else {
      word(name);
    }
  }

  private String quotedIdentifier() {
    int start = at++;
    while (at < sql.length() && sql.charAt(at) != '"') {
      at++;
    }
    at = Math.min(at + 1, sql.length());
    return sql.substring(start, at);
  }

  private void literal(boolean escapes) {
    do {
      at++;
      boolean open = true;
      while (open && at < sql.length()) {
        char c = sql.charAt(at++);
        if (c == '\\' && escapes) {
          at++;
        } else if (c == '\'') {
          backslashBeforeQuote |= !escapes && sql.charAt(at - 2) == '\\';
          open = false;
        }
      }
    } while (continued(escapes));
    previous = "'";
  }

  /**
   * Moves to the quote that goes on with the literal just read, if there is one: a doubled quote,
   * or, since it inherits the meaning of a backslash, the next part of an escape string, which
   * starts after white space with a line break in it.
   */
  private boolean continued(boolean escapes) {
    if (at < sql.length() && sql.charAt(at) == '\'') {
      return true;
    }
    int quote = at;
    boolean lineBreak = false;
    while (escapes && quote < sql.length()) {
      char c = sql.charAt(quote);
      if (c == '\'' && lineBreak) {
        at = quote;
        return true;
      } else if (sql.startsWith("--", quote)) {
        quote = endOfLine(quote);
      } else if (isSpace(c)) {
        lineBreak |= c == '\n' || c == '\r';
        quote++;
      } else {
        return false;
      }
    }
    return false;
  }

  private void dollarQuote() {
    int tagEnd = at + 1;
    while (tagEnd < sql.length()
        && (tagEnd == at + 1
            ? isIdentifierStart(sql.charAt(tagEnd))
            : isIdentifierPart(sql.charAt(tagEnd)) && sql.charAt(tagEnd) != '$')) {
      tagEnd++;
    }
    if (tagEnd == sql.length() || sql.charAt(tagEnd) != '$') {
      at++; // a parameter such as $1
      return;
    }
    String delimiter = sql.substring(at, tagEnd + 1);
    int close = sql.indexOf(delimiter, tagEnd + 1);
    at = close < 0 ? sql.length() : close + delimiter.length();
    previous = "'";
  }

  private void lineComment() {
    at = endOfLine(at);
  }

  private int endOfLine(int from) {
    int end = from;
    while (end < sql.length() && sql.charAt(end) != '\n' && sql.charAt(end) != '\r') {
      end++;
    }
    return end;
  }

  private void blockComment() {
    int depth = 0;
    do {
      if (sql.startsWith("/*", at)) {
        depth++;
        at += 2;
      } else if (sql.startsWith("*/", at)) {
        depth--;
        at += 2;
      } else {
        at++;
      }
    } while (depth > 0 && at < sql.length());
  }

  private void word(String word) {
    if (words.size() < WORDS_KEPT) {
      words.add(word);
      createsRoutine |= isCreateRoutine();
    }
    if (createsRoutine) {
      trackBody(word);
    }
    previous = word;
  }

  private boolean isCreateRoutine() {
    int last = words.size() - 1;
    return words.get(0).equals("create")
        && (last == 1 || (last == 3 && words.get(1).equals("or")))
        && (words.get(last).equals("function") || words.get(last).equals("procedure"));
  }

  /** The semicolons of a body, CREATE FUNCTION … BEGIN ATOMIC …; …; END, end no statement. */
  private void trackBody(String word) {
    if (blocks == 0) {
      if (word.equals("atomic") && previous.equals("begin") && parentheses == 0) {
        blocks = 1;
      }
    } else if (!previous.equals("as") && !previous.equals(".")) {
      if (word.equals("case")) {
        blocks++;
      } else if (word.equals("end")) {
        blocks--;
      }
    }
  }

  private void endStatement() {
    if (!words.isEmpty()) {
      statements.add(words);
      words = new ArrayList<>(4);
    }
    previous = "";
    createsRoutine = false;
    parentheses = 0;
    blocks = 0;
  }

  private static boolean isSpace(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
  }

  private static boolean isIdentifierStart(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c >= 0x80;
  }

  private static boolean isIdentifierPart(char c) {
    return isIdentifierStart(c) || (c >= '0' && c <= '9') || c == '$';
  }
}
