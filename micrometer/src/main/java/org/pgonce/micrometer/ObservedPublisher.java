package org.pgonce.micrometer;

import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationRegistry;
import io.micrometer.observation.transport.Kind;
import io.micrometer.observation.transport.SenderContext;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.pgonce.Channel;
import org.pgonce.Message;
import org.pgonce.Mode;
import org.pgonce.PublishOptions;
import org.pgonce.Published;
import org.pgonce.Publisher;
import org.pgonce.WriterContext;

/**
 * A {@link Publisher}, of which each call is within a span {@code send <channel>} of kind PRODUCER.
 * The trace context of that span is put into the notification's context, in the fields of the
 * tracer's propagator, for {@link HandlerObservation}. A broadcast carries none.
 *
 * <p>Each method throws what the method of {@link Publisher} throws. Immutable and safe for use by
 * several threads.
 */
public final class ObservedPublisher extends Publisher {

  private final ObservationRegistry registry;

  /** Publishes as this publisher does. */
  public ObservedPublisher(Publisher publisher, ObservationRegistry registry) {
    super(Objects.requireNonNull(publisher, "publisher"));
    this.registry = Objects.requireNonNull(registry, "registry");
  }

  @Override
  public <T> long publish(Connection transaction, Channel<T> channel, T payload)
      throws SQLException {
    return publish(transaction, channel, payload, PublishOptions.DEFAULT).id();
  }

  @Override
  public <T> List<Long> publishAll(Connection transaction, Channel<T> channel, List<T> payloads)
      throws SQLException {
    var sending = new Sending();
    return observation(sending, channel)
        .highCardinalityKeyValue("messaging.batch.message_count", "" + payloads.size())
        .observeChecked(
            () -> {
              if (!sending.goesAlong(channel)) { // a cheaper statement
                return super.publishAll(transaction, channel, payloads);
              }
              var options = sending.on(channel, PublishOptions.DEFAULT);
              return super.publishEach(
                      transaction,
                      channel,
                      payloads.stream().map(payload -> new Message<>(payload, options)).toList())
                  .stream()
                  .map(Published::id)
                  .toList();
            });
  }

  @Override
  public <T> Published publish(
      Connection transaction, Channel<T> channel, T payload, PublishOptions options)
      throws SQLException {
    var sending = new Sending();
    var observation = observation(sending, channel);
    return observation.observeChecked(
        () -> {
          var published =
              super.publish(transaction, channel, payload, sending.on(channel, options));
          observation.highCardinalityKeyValue("messaging.message.id", "" + published.id());
          return published;
        });
  }

  @Override
  public <T> List<Published> publishEach(
      Connection transaction, Channel<T> channel, List<Message<T>> messages) throws SQLException {
    var sending = new Sending();
    return observation(sending, channel)
        .highCardinalityKeyValue("messaging.batch.message_count", "" + messages.size())
        .observeChecked(
            () ->
                super.publishEach(
                    transaction,
                    channel,
                    messages.stream()
                        .map(
                            one -> new Message<>(one.payload(), sending.on(channel, one.options())))
                        .toList()));
  }

  /**
   * Gives what this transaction publishes from now on the current trace: by triggers, by SQL, by
   * any publisher. The span is a short one, {@code send}. One statement, which adds to the {@link
   * WriterContext}; none where nothing is traced.
   *
   * @throws IllegalStateException if the connection is in autocommit
   */
  @Override
  public void propagate(Connection transaction) throws SQLException {
    var sending = new Sending();
    observation(sending)
        .contextualName("send")
        .observeChecked(
            () -> {
              if (!sending.fields.isEmpty()) {
                WriterContext.set(transaction, sending.fields);
              }
            });
  }

  private Observation observation(Sending sending, Channel<?> channel) {
    return observation(sending)
        .contextualName("send " + channel.name())
        .lowCardinalityKeyValue("messaging.destination.name", channel.name());
  }

  private Observation observation(Sending sending) {
    return Observation.createNotStarted("pgonce.send", () -> sending, registry)
        .lowCardinalityKeyValue("messaging.system", HandlerObservation.SYSTEM)
        .lowCardinalityKeyValue("messaging.operation.name", "send")
        .lowCardinalityKeyValue("messaging.operation.type", "send");
  }

  /** The tracer puts its fields in when the observation starts. */
  private static final class Sending extends SenderContext<Map<String, String>> {

    private final Map<String, String> fields = new HashMap<>();

    Sending() {
      super(
          (carrier, key, value) -> Objects.requireNonNull(carrier).put(key, value), Kind.PRODUCER);
      setCarrier(fields);
    }

    boolean goesAlong(Channel<?> channel) {
      return !fields.isEmpty() && channel.mode() != Mode.BROADCAST;
    }

    /** The options with the tracer's fields beside the caller's own context. */
    PublishOptions on(Channel<?> channel, PublishOptions options) {
      if (!goesAlong(channel)) {
        return options;
      }
      var context = new HashMap<>(options.context());
      context.putAll(fields);
      return options.withContext(context);
    }
  }
}
