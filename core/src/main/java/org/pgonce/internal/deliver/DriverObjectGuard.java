package org.pgonce.internal.deliver;

import java.lang.reflect.Method;
import org.jspecify.annotations.Nullable;
import org.postgresql.copy.CopyOperation;

/**
 * Any other object of a driver that can still reach the connection: arrays, large objects, metadata
 * of results, a COPY under way. By the time a handler has one, the savepoint is set.
 */
final class DriverObjectGuard extends GuardedObject {

  DriverObjectGuard(Guards guards, Object real) {
    super(guards, real);
  }

  @Override
  @Nullable Object call(Object proxy, Method method, Object[] args) throws Throwable {
    if (real instanceof CopyOperation copy && method.getName().equals("cancelCopy")) {
      scope.cancel(copy);
      return null;
    }
    return switch (method.getName()) {
      case "unwrap" -> unwrap(proxy, (Class<?>) args[0]);
      case "isWrapperFor" -> ((Class<?>) args[0]).isInstance(proxy);
      default -> guards.result(forward(method, args), null);
    };
  }
}
