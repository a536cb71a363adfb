package org.pgonce.internal.deliver;

import java.lang.reflect.Method;
import java.sql.ResultSet;
import java.sql.Statement;
import org.jspecify.annotations.Nullable;

/** A result set of a handler: with a fetch size it goes back to the server for more rows. */
final class ResultSetGuard extends GuardedObject {

  private @Nullable Statement statement;

  ResultSetGuard(Guards guards, ResultSet real, @Nullable Statement statement) {
    super(guards, real);
    this.statement = statement;
  }

  @Override
  @Nullable Object call(Object proxy, Method method, Object[] args) throws Throwable {
    return switch (method.getName()) {
      case "getStatement" -> statement(method, args);
      case "unwrap" -> unwrap(proxy, (Class<?>) args[0]);
      case "isWrapperFor" -> ((Class<?>) args[0]).isInstance(proxy);
      default -> {
        if (args.length > 1) {
          args[1] = bare(args[1]); // updateArray, updateBlob …
        }
        scope.requireNoOpenCopy(); // it may have to fetch
        yield guards.result(forward(method, args), null);
      }
    };
  }

  private @Nullable Statement statement(Method method, Object[] args) throws Throwable {
    if (statement == null && forward(method, args) instanceof Statement driverOwn) {
      statement = guards.statement(driverOwn);
    }
    return statement;
  }
}
