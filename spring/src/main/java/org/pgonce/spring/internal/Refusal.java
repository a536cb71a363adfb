package org.pgonce.spring.internal;

/** The service's code or properties ask for what cannot work; the message says what to do. */
final class Refusal extends IllegalStateException {

  private static final long serialVersionUID = 1L;

  Refusal(String message) {
    super(message);
  }

  Refusal(String message, Throwable cause) {
    super(message, cause);
  }
}
