package org.pgonce.guards;

import org.jspecify.annotations.Nullable;
import org.pgonce.PgOnceException;

/**
 * What became of a guarded call or a sequence, whoever made it.
 *
 * @param <R> its response
 */
public sealed interface GuardResult<R> {

  /** What it is about. */
  GuardKey key();

  /** The exception, if it was thrown by this very call. */
  default @Nullable Exception cause() {
    return null;
  }

  /**
   * The response.
   *
   * @throws PgOnceException that says what is the matter, if it has not succeeded, or the response
   *     is not there; its cause is the exception of the call, where it was made here
   */
  R orElseThrow();

  /**
   * It was done.
   *
   * @param response null only if there is a problem with it, or the call returned null
   * @param stored whether this is what an earlier call had returned; nothing was done now
   * @param problem why the response is not stored, or cannot be read
   */
  record Succeeded<R>(GuardKey key, @Nullable R response, boolean stored, @Nullable String problem)
      implements GuardResult<R> {
    @Override
    public R orElseThrow() {
      if (response == null) {
        throw new PgOnceException(
            "%s has succeeded, but its response is not there: %s"
                .formatted(key, problem == null ? "the call returned null" : problem));
      }
      return response;
    }
  }

  /**
   * Somebody is at it.
   *
   * @param state who, and since when; null while it stands in a transaction that is still open, and
   *     where another run has taken the sequence over
   */
  record InProgress<R>(GuardKey key, @Nullable GuardState state) implements GuardResult<R> {
    @Override
    public R orElseThrow() {
      throw new PgOnceException(
          "%s is in progress%s: come back later"
              .formatted(
                  key,
                  state == null
                      ? " elsewhere, in an open transaction or a run that has taken it over"
                      : " on " + state.instance() + " since " + state.startedAt()));
    }
  }

  /**
   * It failed. It is tried again only if it is repeatable, by whoever comes next with the same key.
   */
  record Failed<R>(GuardState state, @Nullable Exception cause) implements GuardResult<R> {
    @Override
    public GuardKey key() {
      return state.key();
    }

    /** Whether it may be tried again. */
    public boolean repeatable() {
      return state.repeatable();
    }

    @Override
    public R orElseThrow() {
      throw refusal(
          "%s has failed (attempt %d): %s; %s"
              .formatted(
                  state.key(),
                  state.attempt(),
                  state.error(),
                  state.repeatable()
                      ? "it may be tried again"
                      : "it is not tried again, unless a person releases it"),
          cause);
    }
  }

  /**
   * Nobody knows. It is not tried again; ask the outside with {@link Guards#probe}, or let a person
   * settle it with {@link Guards#settle}.
   */
  record Unknown<R>(GuardState state, @Nullable Exception cause) implements GuardResult<R> {
    @Override
    public GuardKey key() {
      return state.key();
    }

    @Override
    public R orElseThrow() {
      throw refusal(
          "the outcome of %s is unknown: begun on %s at %s (%s); it is not tried again: ask the outside (Guards.probe), or settle it (Guards.settle)"
              .formatted(state.key(), state.instance(), state.startedAt(), state.error()),
          cause);
    }
  }

  private static PgOnceException refusal(String message, @Nullable Exception cause) {
    return cause == null ? new PgOnceException(message) : new PgOnceException(message, cause);
  }
}
