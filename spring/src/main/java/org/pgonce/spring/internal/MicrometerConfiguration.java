package org.pgonce.spring.internal;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.observation.ObservationRegistry;
import io.micrometer.tracing.Tracer;
import io.micrometer.tracing.propagation.Propagator;
import org.pgonce.PgOnce;
import org.pgonce.micrometer.EventMeters;
import org.pgonce.micrometer.HandlerObservation;
import org.pgonce.micrometer.LoggingContext;
import org.pgonce.micrometer.ObservedPublisher;
import org.pgonce.micrometer.PgOnceMetrics;
import org.pgonce.micrometer.WriterLinks;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.AutoConfigureOrder;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;

/** Where pgonce-micrometer is there: its meters, spans and logging context. */
@AutoConfiguration
@AutoConfigureOrder(Ordered.LOWEST_PRECEDENCE) // behind what makes registries and tracers
@ConditionalOnClass(EventMeters.class)
@ConditionalOnBean(OurDataSource.class)
public class MicrometerConfiguration {

  // Below 0: outside of Spring's transaction, so that its flush counts.
  private static final int OBSERVED = -200;
  private static final int LOGGED = -100;

  @Bean
  @ConditionalOnMissingBean
  @ConditionalOnBean(MeterRegistry.class)
  EventMeters pgOnceEventMeters(MeterRegistry registry) {
    return new EventMeters(registry);
  }

  /** Boot binds it, and closes it before the data source. */
  @Bean
  @ConditionalOnMissingBean
  @ConditionalOnBean(MeterRegistry.class)
  PgOnceMetrics pgOnceMetrics(PgOnce pgonce, OurDataSource ours) {
    return PgOnceMetrics.of(pgonce, ours.pool());
  }

  @Bean
  @Order(OBSERVED)
  @ConditionalOnMissingBean
  @ConditionalOnBean(ObservationRegistry.class)
  HandlerObservation pgOnceHandlerObservation(ObservationRegistry registry) {
    return new HandlerObservation(registry);
  }

  /** For PgOnceTemplate alone: the service may have a Publisher of its own. */
  @Bean(name = PgOnceConfiguration.OBSERVED_PUBLISHER, defaultCandidate = false)
  @ConditionalOnBean(ObservationRegistry.class)
  ObservedPublisher pgOnceObservedPublisher(PgOnce pgonce, ObservationRegistry registry) {
    return new ObservedPublisher(pgonce.publisher(), registry);
  }

  @Bean
  @Order(LOGGED)
  @ConditionalOnMissingBean
  LoggingContext pgOnceLoggingContext() {
    return new LoggingContext();
  }

  /** Where something traces. */
  @Configuration(proxyBeanMethods = false)
  @ConditionalOnClass(Tracer.class)
  static class Tracing {

    // Before Boot's own handlers, of which the first has the order 1000.
    private static final int FIRST = 900;

    @Bean
    @Order(FIRST)
    @ConditionalOnMissingBean
    @ConditionalOnBean({Tracer.class, Propagator.class})
    WriterLinks pgOnceWriterLinks(Tracer tracer, Propagator propagator) {
      return new WriterLinks(tracer, propagator);
    }
  }
}
