package org.pgonce.spring.internal;

import org.jspecify.annotations.Nullable;
import org.pgonce.PgOnceException;
import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.context.ApplicationContextException;

/** Has Boot say why pgonce keeps the application from starting, in place of a stack trace. */
final class StartFailureAnalyzer extends AbstractFailureAnalyzer<PgOnceException> {

  private static final String ACTION =
      "Do what the description says, and start again. Channels are installed by a start with pgonce.install=always, or by a migration that Triggers.migration prints. With pgonce.start-failure=retry the service starts all the same: its health is DOWN, and pgonce tries again until it works.";

  /** Leaves to others what fails elsewhere, as a runner that publishes. */
  @Override
  protected @Nullable FailureAnalysis analyze(Throwable rootFailure, PgOnceException cause) {
    return rootFailure instanceof ApplicationContextException
        ? new FailureAnalysis("pgonce cannot start: " + cause.getMessage(), ACTION, cause)
        : null;
  }
}
