package org.pgonce.internal.deliver;

import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Which SQL a handler may run: all but what ends its transaction or changes the session for longer
 * than the transaction. It reads text only: what a function does inside is found by {@link
 * SessionState}.
 *
 * @param refusal the first thing in the string that is refused, or null if there is none
 * @param keepsSetting whether the string calls set_config for longer than the transaction, or may,
 *     on a setting that {@link SessionState} does not set back
 */
record HandlerSql(@Nullable Refusal refusal, boolean keepsSetting) {

  private static final HandlerSql HARMLESS = new HandlerSql(null, false);
  private static final HandlerSql KEEPS_SETTING = new HandlerSql(null, true);

  private static final Pattern SET_CONFIG = Pattern.compile("(?i)set_config");
  private static final Pattern LITERAL = Pattern.compile("(?i)\\s*'([^']*)'\\s*");
  private static final Pattern TRUE = Pattern.compile("(?i)\\s*(is_local\\s*(=>|:=)\\s*)?true\\s*");

  // Context and depth are pgonce's own: it sets them for each notification.
  private static final Pattern SETS_OTHER =
      Pattern.compile(
          "set_config\"?\\s*\\((?!\\s*'pgonce\\.(context|depth)')", Pattern.CASE_INSENSITIVE);
  private static final Pattern SET_IN_BLOCK =
      Pattern.compile("\\bset\\s+(local|constraints)\\b", Pattern.CASE_INSENSITIVE);

  static HandlerSql read(String sql) {
    if (!isOneHarmlessStatement(sql)) {
      for (List<String> words : SqlStatements.leadingWords(sql)) {
        Refusal refusal = refusal(words);
        if (refusal != null) {
          return new HandlerSql(refusal, false);
        }
      }
    }
    return keepsSetting(sql) ? KEEPS_SETTING : HARMLESS;
  }

  private static boolean keepsSetting(String sql) {
    var call = SET_CONFIG.matcher(sql);
    while (call.find()) {
      if (!endsOrIsSetBack(sql, call.end())) {
        return true;
      }
    }
    return false;
  }

  /** Reads the arguments of one call. What it cannot read, as a parameter, counts as kept. */
  private static boolean endsOrIsSetBack(String sql, int from) {
    var depth = 0;
    var argument = from;
    for (var at = from; at < sql.length(); at++) {
      switch (sql.charAt(at)) {
        case '\'' -> {
          at = sql.indexOf('\'', at + 1);
          if (at < 0) {
            return false;
          }
        }
        case '(' -> {
          if (depth++ == 0) {
            argument = at + 1;
          }
        }
        case ',' -> {
          if (depth == 1) {
            var name = LITERAL.matcher(sql.substring(argument, at));
            if (name.matches() && SessionState.isSetBack(name.group(1))) {
              return true;
            }
            argument = at + 1;
          }
        }
        case ')' -> {
          if (--depth == 0) {
            return TRUE.matcher(sql.substring(argument, at)).matches();
          }
        }
        default -> {}
      }
    }
    return false;
  }

  /**
   * Whether the string changes something for the rest of the transaction that other handlers in it
   * would meet: by SET LOCAL, SET CONSTRAINTS or set_config(), also in a DO block.
   */
  static boolean changesSettings(String sql) {
    if (SETS_OTHER.matcher(sql).find()) {
      return true;
    }
    return !isOneHarmlessStatement(sql)
        && SqlStatements.leadingWords(sql).stream()
            .anyMatch(
                words ->
                    words.get(0).equals("set")
                        || (words.get(0).equals("do") && SET_IN_BLOCK.matcher(sql).find()));
  }

  /** Spares nearly all strings the scanner: no second statement, and a first word known well. */
  private static boolean isOneHarmlessStatement(String sql) {
    int semicolon = sql.indexOf(';');
    if (semicolon >= 0 && !sql.substring(semicolon + 1).isBlank()) {
      return false;
    }
    int start = 0;
    while (start < sql.length() && sql.charAt(start) <= ' ') {
      start++;
    }
    int end = start;
    while (end < sql.length()
        && (sql.charAt(end) | 0x20) >= 'a'
        && (sql.charAt(end) | 0x20) <= 'z') {
      end++;
    }
    return switch (sql.substring(start, end).toLowerCase(Locale.ROOT)) {
      case "select", "insert", "update", "delete", "with", "merge", "values" -> true;
      default -> false;
    };
  }

  private static @Nullable Refusal refusal(List<String> words) {
    String what = words.get(0).toUpperCase(Locale.ROOT);
    return switch (words.get(0)) {
      case "commit", "end", "abort" -> Refusal.ofTransactionEnd(what);
      case "begin", "start" ->
          new Refusal(
              what,
              "the handler already runs in pgonce's transaction, which PostgreSQL cannot nest",
              "leave it out; for a part that can be undone use SAVEPOINT",
              false);
      case "prepare" ->
          word(words, 1).equals("transaction")
              ? Refusal.ofTransactionEnd("PREPARE TRANSACTION")
              : Refusal.ofSessionChange(what, "use a java.sql.PreparedStatement");
      case "rollback" -> ofRollback(words);
      case "savepoint" -> ofSavepoint(what, word(words, 1));
      case "release" -> ofSavepoint(what, word(words, word(words, 1).equals("savepoint") ? 2 : 1));
      case "set" -> ofSet(words);
      case "reset" -> Refusal.ofSessionChange(what, "use SET LOCAL … TO DEFAULT");
      case "discard", "deallocate" ->
          Refusal.ofSessionChange(what, "leave it out; pgonce cleans up after the handler");
      case "listen", "unlisten" ->
          Refusal.ofSessionChange(what, "let pgonce listen, or use a connection of your own");
      case "declare" ->
          Collections.indexOfSubList(words, List.of("cursor", "with", "hold")) > 0
              ? Refusal.ofSessionChange("DECLARE … WITH HOLD", "leave WITH HOLD out")
              : null;
      default -> null;
    };
  }

  private static @Nullable Refusal ofRollback(List<String> words) {
    int to = word(words, 1).equals("work") || word(words, 1).equals("transaction") ? 2 : 1;
    if (!word(words, to).equals("to")) {
      return Refusal.ofTransactionEnd("ROLLBACK");
    }
    return ofSavepoint(
        "ROLLBACK TO", word(words, word(words, to + 1).equals("savepoint") ? to + 2 : to + 1));
  }

  private static @Nullable Refusal ofSavepoint(String what, String name) {
    // A name in Unicode escapes is not decoded here; nobody needs one for a savepoint.
    return HandlerScope.isOwnSavepoint(name) || name.startsWith("u&")
        ? Refusal.ofOwnSavepoint(what)
        : null;
  }

  private static @Nullable Refusal ofSet(List<String> words) {
    String scope = word(words, 1);
    if (scope.equals("constraints")) {
      return null;
    }
    if (!scope.equals("local") || word(words, 2).equals(".")) {
      return Refusal.ofSessionChange(
          "SET without LOCAL", "use SET LOCAL, which ends with the transaction");
    }
    String name = word(words, 2).replace("\"", "");
    if (name.startsWith("transaction")) {
      return new Refusal(
          "SET LOCAL " + name.toUpperCase(Locale.ROOT),
          "pgonce needs its transaction READ WRITE at READ COMMITTED to settle the notification",
          "leave it out",
          false);
    }
    return name.equals("session")
        ? Refusal.ofSessionChange("SET LOCAL SESSION", "use SET LOCAL ROLE")
        : null;
  }

  private static String word(List<String> words, int index) {
    return index < words.size() ? words.get(index) : "";
  }
}
