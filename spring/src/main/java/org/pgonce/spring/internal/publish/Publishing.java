package org.pgonce.spring.internal.publish;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import org.pgonce.Channel;
import org.pgonce.Message;
import org.pgonce.PublishOptions;
import org.pgonce.Published;

/** The methods of {@link org.pgonce.Publisher}, and who makes the trace go along. */
public interface Publishing {

  <T> long publish(Connection transaction, Channel<T> channel, T payload) throws SQLException;

  <T> Published publish(
      Connection transaction, Channel<T> channel, T payload, PublishOptions options)
      throws SQLException;

  <T> List<Long> publishAll(Connection transaction, Channel<T> channel, List<T> payloads)
      throws SQLException;

  <T> List<Published> publishEach(
      Connection transaction, Channel<T> channel, List<Message<T>> messages) throws SQLException;

  /** Gives what the transaction's triggers store from now on the current trace, if there is one. */
  void propagate(Connection transaction) throws SQLException;
}
