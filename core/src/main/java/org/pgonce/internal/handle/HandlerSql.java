package org.pgonce.internal.handle;

import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
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
          new Rule("(copy) .*\\b(stdin|stdout)\\b", Refusal.COPY),
          outlives("(set local \"?session)\"?( |$)", "use SET LOCAL ROLE"),
          outlives(
              "(set)\\b(?! local (?!\\.)| constraints\\b)",
              "use SET LOCAL, which ends with the transaction"),
          outlives("(reset)\\b", "use SET LOCAL … TO DEFAULT"),
          outlives("(prepare)\\b", "use a java.sql.PreparedStatement"),
          outlives("(discard|deallocate)\\b", "leave it out; pgonce cleans up after the handler"),
          outlives("(listen|unlisten)\\b", "let pgonce listen, or use a connection of your own"),
          outlives("(declare) .*\\bcursor with hold\\b", "leave WITH HOLD out"));

  private static final Pattern SETS = Pattern.compile("set\\b.*");
  private static final Pattern SETS_WITHIN = Pattern.compile(".*\\bset (local|constraints)\\b.*");

  // Of the arguments of set_config.
  private static final Pattern OF_PGONCE = pattern("\\('pgonce\\.(context|depth)',.*");
  private static final Pattern SET_BACK =
      pattern(SessionState.NAMES.stream().collect(Collectors.joining("|", "\\('(", ")',.*")));
  private static final Pattern LOCAL = pattern(".*(,|=>)true");

  /**
   * @param start how the words of the statement begin; its first group names it in messages
   */
  private record Rule(Pattern start, Refusal refusal) {

    Rule(String start, Refusal refusal) {
      this(Pattern.compile(start), refusal);
    }
  }

  private static Rule outlives(String start, String instead) {
    return new Rule(start, Refusal.outlives(instead));
  }

  private static Pattern pattern(String regex) {
    return Pattern.compile(regex, Pattern.CASE_INSENSITIVE | Pattern.DOTALL);
  }

  static HandlerSql read(String sql) {
    var known = KNOWN.get(sql);
    if (known == null) {
      known = scan(SqlToken.statements(sql));
      if (KNOWN.size() >= MOST_KNOWN) {
        KNOWN.clear();
      }
      if (sql.length() <= LONGEST_KNOWN) {
        KNOWN.put(sql, known);
      }
    }
    return known;
  }

  private static HandlerSql scan(List<List<SqlToken>> statements) {
    var keepsSetting = false;
    var changesSettings = false;
    for (var statement : statements) {
      var words = SqlToken.words(statement);
      for (var rule : RULES) {
        var start = rule.start().matcher(words);
        if (start.lookingAt()) {
          var what = start.group(1).toUpperCase(Locale.ROOT);
          return new HandlerSql(what, rule.refusal(), false, false);
        }
      }
      var isDo = statement.get(0).is("do");
      var tokens = isDo ? SqlToken.withTexts(statement) : statement;
      changesSettings |=
          isDo
              ? SETS_WITHIN.matcher(SqlToken.words(tokens)).matches()
              : SETS.matcher(words).matches();
      for (var i = 0; i < tokens.size(); i++) {
        if (tokens.get(i).is("set_config") || tokens.get(i).is("\"set_config\"")) {
          var arguments = arguments(tokens.subList(i + 1, tokens.size()));
          keepsSetting |=
              !LOCAL.matcher(arguments).matches() && !SET_BACK.matcher(arguments).matches();
          changesSettings |= !OF_PGONCE.matcher(arguments).matches();
        }
      }
    }
    return new HandlerSql("", null, keepsSetting, changesSettings);
  }

  /** The arguments of a function without spaces, behind an opening parenthesis. */
  private static String arguments(List<SqlToken> behindName) {
    var arguments = new StringBuilder();
    var depth = 0;
    for (var token : behindName) {
      depth += token.is("(") ? 1 : token.is(")") ? -1 : 0;
      if (depth == 0) {
        break;
      }
      arguments.append(token.text());
    }
    return arguments.toString();
  }
}
