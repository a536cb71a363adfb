package org.pgonce.pools;

import java.io.PrintWriter;
import java.lang.ref.WeakReference;
import java.sql.Connection;
import java.sql.ConnectionBuilder;
import java.sql.SQLException;
import java.sql.SQLFeatureNotSupportedException;
import java.sql.ShardingKeyBuilder;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.logging.Logger;
import java.util.stream.Collectors;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.concurrent.Threads;
import org.pgonce.internal.store.PublishStatements;
import org.slf4j.LoggerFactory;

/**
 * A data source that logs a warning, with where, when a handler takes a connection from it while
 * its thread holds another one of it: once per place. As many such handlers as the pool has
 * connections wait for one another until it gives up, 30 s with HikariCP.
 *
 * <p>To be given to pgonce, and to all that handlers call. Connections are handed out as they are:
 * whether one is still held is what it says itself. What a handler does on threads of its own is
 * not seen. Other threads pay for a look at a thread-local. Safe for use by several threads.
 */
public final class WatchedDataSource implements DataSource {

  private static final org.slf4j.Logger LOG = LoggerFactory.getLogger(WatchedDataSource.class);

  // A place is what the handler called, and not how it was called.
  private static final String OWN = WatchedDataSource.class.getName();
  private static final String CALLERS = "org.pgonce.internal.handle.";
  private static final int MOST_PLACES = 20;
  private static final int MOST_FRAMES = 100;

  private static final ThreadLocal<List<Held>> HELD = ThreadLocal.withInitial(ArrayList::new);

  /** What a worker has got. */
  private record Held(DataSource from, WeakReference<Connection> connection) {

    boolean isOver() {
      var held = connection.get();
      try {
        return held == null || held.isClosed();
      } catch (SQLException broken) {
        return true;
      }
    }
  }

  @FunctionalInterface
  private interface Source {
    Connection take() throws SQLException;
  }

  private final DataSource pool;
  private final Set<String> places = ConcurrentHashMap.newKeySet();

  public WatchedDataSource(DataSource pool) {
    this.pool = Objects.requireNonNull(pool, "pool");
  }

  /** What it watches, if it is one: its class, and what that class can load, say what it is. */
  static DataSource behind(DataSource dataSource) {
    return dataSource instanceof WatchedDataSource watched ? behind(watched.pool) : dataSource;
  }

  @Override
  public Connection getConnection() throws SQLException {
    return watched(pool::getConnection);
  }

  @Override
  public Connection getConnection(@Nullable String username, @Nullable String password)
      throws SQLException {
    return watched(() -> pool.getConnection(username, password));
  }

  private Connection watched(Source source) throws SQLException {
    if (!Threads.isWorker()) {
      return source.take();
    }
    var held = HELD.get();
    held.removeIf(Held::isOver);
    if (PublishStatements.depth() > 0 && held.stream().anyMatch(one -> one.from() == pool)) {
      warn(); // first: it may wait for long now
    }
    var taken = source.take();
    held.add(new Held(pool, new WeakReference<>(taken)));
    return taken;
  }

  private void warn() {
    var place =
        StackWalker.getInstance()
            .walk(
                frames ->
                    frames
                        .limit(MOST_FRAMES)
                        .dropWhile(one -> one.getClassName().equals(OWN))
                        .takeWhile(one -> !one.getClassName().startsWith(CALLERS))
                        .map(StackWalker.StackFrame::toString)
                        .collect(Collectors.joining("\n")));
    if (places.size() < MOST_PLACES && places.add(place)) {
      LOG.warn(
          "pgonce: a handler takes a second connection while its thread holds one of the same data source. Handlers that do so at once can wait for one another until the pool gives up. Use the transaction that the handler is given (tx.connection()), or size the pool for two connections per handler. Said once per place, which is:",
          new Throwable("a second connection is taken here"));
    }
  }

  @Override
  public ConnectionBuilder createConnectionBuilder() throws SQLException {
    return pool.createConnectionBuilder();
  }

  @Override
  public ShardingKeyBuilder createShardingKeyBuilder() throws SQLException {
    return pool.createShardingKeyBuilder();
  }

  @Override
  public @Nullable PrintWriter getLogWriter() throws SQLException {
    return pool.getLogWriter();
  }

  @Override
  public void setLogWriter(@Nullable PrintWriter out) throws SQLException {
    pool.setLogWriter(out);
  }

  @Override
  public int getLoginTimeout() throws SQLException {
    return pool.getLoginTimeout();
  }

  @Override
  public void setLoginTimeout(int seconds) throws SQLException {
    pool.setLoginTimeout(seconds);
  }

  @Override
  public Logger getParentLogger() throws SQLFeatureNotSupportedException {
    return pool.getParentLogger();
  }

  @Override
  public <T> T unwrap(Class<T> type) throws SQLException {
    return type.isInstance(pool) ? type.cast(pool) : pool.unwrap(type);
  }

  @Override
  public boolean isWrapperFor(Class<?> type) throws SQLException {
    return type.isInstance(pool) || pool.isWrapperFor(type);
  }
}
