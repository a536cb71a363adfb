package org.pgonce.internal.consume;

import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.handle.Registration;
import org.pgonce.internal.store.Installed;
import org.pgonce.spi.Event;
import org.pgonce.spi.Observer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Whether a subscription is still installed as this process defines it. Each poll compares; from
 * the first difference on nothing of it is handled here, until a poll finds none. Only the poll
 * calls {@link #polled}; any thread may ask.
 */
public final class DefinitionWatch {

  private static final Logger LOG = LoggerFactory.getLogger(DefinitionWatch.class);

  private final Registration<?> subscribed;
  private final Observer observer;
  private volatile @Nullable String difference;

  public DefinitionWatch(Registration<?> subscribed, Observer observer) {
    this.subscribed = subscribed;
    this.observer = observer;
  }

  /** Why nothing of it is handled here, and what to do; null if it is. */
  public @Nullable String difference() {
    return difference;
  }

  public boolean isOutdated() {
    return difference != null;
  }

  /**
   * A poll has answered.
   *
   * @param found null if the subscription does not exist any more
   * @return whether that changes what is handled here, or why it is not
   */
  public boolean polled(@Nullable Installed found) {
    var now = differenceTo(found);
    if (Objects.equals(difference, now)) {
      return false;
    }
    difference = now;
    if (now == null) {
      LOG.info(
          "pgonce: channel {} is installed as it is defined here again, and handled again",
          subscribed.label());
      observer.on(new Event.UpToDate(subscribed.name(), subscribed.subscription()));
    } else {
      LOG.error(
          "pgonce: channel {} is not handled here any more, since it was changed while this process listens to it: {}",
          subscribed.label(),
          now);
      observer.on(new Event.Outdated(subscribed.name(), subscribed.subscription(), now));
    }
    return true;
  }

  private @Nullable String differenceTo(@Nullable Installed found) {
    // Another installation gives the same ids to other subscriptions.
    if (found == null || !found.epoch().equals(subscribed.installed().epoch())) {
      return "it was dropped, or dropped and installed anew; nothing of it reaches this process until that is started again";
    }
    var problems = found.problems(subscribed.channel(), subscribed.subscription());
    return problems.isEmpty()
        ? null
        : "if what is installed is the newer definition, deploy it here; if this one is, as where an earlier release has started again behind it, install it again; what is stored waits for a listener that has the installed one\n- "
            + String.join("\n- ", problems);
  }
}
