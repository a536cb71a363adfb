package org.pgonce.internal.handle;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.claim.HandlerSavepoint;
import org.pgonce.internal.jdbc.SessionState;
import org.pgonce.internal.text.SqlStatements;
import org.pgonce.internal.text.SqlToken;

/**
 * Which SQL a handler may run: all but what ends its transaction or changes the session for longer
 * than the transaction. It reads text only: what a function does inside is found by {@link
 * SessionState}.
 *
 * @param refusal the first thing in the string that is refused, or null if there is none
 * @param keepsSetting whether the string calls set_config for longer than the transaction, or may,
 *     on a setting that {@link SessionState} does not set back
 * @param changesSettings whether it changes something for the rest of the transaction that other
 *     handlers in it would meet: by SET LOCAL, SET CONSTRAINTS or set_config(), also in a DO block
 * @param copies whether it is a COPY from STDIN or to STDOUT
 */
record HandlerSql(
    @Nullable Refusal refusal, boolean keepsSetting, boolean changesSettings, boolean copies) {

  // Handlers run the same texts again and again. About 2 MB at most.
  private static final Map<String, HandlerSql> KNOWN = new ConcurrentHashMap<>();
  private static final int MOST_KNOWN = 1_000;
  private static final int LONGEST_KNOWN = 1_000;

  private static final Pattern SET_CONFIG = Pattern.compile("set_config", Pattern.CASE_INSENSITIVE);
  private static final Set<String> TRUE = Set.of("true", "is_local=>true", "is_local:=true");
  // pgonce's own: it sets them for each notification.
  private static final Set<String> OWN = Set.of("'pgonce.context'", "'pgonce.depth'");

  static HandlerSql read(String sql) {
    var known = KNOWN.get(sql);
    if (known == null) {
      known = scan(sql);
      if (KNOWN.size() >= MOST_KNOWN) {
        KNOWN.clear();
      }
      if (sql.length() <= LONGEST_KNOWN) {
        KNOWN.put(sql, known);
      }
    }
    return known;
  }

  private static HandlerSql scan(String sql) {
    var statements = SqlStatements.of(sql);
    var copies = false;
    for (var statement : statements) {
      var words = SqlStatements.words(statement);
      copies |=
          word(words, 0).equals("copy") && (words.contains("stdin") || words.contains("stdout"));
      var refusal = words.isEmpty() ? null : refusal(words);
      if (refusal != null) {
        return new HandlerSql(refusal, false, false, false);
      }
    }
    var calls = new ArrayList<List<String>>();
    statements.forEach(statement -> addCalls(statement, calls));
    return new HandlerSql(
        null,
        calls.stream().anyMatch(HandlerSql::isKept),
        !calls.stream().allMatch(call -> !call.isEmpty() && OWN.contains(call.get(0)))
            || statements.stream().anyMatch(HandlerSql::isSet),
        copies);
  }

  /** Adds the arguments of each call of set_config, within texts such as that of DO as well. */
  private static void addCalls(List<SqlToken> tokens, List<List<String>> calls) {
    for (var i = 0; i < tokens.size(); i++) {
      var token = tokens.get(i);
      if (token.is("set_config") || token.is("\"set_config\"")) {
        calls.add(arguments(tokens.subList(i + 1, tokens.size())));
      } else if (token.isText() && SET_CONFIG.matcher(token.text()).find()) {
        SqlStatements.of(token.content()).forEach(inner -> addCalls(inner, calls));
      }
    }
  }

  /** Without white space; empty if they cannot be read. */
  private static List<String> arguments(List<SqlToken> behindName) {
    var arguments = new ArrayList<String>();
    var argument = new StringBuilder();
    var depth = 0;
    for (var token : behindName) {
      var isEnd = token.is(")") && --depth == 0;
      if (isEnd || (token.is(",") && depth == 1)) {
        arguments.add(argument.toString());
        argument.setLength(0);
      } else if (depth > 0) {
        argument.append(token.text());
      }
      if (isEnd) {
        return arguments;
      } else if (token.is("(")) {
        depth++;
      } else if (depth <= 0) {
        break;
      }
    }
    return List.of();
  }

  /** What cannot be read, such as a parameter, counts as kept. */
  private static boolean isKept(List<String> arguments) {
    if (arguments.isEmpty()) {
      return true;
    }
    var name = arguments.get(0);
    var isLocal = arguments.get(arguments.size() - 1).toLowerCase(Locale.ROOT);
    return !TRUE.contains(isLocal)
        && !(name.startsWith("'") && SessionState.isSetBack(name.substring(1, name.length() - 1)));
  }

  private static boolean isSet(List<SqlToken> statement) {
    var first = statement.get(0);
    return first.is("set")
        || (first.is("do")
            && statement.stream()
                .filter(SqlToken::isText)
                .flatMap(body -> SqlStatements.of(body.content()).stream())
                .anyMatch(HandlerSql::setsWithin));
  }

  private static boolean setsWithin(List<SqlToken> statement) {
    for (var i = 1; i < statement.size(); i++) {
      var scope = statement.get(i);
      if (statement.get(i - 1).is("set") && (scope.is("local") || scope.is("constraints"))) {
        return true;
      }
    }
    return false;
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
    return HandlerSavepoint.isName(name) || name.startsWith("u&")
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
