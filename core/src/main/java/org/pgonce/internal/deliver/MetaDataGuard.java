package org.pgonce.internal.deliver;

import java.lang.reflect.Method;
import java.sql.DatabaseMetaData;
import org.jspecify.annotations.Nullable;

/** The metadata of a handler's connection, much of which the driver asks the server for. */
final class MetaDataGuard extends GuardedObject {

  MetaDataGuard(Guards guards, DatabaseMetaData real) {
    super(guards, real);
  }

  @Override
  @Nullable Object call(Object proxy, Method method, Object[] args) throws Throwable {
    return switch (method.getName()) {
      case "getConnection" -> guards.connection();
      case "unwrap" -> unwrap(proxy, (Class<?>) args[0]);
      case "isWrapperFor" -> ((Class<?>) args[0]).isInstance(proxy);
      // Frameworks ask for these each time, and the drivers know them.
      case "getDatabaseProductName",
          "getDatabaseProductVersion",
          "getDatabaseMajorVersion",
          "getDatabaseMinorVersion",
          "getDriverName",
          "getDriverVersion",
          "getURL",
          "supportsSavepoints",
          "supportsBatchUpdates",
          "supportsGetGeneratedKeys" ->
          forward(method, args);
      default -> {
        scope.arm();
        yield guards.result(forward(method, args), null);
      }
    };
  }
}
