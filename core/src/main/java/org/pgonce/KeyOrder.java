package org.pgonce;

/**
 * Whether notifications of one order key wait for one another. Within a subscription, one that was
 * stored later is not handled before an earlier one of its key has ended; other keys, and what has
 * no order key, flow on. Of a key one is handled at a time, whichever process has it; with a lease,
 * for as long as the lease holds.
 *
 * <p>The earlier one has the lower id. Ids are given when a row is stored, so transactions that
 * write the same key at the same time have an order only where they wait for one another, as those
 * do that change the same row. Else one that commits late may come after a higher id.
 */
public enum KeyOrder {
  /**
   * They do not wait. The default. Nothing can be published with an order key then, unless the
   * channel has a limit per key ({@link ChannelOptions#maxPerKey()}); a database whose channel has
   * neither drops what SQL or an older definition gives.
   */
  NONE,

  /**
   * A dead letter blocks those behind it until it is redriven or discarded. One with reason
   * NOT_STORABLE has no key, and blocks none.
   */
  DEAD_LETTER_BLOCKS,

  /**
   * A dead letter has ended: those behind it go on, and it comes out of turn if it is redriven:
   * next, when the one of its key that runs has ended.
   */
  DEAD_LETTER_PASSES
}
