package org.pgonce.cli.database;

import static org.pgonce.operations.internal.sql.LookStatements.DEAD_LETTER_REASONS;

import java.sql.SQLException;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.pgonce.cli.terminal.UsageException;
import org.pgonce.operations.internal.sql.ArrayText;
import org.pgonce.operations.internal.sql.LookStatements;
import org.pgonce.operations.internal.sql.Statements;
import picocli.CommandLine.Option;

/** Which dead letters: those that fit all that is given. */
public final class DeadLetterFilter {

  @Option(names = "--subscription", paramLabel = "NAME", description = "Only of this subscription")
  private @Nullable String subscription;

  @Option(
      names = "--reason",
      paramLabel = "REASON",
      description =
          "Only what died of: ATTEMPTS_USED_UP, UNREADABLE, REJECTED, OUTCOME_UNKNOWN, TOO_DEEP or NOT_STORABLE")
  private @Nullable String reason;

  @Option(
      names = "--error",
      paramLabel = "PATTERN",
      description = "Only whose error is like this, as of LIKE: '%%timed out%%'")
  private @Nullable String error;

  @Option(
      names = "--from",
      paramLabel = "TIME",
      description = "Only what died then or later: 2h (ago), 30m, 3d, or '2026-11-26 10:00'")
  private @Nullable String from;

  @Option(
      names = "--before",
      paramLabel = "TIME",
      description = "Only what died before that, written as for --from")
  private @Nullable String before;

  private @Nullable String fromTime;
  private @Nullable String beforeTime;

  /** Whether it leaves anything out. */
  public boolean isAll() {
    return subscription == null
        && reason == null
        && error == null
        && from == null
        && before == null;
  }

  /** To be called once: times that are relative are those of this moment, by the server's clock. */
  public void resolve(Statements statements) throws SQLException {
    if (reason != null && !DEAD_LETTER_REASONS.contains(reason)) {
      throw new UsageException(
          "no dead letter has the reason \"%s\": it is one of %s"
              .formatted(reason, String.join(", ", DEAD_LETTER_REASONS)));
    }
    fromTime = Times.resolve(statements, "--from", from);
    beforeTime = Times.resolve(statements, "--before", before);
  }

  /**
   * For {@link LookStatements#DEAD_LETTER_FITS}.
   *
   * @param ids empty for any
   */
  public @Nullable String[] parameters(@Nullable String channel, List<Long> ids) {
    var array = ids.isEmpty() ? null : ArrayText.of(ids);
    return new @Nullable String[] {
      channel, array, array, subscription, reason, error, error, fromTime, beforeTime
    };
  }

  /** For {@code pgonce.redrive} and {@code discard}, behind the channel, the ids and the reason. */
  public @Nullable String[] arguments(String channel, List<Long> some, String because) {
    return new @Nullable String[] {
      channel, ArrayText.of(some), because, subscription, reason, error, fromTime, beforeTime
    };
  }

  public @Nullable String subscription() {
    return subscription;
  }
}
