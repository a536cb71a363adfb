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
import org.pgonce.internal.store.PinnedPath;
import org.pgonce.spi.ChannelFeed;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Looks now and then whether the channels are still fed as at the start, and tells each new
 * difference once, to the log and the observer. A watched table can be altered, attached to another
 * or disabled by people who do not know of pgonce. Nothing depends on it: a look that fails is
 * repeated at the next interval.
 */
final class FeedWatch {

  private static final Logger LOG = LoggerFactory.getLogger(FeedWatch.class);

  // Ten minutes with the default poll interval.
  private static final int POLLS_BETWEEN_LOOKS = 600;

  private final ListenerContext context;
  private final List<Channel<?>> channels;
  private final Duration interval;
  private final RepeatedTask looks;
  private final Map<String, Set<String>> known = new ConcurrentHashMap<>();

  FeedWatch(ListenerContext context, List<Channel<?>> channels, Duration pollInterval) {
    this.context = context;
    this.channels =
        channels.stream()
            .filter(channel -> channel.feed() != ChannelFeed.PUBLISHED)
            .distinct()
            .toList();
    this.interval = pollInterval.multipliedBy(POLLS_BETWEEN_LOOKS);
    this.looks = new RepeatedTask(context.threads(), this::look);
  }

  /** Tells the warnings of the start, in which no problem was found. */
  void begin(Connection connection) throws SQLException {
    for (var channel : channels) {
      tell(channel, channel.feed().warnings(connection, channel));
    }
  }

  void start() {
    if (!channels.isEmpty()) {
      looks.within(interval);
    }
  }

  /** No look begins from now on. Returns at once. */
  void stop() {
    looks.stop();
  }

  private Duration look() {
    for (var channel : channels) {
      try {
        tell(
            channel,
            context
                .transactions()
                .run(same -> PinnedPath.during(same, () -> found(same, channel))));
      } catch (SQLException | RuntimeException e) {
        // A table may be locked; and the poll says what is wrong with the database.
        LOG.debug("pgonce: what feeds channel {} cannot be looked at", channel.name(), e);
      }
    }
    return interval;
  }

  private static List<String> found(Connection connection, Channel<?> channel) throws SQLException {
    var found = new ArrayList<>(channel.feed().problems(connection, channel));
    found.addAll(channel.feed().warnings(connection, channel));
    return found;
  }

  private void tell(Channel<?> channel, List<String> found) {
    var before = known.put(channel.name(), Set.copyOf(found));
    for (var line : found) {
      if (before == null || !before.contains(line)) {
        LOG.warn("pgonce: {}", line);
        context.observer().feedTrouble(channel.name(), line);
      }
    }
  }
}
