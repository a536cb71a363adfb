package org.pgonce.benchmarks.work;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.pgonce.benchmarks.work.ByHand.Steps;
import org.pgonce.spi.PayloadCodec;
import org.pgonce.spi.PayloadCodec.UnreadablePayloadException;

/** The statements by hand around the handler's own. One for each worker. */
final class HandClaim {

  // The number of rows stands in the text: the server keeps no plan where it would have to guess
  // it.
  private static final String CLAIM =
      "select id, work_id, name from queue_by_hand order by id limit %d for update skip locked";
  private static final String CLAIM_JSON =
      "select id, payload from queue_by_hand order by id limit %d for update skip locked";
  private static final String CLAIM_BEHIND =
      "select id, work_id, name from queue_by_hand where id > ? order by id limit %d for update skip locked";
  private static final String DELETE = "delete from queue_by_hand where id = ?";
  private static final String DELETE_MANY =
      "delete from queue_by_hand where id = any (?::text::bigint[])";
  private static final String TAKE =
      """
      delete from queue_by_hand
       where id = (select id from queue_by_hand order by id limit 1 for update skip locked)
      returning id, work_id, name
      """;
  // = any (array(…)): with "in" a nested loop may take more than it is to.
  private static final String TAKE_MANY =
      """
      delete from queue_by_hand
       where id = any (array(select id from queue_by_hand order by id limit %d for update skip locked))
      returning id, work_id, name
      """;

  private static final PayloadCodec CODEC = PayloadCodec.standard();

  private final Steps steps;
  private final String claim;
  private long bound;

  HandClaim(Steps steps, int batch) {
    this.steps = steps;
    this.claim =
        switch (steps) {
          case CLAIM_AND_DELETE -> CLAIM.formatted(batch);
          case CLAIM_JSON_AND_DELETE -> CLAIM_JSON.formatted(batch);
          case CLAIM_BEHIND_A_BOUND -> CLAIM_BEHIND.formatted(batch);
          case DELETE_AT_ONCE -> batch == 1 ? TAKE : TAKE_MANY.formatted(batch);
        };
  }

  /** Those that nobody else holds, at most a batch, in a transaction that this begins. */
  List<Claimed> claim(Connection connection) throws SQLException {
    var rows = new ArrayList<Claimed>();
    try (var statement = connection.prepareStatement(claim)) {
      if (steps == Steps.CLAIM_BEHIND_A_BOUND) {
        statement.setLong(1, bound);
      }
      try (var row = statement.executeQuery()) {
        while (row.next()) {
          rows.add(claimed(row));
        }
      }
    }
    if (steps == Steps.DELETE_AT_ONCE) {
      rows.sort(Comparator.comparingLong(Claimed::id)); // RETURNING has no order
    }
    return rows;
  }

  private Claimed claimed(ResultSet row) throws SQLException {
    if (steps != Steps.CLAIM_JSON_AND_DELETE) {
      return new Claimed(row.getLong(1), row.getLong(2), row.getString(3));
    }
    try {
      var work = CODEC.decode(row.getString(2), ByPgOnce.Work.class);
      return new Claimed(row.getLong(1), work.id(), work.name());
    } catch (UnreadablePayloadException e) {
      throw new SQLException("the queue holds what nobody stored", e);
    }
  }

  /** Deletes them, if the claim has not. */
  void settle(Connection transaction, List<Claimed> rows) throws SQLException {
    if (steps == Steps.DELETE_AT_ONCE) {
      return;
    }
    try (var delete = transaction.prepareStatement(rows.size() == 1 ? DELETE : DELETE_MANY)) {
      if (rows.size() == 1) {
        delete.setLong(1, rows.get(0).id());
      } else {
        delete.setString(1, Claimed.array(rows, Claimed::id));
      }
      delete.executeUpdate();
    }
    if (steps == Steps.CLAIM_BEHIND_A_BOUND) {
      // What others hold below this, they finish themselves.
      bound = rows.get(0).id();
    }
  }
}
