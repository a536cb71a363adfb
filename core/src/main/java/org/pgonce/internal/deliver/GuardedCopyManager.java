package org.pgonce.internal.deliver;

import java.sql.SQLException;
import org.postgresql.copy.CopyDual;
import org.postgresql.copy.CopyIn;
import org.postgresql.copy.CopyManager;
import org.postgresql.copy.CopyOut;
import org.postgresql.core.BaseConnection;

/** pgjdbc's COPY for a handler. All its other methods come down to the three below. */
final class GuardedCopyManager extends CopyManager {

  private final Guards guards;
  private final HandlerScope scope;

  GuardedCopyManager(Guards guards, BaseConnection connection) throws SQLException {
    super(connection);
    this.guards = guards;
    this.scope = guards.scope();
  }

  @Override
  public CopyIn copyIn(String sql) throws SQLException {
    begin(sql);
    try {
      var copy = super.copyIn(sql);
      scope.copying(copy);
      return guards.driverObject(CopyIn.class, copy);
    } catch (SQLException e) {
      throw scope.noted(e);
    } finally {
      scope.leave();
    }
  }

  @Override
  public CopyOut copyOut(String sql) throws SQLException {
    begin(sql);
    try {
      var copy = super.copyOut(sql);
      scope.copying(copy);
      return guards.driverObject(CopyOut.class, copy);
    } catch (SQLException e) {
      throw scope.noted(e);
    } finally {
      scope.leave();
    }
  }

  @Override
  public CopyDual copyDual(String sql) throws SQLException {
    throw new SQLException(
        "copyDual() is refused in a handler: it is for replication connections.",
        Refusal.SQL_STATE);
  }

  /** Takes the turn, and keeps it only if the statement may run. */
  private void begin(String sql) throws SQLException {
    if (!scope.enter()) {
      throw scope.usedAfterEnd();
    }
    boolean armed = false;
    try {
      scope.arm(sql);
      armed = true;
    } finally {
      if (!armed) {
        scope.leave();
      }
    }
  }
}
