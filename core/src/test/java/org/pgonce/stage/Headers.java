package org.pgonce.stage;

import org.pgonce.internal.claim.NotificationHeaders;

/** Headers of notifications. */
public final class Headers {

  /** Without keys and context, published by no handler. */
  public static final NotificationHeaders PLAIN = new NotificationHeaders(null, null, null, 0, 1);

  private Headers() {}
}
