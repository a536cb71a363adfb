package org.pgonce.internal;

/** A subscription as {@link Wakefulness} sees it. Each method returns at once. */
interface Wakeful {

  /** Begins to look for new rows, or has who is at it look again. */
  void look();

  /** The same, unless somebody has begun to look since the last call. */
  void keepLooking();

  /** Whether new rows kept coming since the last call. */
  boolean wasBusy();

  /** Whether there is more to do than there are workers. */
  boolean needsHelp();

  /** Whether this process answers its wake-ups first, see {@link Standby}. */
  boolean isFirst();

  /** Whether it does, or stands in for who should. */
  boolean answersAtOnce();

  /** Whether nothing of it may be claimed for now. */
  boolean isHeldUp();
}
