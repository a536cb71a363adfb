package org.pgonce.internal.listen;

import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.pgonce.spi.ListenAddress;

/**
 * The state of listening at one moment. Immutable.
 *
 * @param session the connection that listens; null while there is none
 * @param failure why there is none; null while there is one, or before the first attempt ended
 * @param failedSources which sources could not connect though the server answered, and why
 * @param reconnects how often listening began again after it had ended
 */
public record ListenStatus(
    @Nullable Session session,
    @Nullable ListenFailure failure,
    Map<String, String> failedSources,
    long reconnects) {

  static final ListenStatus BEFORE_FIRST_ATTEMPT = new ListenStatus(null, null, Map.of(), 0);

  public ListenStatus {
    failedSources = Map.copyOf(failedSources);
  }

  /** The connection that listens; its backend is in {@code pg_stat_activity}. */
  public record Session(String source, ListenAddress address, int backendPid) {}

  /** Name of the source that listens, or {@code polling}. */
  public String source() {
    return session == null ? "polling" : session.source();
  }

  public boolean listening() {
    return session != null;
  }
}
