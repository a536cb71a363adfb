package org.pgonce.internal.deliver;

import java.io.InputStream;
import java.io.OutputStream;
import java.io.Reader;
import java.io.Writer;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.sql.Array;
import java.sql.Blob;
import java.sql.CallableStatement;
import java.sql.Clob;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.NClob;
import java.sql.ParameterMetaData;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLXML;
import java.sql.Statement;
import java.sql.Struct;
import org.jspecify.annotations.Nullable;

/** Makes the guarded objects of one handler run; each leads back to the one guarded connection. */
final class Guards {

  private final HandlerScope scope;
  private final Connection connection;

  Guards(HandlerScope scope, Connection real) {
    this.scope = scope;
    this.connection = proxy(Connection.class, new ConnectionGuard(this, real));
  }

  HandlerScope scope() {
    return scope;
  }

  Connection connection() {
    return connection;
  }

  Statement statement(Statement real) {
    var guard = new StatementGuard(this, real);
    if (real instanceof CallableStatement) {
      return proxy(CallableStatement.class, guard);
    }
    return real instanceof PreparedStatement
        ? proxy(PreparedStatement.class, guard)
        : proxy(Statement.class, guard);
  }

  DatabaseMetaData metaData(DatabaseMetaData real) {
    return proxy(DatabaseMetaData.class, new MetaDataGuard(this, real));
  }

  /**
   * Guards what a call has returned if it can still reach the connection.
   *
   * @param statement the guarded statement that a result set came from; null where the driver alone
   *     knows it
   */
  @Nullable Object result(@Nullable Object result, @Nullable Statement statement) {
    if (result == null || result instanceof String || result instanceof Number) {
      return result;
    } else if (result instanceof ResultSet rows) {
      return proxy(ResultSet.class, new ResultSetGuard(this, rows, statement));
    } else if (result instanceof Array) {
      return driverObject(Array.class, result);
    } else if (result instanceof NClob) {
      return driverObject(NClob.class, result);
    } else if (result instanceof Clob) {
      return driverObject(Clob.class, result);
    } else if (result instanceof Blob) {
      return driverObject(Blob.class, result);
    } else if (result instanceof SQLXML) {
      return driverObject(SQLXML.class, result);
    } else if (result instanceof Struct) {
      return driverObject(Struct.class, result);
    } else if (result instanceof InputStream stream) {
      return GuardedStream.of(scope, stream);
    } else if (result instanceof OutputStream stream) {
      return GuardedStream.of(scope, stream);
    } else if (result instanceof Reader stream) {
      return GuardedStream.of(scope, stream);
    } else if (result instanceof Writer stream) {
      return GuardedStream.of(scope, stream);
    } else if (result instanceof ResultSetMetaData) {
      return driverObject(ResultSetMetaData.class, result);
    } else if (result instanceof ParameterMetaData) {
      return driverObject(ParameterMetaData.class, result);
    }
    return result;
  }

  <T> T driverObject(Class<T> type, Object real) {
    return proxy(type, new DriverObjectGuard(this, real));
  }

  static <T> T proxy(Class<T> type, InvocationHandler guard) {
    return type.cast(
        Proxy.newProxyInstance(Guards.class.getClassLoader(), new Class<?>[] {type}, guard));
  }
}
