package org.pgonce.console.internal.act;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.pgonce.console.internal.look.Queries;
import org.pgonce.operations.internal.sql.ArrayText;
import org.pgonce.operations.internal.sql.Database;
import org.pgonce.operations.internal.sql.RetryStatements;
import org.pgonce.operations.internal.sql.Statements;

/** Something that is done to a target, in one transaction with its entry of the operation log. */
public record Change(Verb verb, Target target) {

  /**
   * Ids of one change that is of all that fit, each with a row for each subscription: so that no
   * transaction, and no answer, takes long.
   */
  public static final int BATCH = 10_000;

  private static final String DEAD =
      "SELECT d.id FROM pgonce.dead_letter_status d WHERE " + Queries.DEAD_FITS;
  private static final String FAILED =
      "SELECT r.id FROM pgonce.retry_status r WHERE " + Queries.FAILED_FITS;

  private static final String COUNT = "SELECT count(*) FROM (%s) i";
  // The oldest first, so that the next batch goes on behind it.
  private static final String IDS = "SELECT DISTINCT i.id FROM (%s) i ORDER BY i.id LIMIT " + BATCH;
  private static final String LAST = "SELECT max(b.id) FROM (" + IDS + ") b";

  /**
   * Whether it is of all that fit its target, and not of what was chosen: {@value #BATCH} ids at a
   * time. Dead letters that were chosen have to fit, too.
   */
  public boolean isOfAllThatFit() {
    return verb.isOfDeadLetters() || (verb == Verb.RETRY_NOW && target.ids().isEmpty());
  }

  private String fits() {
    return verb.isOfDeadLetters() ? DEAD : FAILED;
  }

  private @Nullable String[] parameters() {
    var parameters = new ArrayList<@Nullable String>();
    if (verb.isOfDeadLetters()) {
      parameters.addAll(target.deadLetters());
    } else {
      parameters.addAll(target.failed());
      parameters.add(target.upTo() == null ? null : String.valueOf(target.upTo()));
    }
    return parameters.toArray(new @Nullable String[0]);
  }

  /**
   * How many it would touch now. Notifications are counted without a lock, which would leave a mark
   * in each; a pause is done and rolled back.
   */
  public long wouldTouch(Database database) {
    if (isOfAllThatFit()) {
      return database.read(statements -> statements.number(COUNT.formatted(fits()), parameters()));
    }
    return switch (verb) {
      case RETRY_NOW ->
          database.read(
              statements ->
                  statements.number(
                      "SELECT pgonce.would_retry_now(?, ?::text::bigint[], ?)", waiting()));
      case CANCEL ->
          database.read(
              statements ->
                  statements.number(
                      "SELECT w.cancelled FROM pgonce.would_cancel(?, ?::text::bigint[], NULL, ?) w",
                      waiting()));
      default -> database.write(true, statements -> call(statements, "dry run", List.of()));
    };
  }

  /**
   * The same for the first {@value #BATCH} ids and no others, so that to do it twice is to do it
   * once. Where none fits, none.
   */
  public Change ofOneBatch(Database database) {
    return new Change(
        verb,
        target.upTo(
            database.read(statements -> statements.number(LAST.formatted(fits()), parameters()))));
  }

  private @Nullable String[] waiting() {
    return new @Nullable String[] {
      target.channel(), ArrayText.of(target.ids()), target.subscription()
    };
  }

  /** How many rows it touched; of all that fit, those of the first {@value #BATCH} ids. */
  public long doIt(Database database, @Nullable String person, String because) {
    return database.write(
        false,
        statements -> {
          if (person != null) {
            statements.rows("SELECT pg_catalog.set_config('pgonce.operator', ?, true)", person);
          }
          var ids = ids(statements);
          // None that fits: the function refuses a channel that is not there.
          return verb == Verb.RETRY_NOW && isOfAllThatFit() && !ids.isEmpty()
              ? retryFailed(statements, because, ids)
              : call(statements, because, ids);
        });
  }

  private List<Long> ids(Statements statements) throws SQLException {
    return isOfAllThatFit()
        ? statements.rows(IDS.formatted(fits()), parameters()).column("id").stream()
            .map(id -> (Long) Objects.requireNonNull(id))
            .toList()
        : target.ids();
  }

  private long retryFailed(Statements statements, String because, List<Long> ids)
      throws SQLException {
    var parameters = new ArrayList<@Nullable String>();
    parameters.add(target.channel());
    parameters.add(because);
    parameters.addAll(target.failed());
    parameters.add(ids.get(0).toString());
    parameters.add(ids.get(ids.size() - 1).toString());
    return statements.number(
        RetryStatements.RETRY_FAILED, parameters.toArray(new @Nullable String[0]));
  }

  private long call(Statements statements, String because, List<Long> chosen) throws SQLException {
    var channel = target.channel();
    var subscription = target.subscription();
    var ids = ArrayText.of(chosen);
    return switch (verb) {
      case PAUSE ->
          statements.number("SELECT pgonce.pause(?, ?, ?)", channel, because, subscription);
      case RESUME ->
          statements.number("SELECT pgonce.resume(?, ?, ?)", channel, because, subscription);
      case RETRY_NOW ->
          statements.number(
              "SELECT pgonce.retry_now(?, ?::text::bigint[], ?, ?)",
              channel,
              ids,
              because,
              subscription);
      case CANCEL ->
          statements.number(
              "SELECT c.cancelled FROM pgonce.cancel(?, ?::text::bigint[], NULL::text[], ?, ?) c",
              channel,
              ids,
              because,
              subscription);
      case REDRIVE -> ofDeadLetters(statements, "redrive", because, ids);
      case DISCARD -> ofDeadLetters(statements, "discard", because, ids);
    };
  }

  /** By their ids, and by what the target says too: an id is of all subscriptions. */
  private long ofDeadLetters(Statements statements, String function, String because, String ids)
      throws SQLException {
    return statements.number(
        "SELECT pgonce.%s(?, ?::text::bigint[], ?, ?, ?, ?, NULL, ?::text::timestamptz)"
            .formatted(function),
        target.channel(),
        ids,
        because,
        target.subscription(),
        target.reason(),
        target.pattern(),
        target.before());
  }
}
