package org.pgonce.triggers;

import java.util.List;

/**
 * A channel, or what is left of one, that no definition stands for. {@link #toString} is the
 * readable form.
 *
 * @param channel its name
 * @param feed what it is fed by, as for {@code trigger on author} or {@code published}; empty if it
 *     is not installed, and only functions of its triggers are there
 * @param functions those that its triggers run, for example {@code
 *     pgonce_triggers."capture_author"}
 * @param triggers for example {@code "pgonce_author" on public.author}
 * @param waiting notifications that may be handled now, of all subscriptions
 * @param scheduled those with a due time, retries and leases
 * @param deadLetters of all subscriptions
 */
public record Orphan(
    String channel,
    String feed,
    List<String> functions,
    List<String> triggers,
    long waiting,
    long scheduled,
    long deadLetters) {

  public Orphan {
    functions = List.copyOf(functions);
    triggers = List.copyOf(triggers);
  }

  /** How many notifications are lost if it is dropped, dead letters included. */
  public long held() {
    return waiting + scheduled + deadLetters;
  }

  /** Whether it is a channel, not only triggers or functions of one. */
  public boolean isInstalled() {
    return !feed.isEmpty();
  }

  @Override
  public String toString() {
    var fed =
        triggers.isEmpty()
            ? functions.isEmpty()
                ? ""
                : ", function without a trigger " + String.join(", ", functions)
            : ", trigger " + String.join(", ", triggers);
    if (!isInstalled()) {
      return "channel " + channel + " is not installed" + fed;
    }
    var gone =
        feed.startsWith("trigger on ") && triggers.isEmpty() ? ", whose trigger is gone" : "";
    return "channel %s (%s) is in no definition%s%s: %d waiting, %d scheduled, %d dead letters"
        .formatted(channel, feed, gone, fed, waiting, scheduled, deadLetters);
  }
}
