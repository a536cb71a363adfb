package org.pgonce;

/**
 * When a commit that stores notifications wakes the listeners by NOTIFY. PostgreSQL lets only one
 * transaction of the whole server at a time commit with a NOTIFY (18 and before): many writers at
 * once wait for one another then.
 *
 * <p>What is stored is found in any case, by the listeners' poll; this is about how soon, and what
 * it costs the writers. Operations (pause, resume, redrive, install and the like) notify whatever
 * is set here. So do notifications that are not due yet, but for {@link #NEVER}. A retry does not:
 * the poll knows when it is due.
 */
public enum WakeUps {
  /**
   * Each commit, unless nobody listens, or the channel's notify gate is open: a listener to all of
   * its subscriptions that hears more than some 250 wake-ups a second, or some 30 while writers
   * wait for one another, opens it until there is less to do, and claims every two milliseconds. A
   * commit that comes after the gate was closed, by a writer that saw it open, is found by the poll
   * within a second. The default.
   */
  GATED,

  /** Each commit. */
  ALWAYS,

  /**
   * None, for no form of publishing and no trigger, whether it is due now or later. Listeners find
   * what is stored with their next poll, see {@link PgOnceBuilder#pollInterval}. PREPARE
   * TRANSACTION, which PostgreSQL refuses after a NOTIFY, works for writers; not for operations.
   */
  NEVER
}
