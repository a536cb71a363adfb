package org.pgonce.benchmarks.forms;

/** Triggers have not stored what they should have: what was timed is not what was to be timed. */
public final class MiscountException extends RuntimeException {

  private static final long serialVersionUID = 1L;

  MiscountException(String message) {
    super(message);
  }
}
