package org.pgonce.internal.settle;

import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.function.BinaryOperator;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.claim.Claim;
import org.pgonce.internal.claim.RowsBehind;
import org.pgonce.internal.jdbc.Pipeline;

/**
 * The deletion of handled notifications, in their handler's transaction. It returns what lies
 * behind them. It fails on the server if a row is not there ({@code pgonce.not_there}), so that a
 * commit may follow in the same message.
 *
 * @param claims one, or several that a transaction holds, in the order of their ids; a leased one
 *     must still have its token
 * @param byKey whether the channel has an order or a limit per key
 * @param amidBacklog whether others surely lie behind the one, by what was seen lately: it does not
 *     look
 * @param entries what it writes to the history; null if the channel keeps none
 */
record Deletion(
    List<Claim> claims, boolean byKey, boolean amidBacklog, @Nullable HistoryEntries entries)
    implements Pipeline.Part<RowsBehind> {

  private static final String NOT_THERE = "PO001";

  private static final String ONE =
      """
      WITH gone AS (
        DELETE FROM pgonce.%s AS h
         WHERE h.subscription_id OPERATOR(pg_catalog.=) ? AND h.id OPERATOR(pg_catalog.=) ? %s
        RETURNING %s
      )%s
      SELECT COALESCE((SELECT g.more FROM gone AS g), pgonce.not_there(1, 0)) AS more, %s AS due
      """;
  private static final String HAS_TOKEN =
      "AND h.token OPERATOR(pg_catalog.=) ?::pg_catalog.text::pg_catalog.uuid";

  /**
   * What the deletion says of the rows behind it.
   *
   * @param more the column of new ones, and what else it returns
   * @param due the value that says whether scheduled ones are due
   */
  private record Behind(String more, String due) {}

  // A row behind it, held or not, is a reason to claim again. So no empty claim is needed to learn
  // that nothing is left. The look costs twice the deletion, so amid a backlog most do not look.
  private static final Behind LOOK =
      new Behind(
          """
          (SELECT b.id FROM pgonce.notification AS b
            WHERE b.subscription_id OPERATOR(pg_catalog.=) h.subscription_id AND b.id OPERATOR(pg_catalog.>) h.id
            ORDER BY b.id LIMIT 1) IS NOT NULL AS more""",
          "false");
  private static final Behind SURELY = new Behind("true AS more", "false");
  // After a scheduled row nobody looks for new ones. A leased one may have been new: that looks.
  private static final Behind NOTHING = new Behind("false AS more", "false");
  // Another row of its key. Ranges of one key, ordered by the key: with = the planner may take the
  // index of all keys.
  private static final Behind IN_KEY =
      new Behind(
          """
          (SELECT b.id FROM pgonce.notification AS b
            WHERE b.subscription_id OPERATOR(pg_catalog.=) h.subscription_id AND b.id OPERATOR(pg_catalog.<>) h.id
              AND b.order_key OPERATOR(pg_catalog.>=) h.order_key AND b.order_key OPERATOR(pg_catalog.<=) h.order_key
            ORDER BY b.order_key, b.id LIMIT 1) IS NOT NULL AS more,
          COALESCE((SELECT d.due_at FROM pgonce.scheduled AS d
            WHERE d.subscription_id OPERATOR(pg_catalog.=) h.subscription_id AND d.id OPERATOR(pg_catalog.<>) h.id
              AND d.order_key OPERATOR(pg_catalog.>) ''
              AND d.order_key OPERATOR(pg_catalog.>=) h.order_key AND d.order_key OPERATOR(pg_catalog.<=) h.order_key
            ORDER BY d.order_key, d.due_at, d.id LIMIT 1) OPERATOR(pg_catalog.<=) pg_catalog.clock_timestamp(), false) AS due""",
          "(SELECT g.due FROM gone AS g)");

  private static final Form NEW = one("notification", "", LOOK);
  private static final Form NEW_AMID_BACKLOG = one("notification", "", SURELY);
  private static final Form NEW_BY_KEY = one("notification", "", IN_KEY);
  private static final Form DUE = one("scheduled", "", NOTHING);
  private static final Form DUE_BY_KEY = one("scheduled", "", IN_KEY);
  private static final Form LEASED = one("scheduled", HAS_TOKEN, LOOK);
  private static final Form LEASED_BY_KEY = one("scheduled", HAS_TOKEN, IN_KEY);

  private static final String SEVERAL =
      """
      WITH gone AS (
        DELETE FROM pgonce.%s AS h
         WHERE h.subscription_id OPERATOR(pg_catalog.=) ? AND h.id OPERATOR(pg_catalog.=) ANY (?::pg_catalog.text::pg_catalog.int8[])
        RETURNING h.id%s
      )%s
      SELECT (SELECT b.id FROM pgonce.notification AS b
               WHERE b.subscription_id OPERATOR(pg_catalog.=) ? AND b.id OPERATOR(pg_catalog.>) ?
               ORDER BY b.id LIMIT 1) IS NOT NULL AS more, false AS due,
             CASE WHEN g.deleted OPERATOR(pg_catalog.=) w.claimed THEN true ELSE pgonce.not_there(w.claimed, g.deleted) END
        FROM (SELECT ?::pg_catalog.int8) AS w (claimed), (SELECT pg_catalog.count(*) FROM gone) AS g (deleted)
      """;
  private static final Form SEVERAL_NEW = several("notification");
  private static final Form SEVERAL_DUE = several("scheduled");

  /** A statement, and the same for a channel with a history, without payloads and with them. */
  private record Form(String plain, String kept, String keptWithPayload) {

    static Form of(BinaryOperator<String> text) {
      return new Form(text.apply("", ""), kept(false, text), kept(true, text));
    }

    private static String kept(boolean payloads, BinaryOperator<String> text) {
      return text.apply(HistoryEntries.returned(payloads), HistoryEntries.insert(payloads));
    }
  }

  private static Form one(String table, String condition, Behind behind) {
    return Form.of(
        (more, insert) ->
            ONE.formatted(table, condition, behind.more() + more, insert, behind.due()));
  }

  private static Form several(String table) {
    return Form.of((more, insert) -> SEVERAL.formatted(table, more, insert));
  }

  Claim first() {
    return claims.get(0);
  }

  @Override
  public @Nullable KeysDone companion() {
    return KeysDone.of(claims);
  }

  @Override
  public String sql() {
    var form = form();
    return entries == null
        ? form.plain()
        : entries.payloads() ? form.keptWithPayload() : form.kept();
  }

  private Form form() {
    if (claims.size() > 1) {
      return first().scheduled() ? SEVERAL_DUE : SEVERAL_NEW;
    }
    if (first().token() != null) {
      return byKey ? LEASED_BY_KEY : LEASED;
    }
    if (first().scheduled()) {
      return byKey ? DUE_BY_KEY : DUE;
    }
    return byKey ? NEW_BY_KEY : amidBacklog ? NEW_AMID_BACKLOG : NEW;
  }

  @Override
  public void bind(PreparedStatement statement, int first) throws SQLException {
    var next = first;
    statement.setInt(next++, first().subscription());
    if (claims.size() > 1) {
      statement.setString(next++, Claim.ids(claims));
    } else {
      statement.setLong(next++, first().id());
      if (first().token() != null) {
        statement.setString(next++, first().token());
      }
    }
    if (entries != null) {
      next = entries.bind(statement, next, claims);
    }
    if (claims.size() > 1) {
      statement.setInt(next++, first().subscription());
      statement.setLong(next++, claims.get(claims.size() - 1).id());
      statement.setLong(next, claims.size());
    }
  }

  @Override
  public RowsBehind read(Statement executed) throws SQLException {
    try (var row = executed.getResultSet()) {
      row.next();
      return new RowsBehind(row.getBoolean("more"), row.getBoolean("due"));
    }
  }

  @Override
  public SQLException explained(SQLException failure) {
    return NOT_THERE.equals(failure.getSQLState())
        ? new SQLException(whyNotThere(), NOT_THERE, failure)
        : failure;
  }

  private String whyNotThere() {
    if (claims.size() > 1) {
      return "of %d notifications not all are still there: some were deleted while they were claimed, and the work on all is undone"
          .formatted(claims.size());
    }
    return first()
        + (first().holder() != null
            ? " is no longer there: it was deleted while it was claimed, and its handler is undone"
            : " is no longer leased to this process: its lease was over before its handler"
                + " returned, and what that wrote through its transaction is undone");
  }
}
