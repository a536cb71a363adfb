package org.pgonce.internal.handle;

import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.jdbc.SessionState;
import org.pgonce.internal.text.SqlToken;

/**
 * What the text of a handler's SQL shows. It may run all but what ends its transaction or changes
 * the session for longer than that. What a function does inside is found by {@link SessionState}.
 *
 * @param what the first statement that is refused, in messages
 * @param refusal why it is refused; null if none is
 * @param keepsSetting whether it calls set_config without the constant true as the last argument,
 *     other than for what {@link SessionState} sets back
 * @param changesSettings whether it changes something that other handlers of a batch would meet: by
 *     SET LOCAL, SET CONSTRAINTS or set_config(), also in a DO block
 */
record HandlerSql(
    String what, @Nullable Refusal refusal, boolean keepsSetting, boolean changesSettings) {

  // Handlers run the same texts again and again. About 2 MB at most.
  private static final Map<String, HandlerSql> KNOWN = new ConcurrentHashMap<>();
  private static final int MOST_KNOWN = 1_000;
  private static final int LONGEST_KNOWN = 1_000;

  private static final List<Rule> RULES =
      List.of(
          new Rule(
              "(commit|end|abort|prepare transaction|rollback(?!( work| transaction)? to\\b))\\b",
              Refusal.TRANSACTION_END),
          // A name in Unicode escapes is not decoded here; nobody needs one for a savepoint.
          new Rule(
              "(savepoint|release( savepoint)?|rollback( work| transaction)? to( savepoint)?)"
                  + " (\"?pgonce_handler\"?( |$)|u&)",
              Refusal.OWN_SAVEPOINT),
          new Rule("(copy) .*\\b(stdin|stdout)\\b", Refusal.COPY),
          new Rule("(begin|start)\\b", Refusal.NESTED_TRANSACTION),
          new Rule("(set local \"?transaction)(?!_timeout)", Refusal.TRANSACTION_MODE),
          outlives("(set local \"?session)\"?( |$)", "use SET LOCAL ROLE"),
          outlives(
              "(set)\\b(?! local (?!\\.)| constraints\\b)",
              "use SET LOCAL, which ends with the transaction"),
          outlives("(reset)\\b", "use SET LOCAL … TO DEFAULT"),
          outlives("(prepare)\\b", "use a java.sql.PreparedStatement"),
          outlives("(discard|deallocate)\\b", "leave it out; pgonce cleans up after the handler"),
          outlives("(listen|unlisten)\\b", "let pgonce listen, or use a connection of your own"),
          outlives("(declare) .*\\bcursor with hold\\b", "leave WITH HOLD out"));

  private static final Pattern SETS_WITHIN = Pattern.compile("\\bset (local|constraints)\\b");
  // Set anew for each notification.
  private static final Set<String> OWN = Set.of("'pgonce.context'", "'pgonce.depth'");
  private static final List<String> SET_BACK =
      SessionState.NAMES.stream().map(name -> "'" + name + "'").toList();

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
    var statements = SqlToken.statements(sql);
    var refused = statements.stream().map(SqlToken::words).flatMap(HandlerSql::refused).findFirst();
    if (refused.isPresent()) {
      return refused.get();
    }
    var keepsSetting = false;
    var changesSettings = false;
    for (var statement : statements) {
      var isDo = statement.get(0).is("do");
      var tokens = isDo ? SqlToken.withTexts(statement) : statement;
      changesSettings |=
          statement.get(0).is("set")
              || (isDo && SETS_WITHIN.matcher(SqlToken.words(tokens)).find());
      for (var i = 0; i < tokens.size(); i++) {
        if (tokens.get(i).is("set_config") || tokens.get(i).is("\"set_config\"")) {
          var arguments = arguments(tokens.subList(i + 1, tokens.size()));
          keepsSetting |= !isLocal(arguments) && !isFirstOf(arguments, SET_BACK);
          changesSettings |= !isFirstOf(arguments, OWN);
        }
      }
    }
    return new HandlerSql("", null, keepsSetting, changesSettings);
  }

  /** What is between the parentheses; empty if they do not follow or do not close. */
  private static List<SqlToken> arguments(List<SqlToken> behindName) {
    var depth = 0;
    for (var i = 0; i < behindName.size(); i++) {
      depth += behindName.get(i).is("(") ? 1 : behindName.get(i).is(")") ? -1 : 0;
      if (depth == 0) {
        return behindName.subList(Math.min(1, i), i);
      }
    }
    return List.of();
  }

  private static boolean isFirstOf(List<SqlToken> arguments, Collection<String> names) {
    return !arguments.isEmpty() && names.stream().anyMatch(arguments.get(0)::is);
  }

  /** Whether the last argument is {@code true} or {@code is_local => true}. */
  private static boolean isLocal(List<SqlToken> arguments) {
    var last = arguments.size() - 1;
    return last > 1
        && arguments.get(last).is("true")
        && (arguments.get(last - 1).is(",")
            || (arguments.get(last - 1).is(">") && arguments.get(last - 2).is("=")));
  }

  private static Stream<HandlerSql> refused(String words) {
    return RULES.stream().map(rule -> rule.on(words)).flatMap(Optional::stream);
  }

  /**
   * @param start how the words of the statement begin; its first group names it in messages
   */
  private record Rule(Pattern start, Refusal refusal) {

    Rule(String start, Refusal refusal) {
      this(Pattern.compile(start), refusal);
    }

    Optional<HandlerSql> on(String words) {
      var matcher = start.matcher(words);
      return matcher.lookingAt()
          ? Optional.of(
              new HandlerSql(matcher.group(1).toUpperCase(Locale.ROOT), refusal, false, false))
          : Optional.empty();
    }
  }

  private static Rule outlives(String start, String instead) {
    return new Rule(start, Refusal.outlives(instead));
  }
}
