package org.pgonce.internal.guard;

import org.jspecify.annotations.Nullable;
import org.pgonce.GuardResult;
import org.pgonce.spi.PayloadCodec;
import org.pgonce.spi.PayloadCodec.UnreadablePayloadException;

/** What a stored guard says to who did not make its call. */
final class Results {

  private Results() {}

  static <R> GuardResult<R> of(StoredGuard stored, PayloadCodec codec, Class<R> type) {
    return of(stored, codec, type, null);
  }

  /**
   * @param cause of a failure that was thrown here
   */
  static <R> GuardResult<R> of(
      StoredGuard stored, PayloadCodec codec, Class<R> type, @Nullable Exception cause) {
    return switch (stored.state().outcome()) {
      case STARTED -> new GuardResult.InProgress<>(stored.state().key(), stored.state());
      case FAILED -> new GuardResult.Failed<>(stored.state(), cause);
      case UNKNOWN -> new GuardResult.Unknown<>(stored.state(), cause);
      case SUCCEEDED -> succeeded(stored, codec, type);
    };
  }

  private static <R> GuardResult<R> succeeded(
      StoredGuard stored, PayloadCodec codec, Class<R> type) {
    var key = stored.state().key();
    var response = stored.response();
    if (response == null) {
      return new GuardResult.Succeeded<>(key, null, true, stored.state().error());
    }
    try {
      return new GuardResult.Succeeded<>(key, codec.decode(response, type), true, null);
    } catch (UnreadablePayloadException e) {
      return new GuardResult.Succeeded<>(key, null, true, e.getMessage());
    }
  }

  /** The same without a response, for whatever type. */
  static <R> GuardResult<R> withoutResponse(GuardResult<?> result) {
    if (result instanceof GuardResult.Failed<?> failed) {
      return new GuardResult.Failed<>(failed.state(), failed.cause());
    } else if (result instanceof GuardResult.Unknown<?> unknown) {
      return new GuardResult.Unknown<>(unknown.state(), unknown.cause());
    } else if (result instanceof GuardResult.InProgress<?> busy) {
      return new GuardResult.InProgress<>(busy.key(), busy.state());
    }
    throw new IllegalArgumentException("a step that was done is no reason to end: " + result.key());
  }
}
