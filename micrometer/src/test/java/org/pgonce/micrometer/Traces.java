package org.pgonce.micrometer;

import io.micrometer.observation.ObservationHandler;
import io.micrometer.observation.ObservationRegistry;
import io.micrometer.tracing.Tracer;
import io.micrometer.tracing.handler.DefaultTracingObservationHandler;
import io.micrometer.tracing.handler.PropagatingReceiverTracingObservationHandler;
import io.micrometer.tracing.handler.PropagatingSenderTracingObservationHandler;
import io.micrometer.tracing.handler.TracingObservationHandler;
import io.micrometer.tracing.otel.bridge.OtelCurrentTraceContext;
import io.micrometer.tracing.otel.bridge.OtelPropagator;
import io.micrometer.tracing.otel.bridge.OtelTracer;
import io.opentelemetry.api.trace.propagation.W3CTraceContextPropagator;
import io.opentelemetry.context.propagation.ContextPropagators;
import io.opentelemetry.sdk.testing.exporter.InMemorySpanExporter;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import io.opentelemetry.sdk.trace.data.SpanData;
import io.opentelemetry.sdk.trace.export.SimpleSpanProcessor;
import io.opentelemetry.sdk.trace.samplers.Sampler;
import java.util.ArrayList;
import java.util.List;
import java.util.NoSuchElementException;

/** Micrometer's observations on OpenTelemetry's tracer, with the spans in memory. */
final class Traces implements AutoCloseable {

  final ObservationRegistry observations = ObservationRegistry.create();
  private final InMemorySpanExporter exporter = InMemorySpanExporter.create();
  private final SdkTracerProvider provider;

  private Traces(Sampler sampler, boolean linked) {
    provider =
        SdkTracerProvider.builder()
            .setSampler(sampler)
            .addSpanProcessor(SimpleSpanProcessor.create(exporter))
            .build();
    var otel = provider.get("test");
    var propagators = ContextPropagators.create(W3CTraceContextPropagator.getInstance());
    Tracer tracer = new OtelTracer(otel, new OtelCurrentTraceContext(), event -> {});
    var propagator = new OtelPropagator(propagators, otel);
    var handlers = new ArrayList<TracingObservationHandler<?>>();
    if (linked) {
      handlers.add(new WriterLinks(tracer, propagator));
    }
    handlers.add(new PropagatingReceiverTracingObservationHandler<>(tracer, propagator));
    handlers.add(new PropagatingSenderTracingObservationHandler<>(tracer, propagator));
    handlers.add(new DefaultTracingObservationHandler(tracer));
    observations
        .observationConfig()
        .observationHandler(
            new ObservationHandler.FirstMatchingCompositeObservationHandler(handlers));
  }

  static Traces linked() {
    return new Traces(Sampler.alwaysOn(), true);
  }

  static Traces asChildren() {
    return new Traces(Sampler.alwaysOn(), false);
  }

  static Traces unsampled() {
    return new Traces(Sampler.alwaysOff(), true);
  }

  static Traces sampled(Sampler roots) {
    return new Traces(Sampler.parentBased(roots), true);
  }

  /** Those that have ended, in the order of their ends. */
  List<SpanData> spans() {
    return exporter.getFinishedSpanItems();
  }

  List<SpanData> spans(String name) {
    return spans().stream().filter(span -> span.getName().equals(name)).toList();
  }

  SpanData span(String name) {
    return spans(name).stream()
        .findFirst()
        .orElseThrow(() -> new NoSuchElementException(name + " is not among " + spans()));
  }

  @Override
  public void close() {
    provider.close();
  }
}
