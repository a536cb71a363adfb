package org.pgonce;

import java.time.Instant;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The state of a listener at one moment, as far as this process knows without asking the database.
 * What waits and what failed is in the views {@code pgonce.channel_status} and {@code
 * pgonce.dead_letter_status}.
 *
 * @param listensBy the wake-up source that listens, or {@code polling}; {@code nothing} where no
 *     channel is listened to
 * @param listenFailure why no wake-up arrives, and what to do; null while listening
 * @param failedSources sources that cannot connect though others can, and why
 * @param reconnects how often listening began again after it had ended
 */
public record Status(
    State state,
    String listensBy,
    @Nullable String listenFailure,
    Map<String, String> failedSources,
    long reconnects,
    List<ChannelActivity> channels) {

  static Status beforeStart() {
    return new Status(State.NEW, "polling", "not started", Map.of(), 0, List.of());
  }

  /** A listener's life, in this order; what was stopped may run again. */
  public enum State {
    NEW,
    RUNNING,
    STOPPING,
    STOPPED
  }

  /**
   * What this process does on a channel.
   *
   * @param subscription the channel's subscription that this process handles
   * @param concurrency how many workers it may have at once
   * @param working workers that claim or handle
   * @param stuck handlers that overran their time, were cut off, and have not returned
   * @param claims claims since the start; in BROADCAST, which has none, messages handled
   * @param emptyClaims those among them that found nothing
   * @param paused the pause, as this process has learnt from the database; null if there is none
   * @param outdated why this process does not handle it any more, and what to do, see {@link
   *     org.pgonce.spi.Event.Outdated}; null if it does
   */
  public record ChannelActivity(
      String channel,
      String subscription,
      Mode mode,
      int concurrency,
      int working,
      int stuck,
      long claims,
      long emptyClaims,
      @Nullable Paused paused,
      @Nullable String outdated) {}

  /**
   * A pause; {@code pgonce.resume} ends it.
   *
   * @param since by the database's clock
   * @param by the person, instance or role that paused it
   */
  public record Paused(Instant since, String by, String reason) {}
}
