package org.pgonce.spring.boot4;

import org.pgonce.spring.internal.PgOnceLifecycle;
import org.springframework.boot.health.contributor.AbstractHealthIndicator;
import org.springframework.boot.health.contributor.Health;

/** DOWN where nothing is listened to. */
final class PgOnceHealthIndicator extends AbstractHealthIndicator {

  private final PgOnceLifecycle lifecycle;

  PgOnceHealthIndicator(PgOnceLifecycle lifecycle) {
    this.lifecycle = lifecycle;
  }

  @Override
  protected void doHealthCheck(Health.Builder builder) {
    var health = lifecycle.health();
    builder.status(health.up() ? "UP" : "DOWN").withDetails(health.details());
  }
}
