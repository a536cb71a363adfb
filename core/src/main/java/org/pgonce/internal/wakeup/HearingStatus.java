package org.pgonce.internal.wakeup;

import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.pgonce.spi.ListenAddress;

/**
 * How hearing stands at one moment. Immutable.
 *
 * @param session the connection that listens; null while nothing is heard
 * @param deafness why nothing is heard; null while something is, or before the first attempt ended
 * @param failedSources which sources could not connect though something answered, and why
 * @param reconnects how often listening began again after it had ended
 */
public record HearingStatus(
    @Nullable Session session,
    @Nullable Deafness deafness,
    Map<String, String> failedSources,
    long reconnects) {

  public HearingStatus {
    failedSources = Map.copyOf(failedSources);
  }

  /**
   * The connection that listens.
   *
   * @param backendPid to be found in {@code pg_stat_activity}
   * @param lastEchoNanos how long the last NOTIFY to itself took to come back
   */
  public record Session(String source, ListenAddress address, int backendPid, long lastEchoNanos) {

    Session withEcho(long nanos) {
      return new Session(source, address, backendPid, nanos);
    }
  }

  static final HearingStatus BEFORE_FIRST_ATTEMPT = new HearingStatus(null, null, Map.of(), 0);

  HearingStatus deaf(Deafness reason, Map<String, String> failures) {
    return new HearingStatus(null, reason, failures, reconnects);
  }

  HearingStatus echo(long nanos) {
    return new HearingStatus(
        session == null ? null : session.withEcho(nanos), deafness, failedSources, reconnects);
  }

  /** Name of the source that listens, or {@code polling}. */
  public String source() {
    return session == null ? "polling" : session.source();
  }

  public boolean listening() {
    return session != null;
  }
}
