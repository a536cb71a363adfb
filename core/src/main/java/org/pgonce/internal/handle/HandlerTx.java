package org.pgonce.internal.handle;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import org.pgonce.Channel;
import org.pgonce.PublishOptions;
import org.pgonce.Published;
import org.pgonce.Publisher;
import org.pgonce.Tx;

/** The handler's view of a transaction that someone else begins and ends. */
public final class HandlerTx implements Tx {

  private final ConnectionSupplier connections;
  private final Publisher publisher;

  public HandlerTx(ConnectionSupplier connections, Publisher publisher) {
    this.connections = connections;
    this.publisher = publisher;
  }

  @Override
  public Connection connection() throws SQLException {
    return connections.get();
  }

  @Override
  public int update(String sql, Object... parameters) throws SQLException {
    try (var statement = prepare(sql, parameters)) {
      return statement.executeUpdate();
    }
  }

  @Override
  public <R> List<R> query(String sql, RowMapper<R> mapper, Object... parameters)
      throws SQLException {
    try (var statement = prepare(sql, parameters);
        var row = statement.executeQuery()) {
      var mapped = new ArrayList<R>();
      while (row.next()) {
        mapped.add(mapper.map(row));
      }
      return mapped;
    }
  }

  @Override
  public <P> long publish(Channel<P> channel, P payload) throws SQLException {
    return publisher.publish(connection(), channel, payload);
  }

  @Override
  public <P> Published publish(Channel<P> channel, P payload, PublishOptions options)
      throws SQLException {
    return publisher.publish(connection(), channel, payload, options);
  }

  private PreparedStatement prepare(String sql, Object... parameters) throws SQLException {
    var statement = connection().prepareStatement(sql); // closed with the handler at the latest
    for (var i = 0; i < parameters.length; i++) {
      statement.setObject(i + 1, parameters[i]);
    }
    return statement;
  }

  /** Gives the connection when it is first needed. */
  @FunctionalInterface
  public interface ConnectionSupplier {
    Connection get() throws SQLException;
  }
}
