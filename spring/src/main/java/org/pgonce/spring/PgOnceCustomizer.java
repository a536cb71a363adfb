package org.pgonce.spring;

import org.pgonce.PgOnceBuilder;

/** A bean that sets what no property does. Several run in their order. */
@FunctionalInterface
public interface PgOnceCustomizer {

  /** Called once, when the properties, the observers and the interceptors have been set. */
  void customize(PgOnceBuilder builder);
}
