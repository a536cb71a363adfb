package org.pgonce.guards;

import java.util.Objects;
import org.pgonce.PgOnceException;

/**
 * The same key came with another request: one of the two callers is mistaken. Nothing was done; the
 * answer to the first request is not given to the second.
 */
public class RequestMismatchException extends PgOnceException {

  private static final long serialVersionUID = 1L;

  /** Says what has been begun under this key already. */
  public RequestMismatchException(GuardState state) {
    super(
        "%s came with another request than before: it was begun on %s at %s and is %s; give the other request a key of its own"
            .formatted(
                Objects.requireNonNull(state, "state").key(),
                state.instance(),
                state.startedAt(),
                state.outcome()));
  }
}
