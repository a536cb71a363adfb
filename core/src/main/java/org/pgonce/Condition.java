package org.pgonce;

/**
 * Whether a claimed notification is still to be handled; see {@link Handler#onlyIf}.
 *
 * @param <T> the channel's payload type
 */
@FunctionalInterface
public interface Condition<T> {

  /**
   * Asked right before the handler, in its transaction and on its thread. At READ COMMITTED a query
   * sees what is committed at this moment, however long ago the notification was stored or claimed.
   *
   * @param tx for queries. What is written through it stays, whatever the answer
   * @return false if there is nothing to do any more
   * @throws Exception the attempt has failed then, as if the handler had thrown it
   */
  boolean holds(Notification<T> notification, Tx tx) throws Exception;
}
