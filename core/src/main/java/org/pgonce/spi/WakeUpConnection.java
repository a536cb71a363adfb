package org.pgonce.spi;

import java.sql.SQLException;
import java.time.Duration;
import java.util.List;

/**
 * One open LISTEN connection. pgonce calls {@link #execute} from one thread at a time and {@link
 * #close()} from any, each on a thread of its own: a call may block for longer than it should.
 */
public interface WakeUpConnection extends AutoCloseable {

  /**
   * Runs the statements in this order, outside of a transaction, and without JDBC's escapes.
   *
   * @param timeout after which the caller stops waiting; positive
   * @throws SQLException when the server refuses, or the connection is dead or closed
   */
  void execute(List<String> statements, Duration timeout) throws SQLException;

  /**
   * Process id of the backend that answered when the connection was opened, as the backend itself
   * says it, to be found again in {@code pg_stat_activity}.
   */
  int backendPid();

  /**
   * Whether something between hands out process ids of its own, as a connection pooler does. The
   * echo of a NOTIFY to oneself then proves nothing: in transaction mode it comes back inside the
   * transaction that sent it, while nothing that comes later ever arrives.
   */
  boolean pooled();

  /**
   * Ends the connection, whatever the peer does; {@link #execute} that is under way ends with an
   * SQLException. Called once; never throws.
   */
  @Override
  void close();
}
