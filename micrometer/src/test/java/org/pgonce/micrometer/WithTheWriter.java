package org.pgonce.micrometer;

import io.opentelemetry.api.common.Attributes;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.context.Context;
import io.opentelemetry.sdk.trace.data.LinkData;
import io.opentelemetry.sdk.trace.samplers.Sampler;
import io.opentelemetry.sdk.trace.samplers.SamplingResult;
import java.util.List;

/** Keeps a handler's trace where that of one of its writers is kept. docs/metrics.md shows it. */
record WithTheWriter(Sampler others) implements Sampler {

  @Override
  public SamplingResult shouldSample(
      Context parent,
      String traceId,
      String name,
      SpanKind kind,
      Attributes attributes,
      List<LinkData> links) {
    if (links.isEmpty()) {
      return others.shouldSample(parent, traceId, name, kind, attributes, links);
    }
    return links.stream().anyMatch(writer -> writer.getSpanContext().isSampled())
        ? SamplingResult.recordAndSample()
        : SamplingResult.drop();
  }

  @Override
  public String getDescription() {
    return "WithTheWriter{" + others.getDescription() + "}";
  }
}
