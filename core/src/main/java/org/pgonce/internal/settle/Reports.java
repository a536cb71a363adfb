package org.pgonce.internal.settle;

import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.claim.Claim;
import org.pgonce.internal.concurrent.Throttle;
import org.pgonce.internal.context.RepeatedTrouble;
import org.pgonce.internal.handle.Registration;
import org.pgonce.internal.jdbc.FailureTrace;
import org.pgonce.spi.Event;
import org.pgonce.spi.Event.WaitCause;
import org.pgonce.spi.Observer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Reports the ends of one subscription's notifications to the log and the observer. */
public final class Reports {

  private static final Logger LOG = LoggerFactory.getLogger(Reports.class);

  private static final Duration BETWEEN_PUT_BACKS = Duration.ofMinutes(1);

  private final Throttle putBacks = new Throttle(BETWEEN_PUT_BACKS);
  private final RepeatedTrouble trouble;
  private final Registration<?> subscribed;
  private final String channel; // for the log
  private final Observer observer;
  private final Consumer<Duration> pollWithin;

  /**
   * @param pollWithin sees to it that a poll begins within that time
   */
  public Reports(Registration<?> subscribed, Observer observer, Consumer<Duration> pollWithin) {
    this.subscribed = subscribed;
    this.channel = subscribed.label();
    this.observer = observer;
    this.trouble =
        new RepeatedTrouble("channel " + channel + " cannot claim", subscribed.name(), observer);
    this.pollWithin = pollWithin;
  }

  public void cannotClaim(Throwable e) {
    trouble.tell(e);
  }

  /** Shorter than a millisecond it is not worth a report. */
  public void waited(WaitCause cause, Duration time) {
    if (time.toMillis() > 0) {
      observer.on(new Event.Waited(subscribed.name(), subscribed.subscription(), cause, time));
    }
  }

  /** Their handler is about to run. */
  public void claimed(List<Claim> claims) {
    claims.forEach(claim -> claimed(claim.id(), claim.attempt(), claim.lag()));
  }

  public void claimed(long id, int attempt, Duration lag) {
    observer.on(new Event.Claimed(about(id, attempt), lag));
  }

  public void settled(Claim claim, boolean handled, Duration inHandler) {
    settled(claim.id(), claim.attempt(), claim.lag(), handled, inHandler);
  }

  /** A notification is done: {@code handled}, or skipped by its condition. */
  public void settled(long id, int attempt, Duration lag, boolean handled, Duration inHandler) {
    var about = about(id, attempt);
    observer.on(handled ? new Event.Handled(about, lag, inHandler) : new Event.Skipped(about));
  }

  /** A broadcast is gone. */
  public void dropped(String reason) {
    LOG.warn("pgonce: a broadcast of channel {} is dropped here: {}", channel, reason);
    observer.on(new Event.BroadcastDropped(subscribed.name(), subscribed.subscription(), reason));
  }

  void countedAhead(Claim claim, int attempt, Duration delay) {
    LOG.info(
        "pgonce: an earlier claim of notification {} of channel {} did not settle it: its process died, or gave it back; attempt {} is counted"
            + " before it begins",
        claim.id(),
        channel,
        attempt);
    dueIn(delay);
  }

  /** Asks for a poll. */
  void dueIn(Duration delay) {
    pollWithin.accept(delay);
  }

  /**
   * An attempt has failed.
   *
   * @param there false if the row was not as the claim has it
   */
  void failed(boolean there, Claim claim, Verdict verdict, FailedAttempt failure) {
    if (!there) {
      gone(claim, verdict);
      return;
    }
    switch (verdict.kind()) {
      case RETRY -> {
        LOG.warn(
            "pgonce: attempt {} of {} of notification {} of channel {} failed, next in {} ms: {}",
            claim.attempt(),
            subscribed.options().maxAttempts(),
            claim.id(),
            channel,
            verdict.delay().toMillis(),
            verdict.why(),
            // Once: later attempts mostly fail alike.
            claim.attempt() == 1 ? FailureTrace.of(failure.cause()) : null);
        dueIn(verdict.delay());
        observer.on(
            new Event.Failed(
                about(claim.id(), claim.attempt()),
                failure.inHandler(),
                failure.cause().getClass().getName(),
                verdict.why(),
                verdict.delay()));
      }
      case PUT_BACK -> {
        putBack(verdict);
        dueIn(verdict.delay());
      }
      case PAUSE ->
          LOG.warn(
              "pgonce: the handler of notification {} of channel {} pauses it: {}",
              claim.id(),
              channel,
              verdict.why());
      case DEAD_LETTER -> {}
    }
    if (verdict.deadLetter() != null) {
      buried(claim, claim.attempt(), verdict.deadLetter(), failure.cause(), verdict.why());
    }
    LOG.debug("pgonce: the failure in full", failure.cause());
  }

  /** What a later release has left is put back without end, so the log has one line a minute. */
  private void putBack(Verdict verdict) {
    if (putBacks.permits()) {
      LOG.info(
          "pgonce: {}; next look in {} ms; what else of channel {} is put back within a minute is logged at DEBUG",
          verdict.why(),
          verdict.delay().toMillis(),
          channel);
    } else {
      LOG.debug("pgonce: {}; next look in {} ms", verdict.why(), verdict.delay().toMillis());
    }
  }

  /**
   * @param cause null where its process died
   */
  void buried(
      Claim claim, int attempt, DeadLetterReason reason, @Nullable Throwable cause, String why) {
    LOG.error(
        "pgonce: notification {} of channel {} is a dead letter after attempt {} ({}): {}. See pgonce.dead_letter_status; redrive it when it"
            + " is mended",
        claim.id(),
        channel,
        attempt,
        reason,
        why,
        // Of what was not readable, or rejected, the words say it all.
        cause == null || reason != DeadLetterReason.ATTEMPTS_USED_UP
            ? null
            : FailureTrace.of(cause));
    observer.on(
        new Event.Dead(
            about(claim.id(), attempt), cause == null ? "" : cause.getClass().getName(), why));
  }

  private Event.Attempt about(long id, int attempt) {
    return new Event.Attempt(
        subscribed.name(), subscribed.subscription(), subscribed.mode(), id, attempt);
  }

  private void gone(Claim claim, Verdict verdict) {
    LOG.warn(
        "pgonce: attempt {} of notification {} of channel {} ended with «{}», but its row is not as it was: either the attempt was committed and only"
            + " its answer was lost, or another worker has had it since, or it was deleted by hand, or it is a dead letter since the channel is"
            + " AT_MOST_ONCE by now",
        claim.attempt(),
        claim.id(),
        channel,
        verdict.why());
  }
}
