package org.pgonce.micrometer;

import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationRegistry;
import java.util.Objects;
import org.pgonce.spi.HandlerInterceptor;

/**
 * Observes each run of a handler: a span {@code process <channel>} of kind CONSUMER, named and
 * attributed by OpenTelemetry's conventions for messaging. docs/metrics.md lists the attributes.
 *
 * <p>The trace of the writer comes along in the notification's context, see {@link
 * ObservedPublisher}. The span links to it where {@link WriterLinks} is among the registry's
 * handlers; without it Micrometer's own handler makes the span a child of the writer's.
 *
 * <p>A span ends before the commit: what fails behind the handler is in {@code pgonce.process} and
 * in the log. Immutable and safe for use by several threads.
 */
public final class HandlerObservation implements HandlerInterceptor {

  static final String SYSTEM = "pgonce";

  private final ObservationRegistry registry;

  public HandlerObservation(ObservationRegistry registry) {
    this.registry = Objects.requireNonNull(registry, "registry");
  }

  @Override
  public void around(Call call) throws Exception {
    var run = new HandlerRun(call.notifications());
    var first = run.notifications().get(0);
    var observation =
        Observation.createNotStarted("pgonce.handle", () -> run, registry)
            .contextualName("process " + first.channel())
            .lowCardinalityKeyValue("messaging.system", SYSTEM)
            .lowCardinalityKeyValue("messaging.operation.name", "process")
            .lowCardinalityKeyValue("messaging.operation.type", "process")
            .lowCardinalityKeyValue("messaging.destination.name", first.channel())
            .lowCardinalityKeyValue("messaging.destination.subscription.name", first.subscription())
            .lowCardinalityKeyValue("pgonce.mode", call.mode().name());
    var size = run.notifications().size();
    if (size > 1) {
      observation.highCardinalityKeyValue("messaging.batch.message_count", String.valueOf(size));
    } else {
      observation
          .highCardinalityKeyValue("messaging.message.id", String.valueOf(first.id()))
          .highCardinalityKeyValue("pgonce.attempt", String.valueOf(first.attempt()))
          .highCardinalityKeyValue("pgonce.delivery_key", first.deliveryKey());
    }
    observation.observeChecked(
        () -> {
          try {
            call.proceed();
          } catch (Exception | Error e) {
            observation.highCardinalityKeyValue("error.type", e.getClass().getName());
            throw e;
          }
        });
  }
}
