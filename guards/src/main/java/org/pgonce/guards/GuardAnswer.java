package org.pgonce.guards;

import java.util.Objects;

/**
 * What somebody who can know says of a call whose outcome is unknown.
 *
 * @param <R> its response
 */
public sealed interface GuardAnswer<R> {

  /** It happened, with this response. */
  static <R> GuardAnswer<R> happened(R response) {
    return new Happened<>(Objects.requireNonNull(response, "response"));
  }

  /** It did not happen, and is not to be tried again. */
  static <R> GuardAnswer<R> didNotHappen(String reason) {
    return new DidNotHappen<>(false, Objects.requireNonNull(reason, "reason"));
  }

  /**
   * It did not happen and cannot happen any more: whoever comes next with the same key may try
   * again.
   */
  static <R> GuardAnswer<R> mayBeRepeated(String reason) {
    return new DidNotHappen<>(true, Objects.requireNonNull(reason, "reason"));
  }

  /** It stays as it is. */
  static <R> GuardAnswer<R> cannotTell() {
    return new CannotTell<>();
  }

  /** See {@link GuardAnswer#happened}. */
  record Happened<R>(R response) implements GuardAnswer<R> {}

  /** See {@link GuardAnswer#didNotHappen} and {@link GuardAnswer#mayBeRepeated}. */
  record DidNotHappen<R>(boolean repeatable, String reason) implements GuardAnswer<R> {}

  /** See {@link GuardAnswer#cannotTell}. */
  record CannotTell<R>() implements GuardAnswer<R> {}
}
