package org.pgonce.internal.handle;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.Reader;
import java.io.Writer;
import java.sql.SQLException;
import org.postgresql.copy.CopyDual;
import org.postgresql.copy.CopyIn;
import org.postgresql.copy.CopyManager;
import org.postgresql.copy.CopyOut;
import org.postgresql.core.BaseConnection;
import org.postgresql.util.ByteStreamWriter;

/**
 * pgjdbc's COPY for a handler: whole, in one call. While a COPY is open pgjdbc has every other call
 * wait for its end, for ever; and of a COPY TO that is not read to its end it takes the rest for
 * the answer to the next statement.
 */
final class GuardedCopyManager extends CopyManager {

  private final HandlerScope scope;
  private boolean begins;

  GuardedCopyManager(HandlerScope scope, BaseConnection connection) throws SQLException {
    super(connection);
    this.scope = scope;
  }

  private interface Copy {
    long run() throws SQLException, IOException;
  }

  private long whole(String sql, Copy copy) throws SQLException, IOException {
    scope.requireTurn();
    try {
      scope.arm(HandlerSql.read(sql), true);
      begins = true;
      return copy.run();
    } catch (SQLException e) {
      throw scope.noted(e);
    } catch (IOException | RuntimeException | Error e) {
      scope.abort(); // by the reader or writer of the handler
      throw e;
    } finally {
      begins = false;
      scope.leave();
    }
  }

  @Override
  public long copyIn(String sql, Reader from, int bufferSize) throws SQLException, IOException {
    return whole(sql, () -> super.copyIn(sql, from, bufferSize));
  }

  @Override
  public long copyIn(String sql, InputStream from, int bufferSize)
      throws SQLException, IOException {
    return whole(sql, () -> super.copyIn(sql, from, bufferSize));
  }

  @Override
  public long copyIn(String sql, ByteStreamWriter from) throws SQLException, IOException {
    return whole(sql, () -> super.copyIn(sql, from));
  }

  @Override
  public long copyOut(String sql, Writer to) throws SQLException, IOException {
    return whole(sql, () -> super.copyOut(sql, to));
  }

  @Override
  public long copyOut(String sql, OutputStream to) throws SQLException, IOException {
    return whole(sql, () -> super.copyOut(sql, to));
  }

  // All those above begin by these.

  @Override
  public CopyIn copyIn(String sql) throws SQLException {
    requireWhole("copyIn(String)");
    return super.copyIn(sql);
  }

  @Override
  public CopyOut copyOut(String sql) throws SQLException {
    requireWhole("copyOut(String)");
    return super.copyOut(sql);
  }

  @Override
  public CopyDual copyDual(String sql) throws SQLException {
    requireWhole("copyDual()");
    return super.copyDual(sql);
  }

  private void requireWhole(String method) throws SQLException {
    if (scope.hasEnded()) {
      throw scope.usedAfterEnd();
    }
    if (!begins) {
      throw scope.refused(
          new Refusal(
              method,
              "a COPY that is open blocks each other call on the connection",
              "use the methods of CopyManager that take a stream, a reader or a writer, and copy all"
                  + " at once",
              true));
    }
    begins = false;
  }
}
