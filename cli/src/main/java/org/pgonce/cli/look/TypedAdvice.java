package org.pgonce.cli.look;

import java.util.List;
import java.util.regex.Pattern;
import org.pgonce.operations.internal.sql.Rows;

/**
 * The advice of {@code pgonce.explain} as one types it at the command line, where it has a verb.
 */
final class TypedAdvice {

  private record Verb(Pattern sql, String typed) {
    Verb(String sql, String typed) {
      this(Pattern.compile(sql), typed);
    }
  }

  private static final String CALL = "SELECT pgonce\\.(%s)\\('([^']+)'%s, reason => 'why'%s\\)";
  private static final String BESIDE_OTHERS = ", subscription_name => '([^']+)'";

  private static final List<Verb> VERBS =
      List.of(
          new Verb(
              CALL.formatted("redrive|discard|retry_now", ", (\\d+)", BESIDE_OTHERS),
              "pgonce $1 $2 $3 --subscription $4 --because 'why'"),
          new Verb(
              CALL.formatted("redrive|discard|retry_now", ", (\\d+)", ""),
              "pgonce $1 $2 $3 --because 'why'"),
          new Verb(
              CALL.formatted("redrive|resume", "", BESIDE_OTHERS),
              "pgonce $1 $2 --subscription $3 --because 'why'"),
          new Verb(CALL.formatted("resume", "", ""), "pgonce $1 $2 --because 'why'"),
          new Verb(CALL.formatted("redrive", "", ""), "pgonce $1 $2 --all --because 'why'"),
          new Verb("pgonce retry_now ", "pgonce retry-now "),
          new Verb("SELECT pgonce\\.adopt\\('why'\\)", "pgonce adopt --because 'why'"),
          new Verb(
              "SELECT \\* FROM pgonce\\.explain\\('([^']+)', (\\d+)\\)", "pgonce explain $1 $2"),
          new Verb(
              "SELECT reason, error, count\\(\\*\\) FROM pgonce\\.dead_letter_status WHERE channel = '([^']+)' GROUP BY 1, 2",
              "pgonce dead $1 --group"),
          new Verb(
              "SELECT \\* FROM pgonce\\.operation_log WHERE channel IN \\('([^']+)', '\\*'\\)",
              "pgonce log $1"));

  private TypedAdvice() {}

  static Rows in(Rows answers) {
    var typed = answers.with("advice", advice -> of(String.valueOf(advice)));
    // Beside an instance, whose name may be a number too.
    var columns =
        answers.columns().stream()
            .map(name -> name.equals("pid") ? "server_process" : name)
            .toList();
    return new Rows(columns, typed.values());
  }

  static String of(String advice) {
    var typed = advice;
    for (var verb : VERBS) {
      typed = verb.sql().matcher(typed).replaceAll(verb.typed());
    }
    return typed;
  }
}
