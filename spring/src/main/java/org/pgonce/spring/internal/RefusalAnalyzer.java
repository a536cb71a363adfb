package org.pgonce.spring.internal;

import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

/** Has Boot say what was refused, in place of a stack trace through beans that depend on it. */
final class RefusalAnalyzer extends AbstractFailureAnalyzer<Refusal> {

  private static final String ACTION = "Do what the description says, and start again.";

  @Override
  protected FailureAnalysis analyze(Throwable rootFailure, Refusal cause) {
    return new FailureAnalysis("pgonce cannot start: " + cause.getMessage(), ACTION, cause);
  }
}
