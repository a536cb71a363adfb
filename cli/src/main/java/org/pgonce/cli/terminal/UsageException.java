package org.pgonce.cli.terminal;

/** The arguments cannot be read. The message is for the person who gave them. */
public final class UsageException extends RuntimeException {

  public UsageException(String message) {
    super(message);
  }

  public UsageException(String message, Throwable cause) {
    super(message, cause);
  }
}
