package org.pgonce.internal.settle;

import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.claim.Claim;
import org.pgonce.internal.jdbc.Pipeline;
import org.pgonce.internal.jdbc.Statements;

/**
 * Notifications are done with their delivery keys. After their rows are deleted, in this order: a
 * session that holds a row may wait for its key, and none the other way round.
 *
 * @param keyed of one subscription, each with a delivery key
 */
record KeysDone(List<Claim> keyed) implements Pipeline.Part<Boolean> {

  /** Null if a publisher has given none of them a delivery key. */
  static @Nullable KeysDone of(List<Claim> claims) {
    var keyed = claims.stream().filter(claim -> claim.headers().deliveryKey() != null).toList();
    return keyed.isEmpty() ? null : new KeysDone(keyed);
  }

  @Override
  public String sql() {
    return "SELECT pgonce.keys_done(?, ?::pg_catalog.text::pg_catalog.int8[], ?::pg_catalog.text::pg_catalog.text[])";
  }

  @Override
  public void bind(PreparedStatement statement, int first) throws SQLException {
    statement.setInt(first, keyed.get(0).subscription());
    statement.setString(first + 1, Claim.ids(keyed));
    statement.setString(
        first + 2,
        Statements.array(
            keyed.stream()
                .map(claim -> Objects.requireNonNull(claim.headers().deliveryKey()))
                .toList()));
  }

  @Override
  public Boolean read(Statement executed) {
    return true;
  }
}
