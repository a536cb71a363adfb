package org.pgonce.internal.wakeup;

import org.jspecify.annotations.Nullable;

/**
 * User and password as a pool has them beside its URL.
 *
 * @param user null if the URL or the driver's default says it
 * @param password null if the URL says it or there is none
 */
public record Credentials(@Nullable String user, @Nullable String password) {

  /** None: the URL says it, or the driver's default holds. */
  public static final Credentials NONE = new Credentials(null, null);

  /** The user alone: safe for logs. */
  @Override
  public String toString() {
    return "Credentials[" + user + "]";
  }
}
