package org.pgonce;

/**
 * When a commit that stores notifications wakes the listeners by NOTIFY. PostgreSQL lets only one
 * transaction of the whole server at a time commit with a NOTIFY (18 and before): many writers at
 * once wait for one another then.
 *
 * <p>What is stored is found in any case, by the listeners' scan; this is about how soon, and what
 * it costs the writers. Notifications that are not due yet, retries and operations wake by
 * themselves.
 */
public enum WakeUps {
  /**
   * Unless a listener is awake: one that hears more than some 250 wake-ups a second, or some 30 and
   * writers wait for one another, looks for new notifications every two milliseconds, and says so;
   * writers that see that leave NOTIFY out. It ends when there is less to do. Nor is anybody
   * notified while nobody listens. The default. Where processes listen for some subscriptions of
   * the channel each, and none for all of them, none is awake.
   */
  WHILE_ASLEEP,

  /** Each commit. */
  ALWAYS,

  /**
   * None. Listeners find what is stored with their next scan, see {@link
   * PgOnceBuilder#pollInterval}; and PREPARE TRANSACTION, which PostgreSQL refuses after a NOTIFY,
   * works.
   */
  NEVER
}
