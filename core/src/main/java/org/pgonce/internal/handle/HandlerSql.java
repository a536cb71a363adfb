package org.pgonce.internal.handle;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.jdbc.SessionState;
import org.pgonce.internal.text.SqlStatements;
import org.pgonce.internal.text.SqlToken;

/**
 * What the text of a handler's SQL shows. It may run all but what ends its transaction or changes
 * the session for longer than that. What a function does inside is found by {@link SessionState}.
 *
 * @param refusal the first thing that is refused; null if there is none
 * @param keepsSetting whether it calls set_config for longer than the transaction, or may, on a
 *     setting that {@link SessionState} does not set back
 * @param changesSettings whether it changes something that other handlers of a batch would meet: by
 *     SET LOCAL, SET CONSTRAINTS or set_config(), also in a DO block
 */
record HandlerSql(@Nullable Refusal refusal, boolean keepsSetting, boolean changesSettings) {

  // Handlers run the same texts again and again. About 2 MB at most.
  private static final Map<String, HandlerSql> KNOWN = new ConcurrentHashMap<>();
  private static final int MOST_KNOWN = 1_000;
  private static final int LONGEST_KNOWN = 1_000;

  private static final List<Rule> RULES =
      List.of(
          new Rule(
              "(commit|end|abort|prepare transaction|rollback(?!( work| transaction)? to\\b))\\b",
              Refusal::ofTransactionEnd),
          // A name in Unicode escapes is not decoded here; nobody needs one for a savepoint.
          new Rule(
              "(savepoint|release( savepoint)?|rollback( work| transaction)? to( savepoint)?)"
                  + " (\"?pgonce_handler\"?( |$)|u&)",
              Refusal::ofOwnSavepoint),
          new Rule(
              "(begin|start)\\b",
              what ->
                  new Refusal(
                      what,
                      "the handler already runs in pgonce's transaction, which PostgreSQL cannot nest",
                      "leave it out; for a part that can be undone use SAVEPOINT",
                      false)),
          new Rule(
              "(copy) .*\\b(stdin|stdout)\\b",
              what ->
                  new Refusal(
                      what + " FROM STDIN or TO STDOUT",
                      "the drivers cannot run it as a statement, and while it is open every other call"
                          + " on the connection waits for its end",
                      Refusal.IN_PLACE_OF_COPY,
                      true)),
          changesSession("(prepare)\\b", "use a java.sql.PreparedStatement"),
          changesSession("(reset)\\b", "use SET LOCAL … TO DEFAULT"),
          changesSession(
              "(discard|deallocate)\\b", "leave it out; pgonce cleans up after the handler"),
          changesSession(
              "(listen|unlisten)\\b", "let pgonce listen, or use a connection of your own"),
          changesSession("(declare) .*\\bcursor with hold\\b", "leave WITH HOLD out"),
          new Rule(
              "set\\b(?! local (?!\\.)| constraints\\b)()",
              what ->
                  Refusal.ofSessionChange(
                      "SET without LOCAL", "use SET LOCAL, which ends with the transaction")),
          changesSession("(set local \"?session)\"?( |$)", "use SET LOCAL ROLE"),
          new Rule(
              "(set local \"?transaction)(?!_timeout)",
              what ->
                  new Refusal(
                      what,
                      "pgonce needs its transaction READ WRITE at READ COMMITTED to settle the"
                          + " notification",
                      "leave it out",
                      false)));

  private static final Pattern SETS_WITHIN = Pattern.compile("\\bset (local|constraints)\\b");
  private static final Pattern SET_CONFIG = Pattern.compile("set_config", Pattern.CASE_INSENSITIVE);
  private static final Set<String> TRUE = Set.of("true", "is_local=>true", "is_local:=true");
  // Set anew for each notification.
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
    var words = statements.stream().map(HandlerSql::words).toList();
    var refusal = words.stream().flatMap(HandlerSql::refusals).findFirst();
    if (refusal.isPresent()) {
      return new HandlerSql(refusal.get(), false, false);
    }
    var calls = new ArrayList<List<String>>();
    statements.forEach(statement -> addCalls(statement, calls));
    return new HandlerSql(
        null,
        calls.stream().anyMatch(HandlerSql::isKept),
        !calls.stream().allMatch(call -> !call.isEmpty() && OWN.contains(call.get(0)))
            || statements.stream().anyMatch(HandlerSql::isSet));
  }

  /** The words of a statement, with a space between them. */
  private static String words(List<SqlToken> statement) {
    return String.join(" ", SqlStatements.words(statement));
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
                .map(HandlerSql::words)
                .anyMatch(SETS_WITHIN.asPredicate()));
  }

  private static Stream<Refusal> refusals(String words) {
    return RULES.stream().map(rule -> rule.on(words)).flatMap(Optional::stream);
  }

  /**
   * What is refused.
   *
   * @param start how the words of the statement begin; its first group names it in messages
   */
  private record Rule(Pattern start, Function<String, Refusal> refusal) {

    Rule(String start, Function<String, Refusal> refusal) {
      this(Pattern.compile(start), refusal);
    }

    Optional<Refusal> on(String words) {
      var matcher = start.matcher(words);
      return matcher.lookingAt()
          ? Optional.of(refusal.apply(matcher.group(1).toUpperCase(Locale.ROOT)))
          : Optional.empty();
    }
  }

  private static Rule changesSession(String start, String instead) {
    return new Rule(start, what -> Refusal.ofSessionChange(what, instead));
  }
}
