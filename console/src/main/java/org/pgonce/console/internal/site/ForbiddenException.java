package org.pgonce.console.internal.site;

/** What was asked for is not allowed here, whatever buttons were shown. */
final class ForbiddenException extends RuntimeException {

  ForbiddenException(String message) {
    super(message);
  }
}
