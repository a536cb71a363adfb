package org.pgonce.cli.act;

import static java.util.Objects.requireNonNullElse;

import java.sql.SQLException;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.pgonce.cli.terminal.Terminal;
import org.pgonce.cli.terminal.UsageException;
import org.pgonce.operations.internal.sql.Statements;
import picocli.CommandLine.Option;

/** What each change asks for: why, by whom, and whether it is meant. */
final class Why {

  private static final int LONGEST = 2_000;

  @Option(
      names = "--because",
      paramLabel = "REASON",
      required = true,
      description = "Why: it stands in the operation log (pgonce log); of publish, in the context")
  private String because = "";

  @Option(
      names = "--by",
      paramLabel = "PERSON",
      description = "Who does it. Default: PGONCE_OPERATOR, else the system's user")
  private @Nullable String by;

  @Option(
      names = "--dry-run",
      description = "Says how many it would touch, and leaves all as it is")
  private boolean dryRun;

  String because() {
    if (because.isBlank() || because.length() > LONGEST) {
      throw new UsageException(
          "--because has %d characters: 1 to %,d, not blank".formatted(because.length(), LONGEST));
    }
    return because;
  }

  boolean dryRun() {
    return dryRun;
  }

  String person(Terminal terminal) {
    return by != null
        ? by
        : requireNonNullElse(terminal.variable("PGONCE_OPERATOR"), System.getProperty("user.name"));
  }

  /** For the operation log of this transaction. */
  void sign(Terminal terminal, Statements statements) throws SQLException {
    statements.rows("SELECT pg_catalog.set_config('pgonce.operator', ?, true)", person(terminal));
  }

  /** What JSON says of each change. */
  Map<String, @Nullable Object> done(
      String what, String channel, @Nullable String subscription, long touched) {
    var done = new LinkedHashMap<String, @Nullable Object>();
    done.put("what", what);
    done.put("channel", channel);
    done.put("subscription", subscription);
    done.put("touched", touched);
    done.put("dry_run", dryRun);
    return done;
  }

  /** For people: «5 would be redriven; nothing was changed», or «5 redriven». */
  String sentence(long touched, String things, String participle) {
    return dryRun
        ? "%,d %s would be %s; nothing was changed".formatted(touched, things, participle)
        : "%,d %s %s".formatted(touched, things, participle);
  }
}
