package org.pgonce.test;

import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Stands in for an outside system in tests: it counts calls, and takes those of one idempotency key
 * for one effect, as a mail or payment service does. Thread-safe.
 *
 * <pre>{@code
 * var mails = new OutsideCalls();
 * pgonce.chaos(GREETED, (greeted, tx) -> mails.call(greeted.deliveryKey()))
 *     .assertEffectsOnce(mails::effects);
 * }</pre>
 */
public final class OutsideCalls {

  private final Map<String, Integer> byKey = new ConcurrentHashMap<>();
  private final AtomicLong withoutKey = new AtomicLong();

  /** A call with an idempotency key, {@link org.pgonce.Notification#deliveryKey()} for example. */
  public void call(String key) {
    byKey.merge(Objects.requireNonNull(key, "key"), 1, Integer::sum);
  }

  /** A call without one: each is an effect of its own. */
  public void callWithoutKey() {
    withoutKey.incrementAndGet();
  }

  /** How many calls there were. */
  public long calls() {
    return withoutKey.get() + byKey.values().stream().mapToLong(Integer::longValue).sum();
  }

  /** How many calls had this key. */
  public long calls(String key) {
    return byKey.getOrDefault(key, 0);
  }

  /** How many effects they had: one per key, and one per call without a key. */
  public long effects() {
    return withoutKey.get() + byKey.size();
  }
}
