package org.pgonce.internal.handle;

import java.sql.SQLException;
import org.postgresql.copy.CopyDual;
import org.postgresql.copy.CopyIn;
import org.postgresql.copy.CopyManager;
import org.postgresql.copy.CopyOperation;
import org.postgresql.copy.CopyOut;
import org.postgresql.core.BaseConnection;

/** pgjdbc's COPY for a handler. All its other methods come down to the three below. */
final class GuardedCopyManager extends CopyManager {

  private final HandlerScope scope;

  GuardedCopyManager(HandlerScope scope, BaseConnection connection) throws SQLException {
    super(connection);
    this.scope = scope;
  }

  @Override
  public CopyIn copyIn(String sql) throws SQLException {
    return begin(CopyIn.class, sql, () -> super.copyIn(sql));
  }

  @Override
  public CopyOut copyOut(String sql) throws SQLException {
    return begin(CopyOut.class, sql, () -> super.copyOut(sql));
  }

  @Override
  public CopyDual copyDual(String sql) throws SQLException {
    throw new SQLException(
        "copyDual() is refused in a handler: it is for replication connections.",
        Refusal.SQL_STATE);
  }

  private <C extends CopyOperation> C begin(
      Class<C> kind, String sql, HandlerScope.Call<C, SQLException> copy) throws SQLException {
    return scope.inTurn(
        () -> {
          scope.arm(sql);
          var begun = copy.run();
          scope.copying(begun);
          return GuardedObject.copy(scope, kind, begun);
        });
  }
}
