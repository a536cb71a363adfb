package org.pgonce;

/** What a channel promises about the number of times its handler's effects happen. */
public enum Mode {
  /**
   * Stored, and handled in one transaction: claim, handler, delete. What the handler writes through
   * the supplied transaction takes effect exactly once for as long as PostgreSQL keeps what it
   * acknowledged. The handler itself may start more than once. What it does elsewhere happens at
   * least once, and {@link Notification#deliveryKey()} lets the other side drop the repeats. After
   * a failover to a lagging standby, or a restore, committed work can be undone and so repeat. The
   * default.
   */
  EXACTLY_ONCE,

  /**
   * Stored, and leased: the claim is committed with a token and a term ({@link
   * ListenOptions#lease()}) before the handler starts, and renewed while it runs, so that a long
   * handler holds neither a transaction nor a row lock. The attempt counts from its claim on. When
   * its holder dies or freezes, the lease ends after its term and the notification is handled
   * again; the end of a handler whose lease is lost is refused. What the handler writes through the
   * supplied transaction commits together with the end of the lease. For long handlers, and for
   * calls to systems that take the delivery key as an idempotency key.
   */
  AT_LEAST_ONCE,

  /**
   * Stored, and started at most once: the begin of the handler is committed before it, and it never
   * begins again by itself. A failure becomes a dead letter, and so does what has no known end
   * ({@code OUTCOME_UNKNOWN}); only a redrive starts it again. For a side effect that must never
   * happen twice and may be missed.
   */
  AT_MOST_ONCE,

  /**
   * Not stored: a NOTIFY only, that every listener which is up at the moment handles. Nobody up,
   * nobody handles it. Any role that may connect to the database can LISTEN to it, and can forge
   * it: publish nothing secret, and trust nothing that it says.
   */
  BROADCAST
}
