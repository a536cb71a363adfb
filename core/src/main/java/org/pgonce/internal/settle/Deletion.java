package org.pgonce.internal.settle;

import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.claim.Claim;
import org.pgonce.internal.jdbc.LastStatement;

/**
 * The deletion of what is handled, in the transaction of its handler; it yields what lies behind
 * it. It fails on the server if a row is not there (pgonce.not_there), so that a commit may follow
 * in the same message: that is never taken for success.
 */
sealed interface Deletion extends LastStatement<Left> {

  String NOT_THERE = "PO001";

  String NEW =
      """
      DELETE FROM pgonce.notification AS h
       WHERE h.subscription_id OPERATOR(pg_catalog.=) ? AND h.id OPERATOR(pg_catalog.=) ?
      """;
  String DUE =
      """
      DELETE FROM pgonce.scheduled AS h
       WHERE h.subscription_id OPERATOR(pg_catalog.=) ? AND h.id OPERATOR(pg_catalog.=) ?
      """;
  String LEASED = DUE + " AND h.token OPERATOR(pg_catalog.=) ?::pg_catalog.text::pg_catalog.uuid\n";
  // Whether another row lies behind it, held by someone or not, is a sign that somebody has
  // something to do: so no claim is needed to find out that nothing is left.
  String BEHIND =
      """
      RETURNING (SELECT b.id FROM pgonce.notification AS b
                  WHERE b.subscription_id OPERATOR(pg_catalog.=) h.subscription_id AND b.id OPERATOR(pg_catalog.>) h.id
                  ORDER BY b.id LIMIT 1) IS NOT NULL AS more, false AS due
      """;
  // That costs twice the deletion itself. Amid a backlog the next claim tells.
  String SURELY = "RETURNING true AS more, false AS due";
  // The end of a scheduled one says nothing of new ones, unless it was leased as a new one.
  String NOTHING = "RETURNING false AS more, false AS due";
  // Where they wait for one another: another of its key, which its end may have set free, or a new
  // row at which no claim of this process has looked. Ranges of one key, ordered by the key: for =
  // the planner may take the index of all keys.
  String BEHIND_IN_KEY =
      """
      RETURNING (SELECT b.id FROM pgonce.notification AS b
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
                  ORDER BY d.order_key, d.due_at, d.id LIMIT 1) OPERATOR(pg_catalog.<=) pg_catalog.clock_timestamp(), false) AS due
      """;
  String ONE =
      """
      WITH gone AS (
      %s
      )
      SELECT pg_catalog.bool_or(g.more), pg_catalog.bool_or(g.due),
             CASE WHEN pg_catalog.count(*) OPERATOR(pg_catalog.=) 1 THEN true ELSE pgonce.not_there(1, pg_catalog.count(*)) END
        FROM gone AS g
      """;
  String COMPLETE_NEW = ONE.formatted(NEW + BEHIND);
  String COMPLETE_NEW_OF_MANY = ONE.formatted(NEW + SURELY);
  String COMPLETE_DUE = ONE.formatted(DUE + NOTHING);
  String COMPLETE_LEASED = ONE.formatted(LEASED + BEHIND);
  String COMPLETE_NEW_BY_KEY = ONE.formatted(NEW + BEHIND_IN_KEY);
  String COMPLETE_DUE_BY_KEY = ONE.formatted(DUE + BEHIND_IN_KEY);
  String COMPLETE_LEASED_BY_KEY = ONE.formatted(LEASED + BEHIND_IN_KEY);
  // Of several; what lies behind the last of them is new to everyone.
  String COMPLETE_ALL_NEW =
      """
      WITH gone AS (
        DELETE FROM pgonce.notification AS h
         WHERE h.subscription_id OPERATOR(pg_catalog.=) ? AND h.id OPERATOR(pg_catalog.=) ANY (?::pg_catalog.text::pg_catalog.int8[])
        RETURNING h.id
      )
      SELECT (SELECT b.id FROM pgonce.notification AS b
               WHERE b.subscription_id OPERATOR(pg_catalog.=) ? AND b.id OPERATOR(pg_catalog.>) ?
               ORDER BY b.id LIMIT 1) IS NOT NULL,
             CASE WHEN g.deleted OPERATOR(pg_catalog.=) w.claimed THEN true ELSE pgonce.not_there(w.claimed, g.deleted) END
        FROM (SELECT ?::pg_catalog.int8) AS w (claimed), (SELECT pg_catalog.count(*) FROM gone) AS g (deleted)
      """;
  String COMPLETE_ALL_DUE =
      COMPLETE_ALL_NEW.replace("DELETE FROM pgonce.notification", "DELETE FROM pgonce.scheduled");

  /** What it means that a row is not there. */
  String whyNotThere();

  @Override
  default SQLException explained(SQLException failure) {
    return NOT_THERE.equals(failure.getSQLState())
        ? new SQLException(whyNotThere(), NOT_THERE, failure)
        : failure;
  }

  /**
   * Of one. A leased row must still have its token.
   *
   * @param ofMany whether others surely lie behind it, for all that was seen lately
   * @param lookedAt where others may have waited for it, up to which id claims have looked; else
   *     null
   */
  record OfOne(Claim claim, boolean ofMany, @Nullable Long lookedAt) implements Deletion {

    @Override
    public String sql() {
      var byKey = lookedAt != null;
      if (claim.token() != null) {
        return byKey ? COMPLETE_LEASED_BY_KEY : COMPLETE_LEASED;
      }
      if (claim.scheduled()) {
        return byKey ? COMPLETE_DUE_BY_KEY : COMPLETE_DUE;
      }
      return byKey ? COMPLETE_NEW_BY_KEY : ofMany ? COMPLETE_NEW_OF_MANY : COMPLETE_NEW;
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
    public Left read(ResultSet row) throws SQLException {
      row.next();
      return new Left(row.getBoolean(1), row.getBoolean(2));
    }

    @Override
    public String whyNotThere() {
      return claim
          + (claim.holder() != null
              ? " is no longer there: it was deleted while it was claimed, and its handler is"
                  + " undone"
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

    @Override
    public String sql() {
      return claims.get(0).scheduled() ? COMPLETE_ALL_DUE : COMPLETE_ALL_NEW;
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
    public Left read(ResultSet row) throws SQLException {
      row.next();
      return new Left(row.getBoolean(1), false);
    }

    @Override
    public String whyNotThere() {
      return "of %d notifications not all are still there: some were deleted while they were claimed, and the work on all is undone"
          .formatted(claims.size());
    }
  }
}
