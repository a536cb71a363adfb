package org.pgonce.internal.claim;

import org.jspecify.annotations.Nullable;

/**
 * What a notification was stored with beside its payload.
 *
 * @param deliveryKey its publisher's own key
 * @param orderKey what orders it, where its channel keeps an order
 * @param context what its writer said of itself, as JSON; null if nothing
 * @param depth how many handlers led to it
 */
public record Origin(
    @Nullable String deliveryKey, @Nullable String orderKey, @Nullable String context, int depth) {

  /** Of a plain notification. */
  public static final Origin PLAIN = new Origin(null, null, null, 0);
}
