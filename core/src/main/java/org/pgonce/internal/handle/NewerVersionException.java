package org.pgonce.internal.handle;

/**
 * A notification was made by a later version of its channel's definition than this process has. It
 * is none of its failures: others can read it.
 */
public final class NewerVersionException extends Exception {

  public NewerVersionException(String message) {
    super(message);
  }
}
