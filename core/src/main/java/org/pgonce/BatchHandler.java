package org.pgonce;

import java.util.List;

/**
 * What a listener does with several notifications at once: those of one transaction, as many as
 * wait and at most {@link ListenOptions#batch()}. Made a handler by {@link Handler#batch}; all that
 * holds for {@link Handler} holds for it.
 *
 * @param <T> the channel's payload type
 */
@FunctionalInterface
public interface BatchHandler<T> {

  /**
   * Handles them all, or none: throwing anything undoes what was written through {@code tx}, and
   * they come again one by one, in lists of one, so that only those fail that do. Two batches that
   * update the same rows in different orders deadlock: sort what is to be updated by its key first.
   *
   * <p>The transaction has the {@link WriterContext} of the notifications where it is the same for
   * all of them, and none where it differs; {@link PublishOptions#withContext} publishes with that
   * of one of them. What is published is one deeper than the deepest of them.
   *
   * @param notifications at least one, in the order of their ids; unmodifiable
   * @param tx the transaction that all of them are settled in
   */
  void handle(List<Notification<T>> notifications, Tx tx) throws Exception;
}
