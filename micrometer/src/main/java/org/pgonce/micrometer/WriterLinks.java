package org.pgonce.micrometer;

import io.micrometer.observation.Observation;
import io.micrometer.tracing.Link;
import io.micrometer.tracing.Span;
import io.micrometer.tracing.Tracer;
import io.micrometer.tracing.handler.PropagatingReceiverTracingObservationHandler;
import io.micrometer.tracing.propagation.Propagator;
import java.util.regex.Pattern;

/**
 * Lets the span of a handler link to the spans of the writers, by the W3C {@code traceparent} in
 * each notification's context, and begin a trace of its own: a notification may run hours after its
 * writer, and again. It stands before Micrometer's own handlers:
 *
 * <pre>{@code
 * registry.observationConfig().observationHandler(
 *     new ObservationHandler.FirstMatchingCompositeObservationHandler(
 *         new WriterLinks(tracer, propagator),
 *         new PropagatingReceiverTracingObservationHandler<>(tracer, propagator),
 *         new PropagatingSenderTracingObservationHandler<>(tracer, propagator),
 *         new DefaultTracingObservationHandler(tracer)));
 * }</pre>
 *
 * <p>Leave it out, and the handler's span is a child of the writer's, whatever format the
 * propagator has. Needs micrometer-tracing on the class path. Safe for use by several threads.
 */
public final class WriterLinks extends PropagatingReceiverTracingObservationHandler<HandlerRun> {

  // https://www.w3.org/TR/trace-context: version, trace id, span id, flags; a later version may
  // have more behind.
  private static final Pattern TRACEPARENT =
      Pattern.compile("(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?");

  public WriterLinks(Tracer tracer, Propagator propagator) {
    super(tracer, propagator);
  }

  @Override
  public boolean supportsContext(Observation.Context context) {
    return context instanceof HandlerRun;
  }

  @Override
  public void onStart(HandlerRun run) {
    var span = getTracer().spanBuilder().setNoParent().kind(Span.Kind.CONSUMER);
    for (var notification : run.notifications()) {
      var writer = notification.context().get("traceparent");
      if (writer != null) {
        link(span, writer);
      }
    }
    getTracingContext(run).setSpan(span.start());
  }

  private void link(Span.Builder span, String traceparent) {
    var parts = TRACEPARENT.matcher(traceparent);
    if (parts.matches()) {
      var isSampled = (Integer.parseInt(parts.group(3), 16) & 1) == 1;
      span.addLink(
          new Link(
              getTracer()
                  .traceContextBuilder()
                  .traceId(parts.group(1))
                  .spanId(parts.group(2))
                  .sampled(isSampled)
                  .build()));
    }
  }
}
