package org.pgonce.internal.settle;

import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.claim.Claim;
import org.pgonce.internal.claim.RowsBehind;
import org.pgonce.internal.jdbc.Pipeline;

/**
 * The deletion of what is handled, in the transaction of its handler; it yields what lies behind
 * it. It fails on the server if a row is not there (pgonce.not_there), so that a commit may follow
 * in the same message: that is never taken for success.
 */
sealed interface Deletion extends Pipeline.Part<RowsBehind> {

  String NOT_THERE = "PO001";

  /** What it means that a row is not there. */
  String whyNotThere();

  @Override
  default SQLException explained(SQLException failure) {
    return NOT_THERE.equals(failure.getSQLState())
        ? new SQLException(whyNotThere(), NOT_THERE, failure)
        : failure;
  }

  @Override
  default RowsBehind read(Statement executed) throws SQLException {
    try (var row = executed.getResultSet()) {
      row.next();
      return new RowsBehind(row.getBoolean("more"), row.getBoolean("due"));
    }
  }

  /**
   * Of one. A leased row must still have its token.
   *
   * @param ofMany whether others surely lie behind it, for all that was seen lately
   * @param lookedAt where others may have waited for it, up to which id claims have looked; else
   *     null
   */
  record OfOne(Claim claim, boolean ofMany, @Nullable Long lookedAt) implements Deletion {

    private static final String ONE =
        """
        WITH gone AS (
          DELETE FROM pgonce.%s AS h
           WHERE h.subscription_id OPERATOR(pg_catalog.=) ? AND h.id OPERATOR(pg_catalog.=) ? %s
          RETURNING %s
        )
        SELECT pg_catalog.bool_or(g.more) AS more, pg_catalog.bool_or(g.due) AS due,
               CASE WHEN pg_catalog.count(*) OPERATOR(pg_catalog.=) 1 THEN true ELSE pgonce.not_there(1, pg_catalog.count(*)) END
          FROM gone AS g
        """;
    private static final String HAS_TOKEN =
        "AND h.token OPERATOR(pg_catalog.=) ?::pg_catalog.text::pg_catalog.uuid";
    // Whether another row lies behind it, held by someone or not, is a sign that somebody has
    // something to do: so no claim is needed to find out that nothing is left.
    private static final String BEHIND =
        """
        (SELECT b.id FROM pgonce.notification AS b
          WHERE b.subscription_id OPERATOR(pg_catalog.=) h.subscription_id AND b.id OPERATOR(pg_catalog.>) h.id
          ORDER BY b.id LIMIT 1) IS NOT NULL AS more, false AS due""";
    // That costs twice the deletion itself. Amid a backlog the next claim tells.
    private static final String SURELY = "true AS more, false AS due";
    // The end of a scheduled one says nothing of new ones, unless it was leased as a new one.
    private static final String NOTHING = "false AS more, false AS due";
    // Where they wait for one another: another of its key, which its end may have set free, or a
    // new row at which no claim of this process has looked. Ranges of one key, ordered by the key:
    // for = the planner may take the index of all keys.
    private static final String BEHIND_IN_KEY =
        """
        (SELECT b.id FROM pgonce.notification AS b
          WHERE b.subscription_id OPERATOR(pg_catalog.=) h.subscription_id AND b.id OPERATOR(pg_catalog.<>) h.id
            AND b.order_key OPERATOR(pg_catalog.>=) h.order_key AND b.order_key OPERATOR(pg_catalog.<=) h.order_key
          ORDER BY b.order_key, b.id LIMIT 1) IS NOT NULL
        OR (SELECT b.id FROM pgonce.notification AS b
             WHERE b.subscription_id OPERATOR(pg_catalog.=) h.subscription_id AND b.id OPERATOR(pg_catalog.>) ?
               AND b.id OPERATOR(pg_catalog.<>) h.id
             ORDER BY b.id LIMIT 1) IS NOT NULL AS more,
        COALESCE((SELECT d.due_at FROM pgonce.scheduled AS d
          WHERE d.subscription_id OPERATOR(pg_catalog.=) h.subscription_id AND d.id OPERATOR(pg_catalog.<>) h.id
            AND d.order_key OPERATOR(pg_catalog.>) ''
            AND d.order_key OPERATOR(pg_catalog.>=) h.order_key AND d.order_key OPERATOR(pg_catalog.<=) h.order_key
          ORDER BY d.order_key, d.due_at, d.id LIMIT 1) OPERATOR(pg_catalog.<=) pg_catalog.clock_timestamp(), false) AS due""";

    private static final String NEW = ONE.formatted("notification", "", BEHIND);
    private static final String NEW_OF_MANY = ONE.formatted("notification", "", SURELY);
    private static final String NEW_BY_KEY = ONE.formatted("notification", "", BEHIND_IN_KEY);
    private static final String DUE = ONE.formatted("scheduled", "", NOTHING);
    private static final String DUE_BY_KEY = ONE.formatted("scheduled", "", BEHIND_IN_KEY);
    private static final String LEASED = ONE.formatted("scheduled", HAS_TOKEN, BEHIND);
    private static final String LEASED_BY_KEY =
        ONE.formatted("scheduled", HAS_TOKEN, BEHIND_IN_KEY);

    @Override
    public String sql() {
      var byKey = lookedAt != null;
      if (claim.token() != null) {
        return byKey ? LEASED_BY_KEY : LEASED;
      }
      if (claim.scheduled()) {
        return byKey ? DUE_BY_KEY : DUE;
      }
      return byKey ? NEW_BY_KEY : ofMany ? NEW_OF_MANY : NEW;
    }

    @Override
    public int parameters() {
      return (claim.token() == null ? 2 : 3) + (lookedAt == null ? 0 : 1);
    }

    @Override
    public void bind(PreparedStatement statement, int first) throws SQLException {
      statement.setInt(first, claim.subscription());
      statement.setLong(first + 1, claim.id());
      if (claim.token() != null) {
        statement.setString(first + 2, claim.token());
      }
      if (lookedAt != null) {
        statement.setLong(first + parameters() - 1, lookedAt);
      }
    }

    @Override
    public String whyNotThere() {
      return claim
          + (claim.holder() != null
              ? " is no longer there: it was deleted while it was claimed, and its handler is undone"
              : " is no longer leased to this process: its lease was over before its handler"
                  + " returned, and what that wrote through its transaction is undone");
    }
  }

  /**
   * Of several that one transaction holds.
   *
   * @param claims in the order of their ids
   */
  record OfSeveral(List<Claim> claims) implements Deletion {

    // What lies behind the last of them is new to everyone.
    private static final String SEVERAL =
        """
        WITH gone AS (
          DELETE FROM pgonce.%s AS h
           WHERE h.subscription_id OPERATOR(pg_catalog.=) ? AND h.id OPERATOR(pg_catalog.=) ANY (?::pg_catalog.text::pg_catalog.int8[])
          RETURNING h.id
        )
        SELECT (SELECT b.id FROM pgonce.notification AS b
                 WHERE b.subscription_id OPERATOR(pg_catalog.=) ? AND b.id OPERATOR(pg_catalog.>) ?
                 ORDER BY b.id LIMIT 1) IS NOT NULL AS more, false AS due,
               CASE WHEN g.deleted OPERATOR(pg_catalog.=) w.claimed THEN true ELSE pgonce.not_there(w.claimed, g.deleted) END
          FROM (SELECT ?::pg_catalog.int8) AS w (claimed), (SELECT pg_catalog.count(*) FROM gone) AS g (deleted)
        """;
    private static final String NEW = SEVERAL.formatted("notification");
    private static final String DUE = SEVERAL.formatted("scheduled");

    @Override
    public String sql() {
      return claims.get(0).scheduled() ? DUE : NEW;
    }

    @Override
    public int parameters() {
      return 5;
    }

    @Override
    public void bind(PreparedStatement statement, int first) throws SQLException {
      var subscription = claims.get(0).subscription();
      statement.setInt(first, subscription);
      statement.setString(first + 1, Claim.ids(claims));
      statement.setInt(first + 2, subscription);
      statement.setLong(first + 3, claims.get(claims.size() - 1).id());
      statement.setLong(first + 4, claims.size());
    }

    @Override
    public String whyNotThere() {
      return "of %d notifications not all are still there: some were deleted while they were claimed, and the work on all is undone"
          .formatted(claims.size());
    }
  }
}
