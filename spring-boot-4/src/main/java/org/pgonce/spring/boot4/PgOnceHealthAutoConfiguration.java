package org.pgonce.spring.boot4;

import org.pgonce.spring.internal.PgOnceLifecycle;
import org.springframework.boot.actuate.endpoint.SecurityContext;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.health.autoconfigure.actuate.endpoint.AvailabilityProbesAutoConfiguration;
import org.springframework.boot.health.autoconfigure.contributor.ConditionalOnEnabledHealthIndicator;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.context.annotation.Bean;
import org.springframework.core.env.Environment;

/** Health, and its place in the readiness group. */
// Behind the probes, which make the group readiness where no property names it.
@AutoConfiguration(
    after = {PgOnceAutoConfiguration.class, AvailabilityProbesAutoConfiguration.class})
@ConditionalOnClass({HealthIndicator.class, SecurityContext.class})
@ConditionalOnBean(PgOnceLifecycle.class)
@ConditionalOnEnabledHealthIndicator("pgonce")
public class PgOnceHealthAutoConfiguration {

  @Bean
  HealthIndicator pgonceHealthIndicator(PgOnceLifecycle lifecycle) {
    return new PgOnceHealthIndicator(lifecycle);
  }

  @Bean
  static ReadinessGroup pgonceReadinessGroup(Environment environment) {
    return new ReadinessGroup(environment);
  }
}
