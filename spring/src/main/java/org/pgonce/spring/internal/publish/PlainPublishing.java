package org.pgonce.spring.internal.publish;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import org.pgonce.Channel;
import org.pgonce.Message;
import org.pgonce.PublishOptions;
import org.pgonce.Published;
import org.pgonce.Publisher;

/** Without a span. */
public record PlainPublishing(Publisher publisher) implements Publishing {

  @Override
  public <T> long publish(Connection transaction, Channel<T> channel, T payload)
      throws SQLException {
    return publisher.publish(transaction, channel, payload);
  }

  @Override
  public <T> Published publish(
      Connection transaction, Channel<T> channel, T payload, PublishOptions options)
      throws SQLException {
    return publisher.publish(transaction, channel, payload, options);
  }

  @Override
  public <T> List<Long> publishAll(Connection transaction, Channel<T> channel, List<T> payloads)
      throws SQLException {
    return publisher.publishAll(transaction, channel, payloads);
  }

  @Override
  public <T> List<Published> publishEach(
      Connection transaction, Channel<T> channel, List<Message<T>> messages) throws SQLException {
    return publisher.publishEach(transaction, channel, messages);
  }

  @Override
  public void propagate(Connection transaction) {}
}
