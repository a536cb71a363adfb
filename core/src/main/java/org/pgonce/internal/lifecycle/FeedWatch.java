package org.pgonce.internal.lifecycle;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.pgonce.Channel;
import org.pgonce.internal.concurrent.RepeatedTask;
import org.pgonce.internal.context.ListenerContext;
import org.pgonce.internal.handle.Registration;
import org.pgonce.internal.store.PinnedPath;
import org.pgonce.spi.ChannelFeed;
import org.pgonce.spi.Event;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Checks every 600 poll intervals whether the channels are still fed as at the start, since anyone
 * may alter a watched table; and a second after a wake-up says that one of them was installed.
 * Reports each new difference once.
 */
final class FeedWatch {

  private static final Logger LOG = LoggerFactory.getLogger(FeedWatch.class);

  private static final int POLLS_BETWEEN_CHECKS = 600;

  // Any role can send the wake-up that asks for it: a flood of them costs one check a second.
  private static final Duration AFTER_CHANGE = Duration.ofSeconds(1);

  private final ListenerContext context;
  private final List<Channel<?>> channels;
  private final Duration interval;
  private final RepeatedTask checks;
  private final Map<String, Set<String>> known = new ConcurrentHashMap<>();

  FeedWatch(ListenerContext context, List<Registration<?>> registrations, Duration pollInterval) {
    this.context = context;
    this.channels =
        registrations.stream()
            .<Channel<?>>map(Registration::channel)
            .filter(channel -> channel.feed() != ChannelFeed.PUBLISHED)
            .distinct()
            .toList();
    this.interval = pollInterval.multipliedBy(POLLS_BETWEEN_CHECKS);
    this.checks = new RepeatedTask(context.threads(), this::checkAll);
  }

  /** Reports the warnings at the start, which has found no problems. */
  void begin(Connection connection) throws SQLException {
    for (var channel : channels) {
      report(channel, channel.feed().warnings(connection, channel));
    }
  }

  /** Checks from now on, until {@link #stop}. */
  void start() {
    if (!channels.isEmpty()) {
      checks.within(interval);
    }
  }

  /** No check begins from now on. Returns at once. */
  void stop() {
    checks.stop();
  }

  /** Waits for the check under way, as an interrupt of it may cost the pool a connection. */
  void awaitEnd(long end) throws InterruptedException {
    checks.awaitEnd(end);
  }

  /** A wake-up says that a channel was installed, maybe otherwise than it is defined here. */
  void changed() {
    if (!channels.isEmpty()) {
      checks.within(AFTER_CHANGE);
    }
  }

  private Duration checkAll() {
    channels.forEach(this::check);
    return interval;
  }

  private void check(Channel<?> channel) {
    try {
      report(channel, context.transactions().run(transaction -> found(transaction, channel)));
    } catch (SQLException | RuntimeException e) {
      // The table may be locked; what is wrong with the database is reported by the poll.
      LOG.debug("pgonce: what feeds channel {} cannot be checked", channel.name(), e);
    }
  }

  private static List<String> found(Connection connection, Channel<?> channel) throws SQLException {
    PinnedPath.pin(connection);
    var found = new ArrayList<>(channel.feed().problems(connection, channel));
    found.addAll(channel.feed().warnings(connection, channel));
    return found;
  }

  private void report(Channel<?> channel, List<String> found) {
    var before = known.put(channel.name(), Set.copyOf(found));
    for (var line : found) {
      if (before == null || !before.contains(line)) {
        LOG.warn("pgonce: {}", line);
        context.observer().on(new Event.FeedTrouble(channel.name(), line));
      }
    }
  }
}
