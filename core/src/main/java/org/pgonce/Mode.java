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
   * Not stored: a NOTIFY only, that every listener which is up at the moment handles. Nobody up,
   * nobody handles it. Any role that may connect to the database can LISTEN to it, and can forge
   * it: publish nothing secret, and trust nothing that it says.
   */
  BROADCAST
}
