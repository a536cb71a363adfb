package org.pgonce.internal.deliver;

import java.lang.reflect.Method;
import java.sql.SQLException;
import java.sql.Statement;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGStatement;

/** A statement of a handler, prepared, callable or plain. */
final class StatementGuard extends GuardedObject {

  StatementGuard(Guards guards, Statement real) {
    super(guards, real);
  }

  @Override
  boolean isOutOfTurn(Method method) {
    // cancel() is for the call that has the turn. With none under way the driver does nothing.
    return method.getName().equals("cancel");
  }

  @Override
  @Nullable Object call(Object proxy, Method method, Object[] args) throws Throwable {
    switch (method.getName()) {
      case "execute", "executeQuery", "executeUpdate", "executeLargeUpdate", "addBatch" -> {
        if (args.length > 0) {
          scope.arm((String) args[0]);
        } else {
          scope.arm();
        }
      }
      case "executeBatch", "executeLargeBatch", "getMetaData", "getParameterMetaData" ->
          scope.arm();
      case "getConnection" -> {
        return guards.connection();
      }
      case "unwrap" -> {
        return isPgStatement(args[0])
            ? guards.driverObject(PGStatement.class, ((Statement) real).unwrap(PGStatement.class))
            : unwrap(proxy, (Class<?>) args[0]);
      }
      case "isWrapperFor" -> {
        return ((Class<?>) args[0]).isInstance(proxy) || isPgStatement(args[0]);
      }
      default -> {
        if (args.length > 1) {
          args[1] = bare(args[1]); // setArray, setBlob, setObject …
        }
      }
    }
    return guards.result(forward(method, args), (Statement) proxy);
  }

  private boolean isPgStatement(Object type) throws SQLException {
    return type == PGStatement.class && ((Statement) real).isWrapperFor(PGStatement.class);
  }
}
