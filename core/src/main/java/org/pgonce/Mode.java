package org.pgonce;

/** What a channel promises about the number of times its handler's effects happen. */
public enum Mode {
  /**
   * Stored, and handled in one transaction: claim, handler, delete. What the handler writes through
   * the supplied connection takes effect exactly once for as long as PostgreSQL keeps what it
   * acknowledged. The handler may start more than once; what it does elsewhere happens at least
   * once. The default.
   */
  EXACTLY_ONCE,

  /**
   * Stored, and leased: the claim is committed with a token and a term ({@link
   * ListenOptions#lease()}) before the handler starts, and renewed while it runs, so that a long
   * handler holds neither a transaction nor a row lock. The attempt counts from its claim on.
   * Whoever dies loses the lease when its term is over, and the notification is handled again,
   * maybe while a frozen holder still is at it. The end of one whose lease is lost is refused. For
   * long handlers, and for calls to systems that take the delivery key as an idempotency key. What
   * the handler writes through the supplied transaction commits together with the end of the lease.
   */
  AT_LEAST_ONCE,

  /**
   * Stored, and started at most once: that the handler begins is committed before it does, and it
   * never begins again by itself, whether it fails or its process dies. A failure becomes a dead
   * letter, and so does what has no known end ({@code OUTCOME_UNKNOWN}), for someone to look at;
   * only a redrive of that someone starts it again. For a side effect that must never happen twice
   * and may be missed.
   */
  AT_MOST_ONCE,

  /**
   * Not stored: a NOTIFY only, that every listener which is up at the moment handles. Nobody up,
   * nobody handles it. Any role that may connect to the database can LISTEN to it, and can forge
   * it: publish nothing secret, and trust nothing that it says.
   */
  BROADCAST
}
