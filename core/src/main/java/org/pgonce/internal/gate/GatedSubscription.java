package org.pgonce.internal.gate;

/** A subscription as its channel's {@link NotifyGate} sees it. Each method returns at once. */
public interface GatedSubscription {

  /** Claims new rows as soon as may be, unless a claim has begun since the last call. */
  void fetch();

  /** Whether new rows kept coming since the last call. */
  boolean wasBusy();

  /** Whether this process answers wake-ups for new rows at once. */
  boolean answersAtOnce();

  /** Whether nothing of it may be claimed for now. */
  boolean isHeldUp();
}
