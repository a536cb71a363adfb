package org.pgonce.internal.deliver;

import java.lang.reflect.Method;
import java.sql.Connection;
import java.sql.SQLException;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.jdbc.PgjdbcNg;
import org.postgresql.PGConnection;
import org.postgresql.core.BaseConnection;

/**
 * What the drivers offer beyond JDBC, for a handler: COPY above all. What hands out the raw
 * connection, or sets something on it for good, is refused.
 */
final class VendorConnection extends GuardedObject {

  private static final Class<?> OF_PGJDBC = PGConnection.class;
  private static final Class<?> OF_PGJDBC_NG = PgjdbcNg.CONNECTION;

  private final ConnectionGuard jdbc;

  private VendorConnection(Guards guards, Object real, ConnectionGuard jdbc) {
    super(guards, real);
    this.jdbc = jdbc;
  }

  static boolean isOffered(Connection connection, Object type) throws SQLException {
    return (type == OF_PGJDBC || type == OF_PGJDBC_NG) && connection.isWrapperFor((Class<?>) type);
  }

  static Object guard(Guards guards, Class<?> type, Object real, ConnectionGuard jdbc) {
    return Guards.proxy(type, new VendorConnection(guards, real, jdbc));
  }

  @Override
  @Nullable Object call(Object proxy, Method method, Object[] args) throws Throwable {
    if (method.getDeclaringClass() != OF_PGJDBC && method.getDeclaringClass() != OF_PGJDBC_NG) {
      return jdbc.call(proxy, method, args); // pgjdbc-ng's interface is a java.sql.Connection too
    }
    return switch (method.getName()) {
      case "getCopyAPI" ->
          new GuardedCopyManager(guards, ((Connection) real).unwrap(BaseConnection.class));
      case "copyFrom", "copyTo" -> {
        scope.arm((String) args[0]);
        yield forward(method, args);
      }
      case "createArrayOf", "resolveType" -> {
        scope.arm();
        yield guards.result(forward(method, args), null);
      }
      case "escapeIdentifier",
          "escapeLiteral",
          "getBackendPID",
          "getPreferQueryMode",
          "getAutosave",
          "getAdaptiveFetch",
          "getDefaultFetchSize",
          "getPrepareThreshold",
          "getQueryTimeout",
          "getParameterStatus",
          "getParameterStatuses",
          "isStrictMode",
          "isServerMinimumVersion" ->
          forward(method, args);
      default ->
          throw scope.refused(
              Refusal.ofSessionChange(
                  method.getName() + "()",
                  "use JDBC or SQL: large objects by lo_get and lo_put, fetch size and prepare"
                      + " threshold on the statement"));
    };
  }
}
