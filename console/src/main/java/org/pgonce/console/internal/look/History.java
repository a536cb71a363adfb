package org.pgonce.console.internal.look;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;

/**
 * The last looks at the counts, for plots. A look is taken when a page asks for one and the last is
 * a second old: so the database is asked once a second at most, however many watch, and not at all
 * when nobody does. Safe for use by several threads.
 */
public final class History {

  private static final long FRESH_NANOS = 900_000_000;
  private static final long OLDEST_NANOS = 10_000_000_000L;
  private static final int KEPT = 300;

  private static final int MOST_CHANNELS = 1_000;

  /** Of one look. {@code waiting}: by channel. */
  private record Moment(Counts counts, long waiting) {}

  /** {@code value}: of so many seconds ago. */
  public record Point(double secondsAgo, double value) {}

  private final Deque<Moment> moments = new ArrayDeque<>();

  /** Time and what waited, of the channels that were looked at last. */
  private final Map<String, Deque<long[]>> channels =
      new LinkedHashMap<>(16, 0.75f, true) {
        @Override
        protected boolean removeEldestEntry(Map.Entry<String, Deque<long[]>> eldest) {
          return size() > MOST_CHANNELS;
        }
      };

  private final Latest<Counts> latest = new Latest<>(FRESH_NANOS, OLDEST_NANOS);

  /** At most a second old; while another takes a look, at most ten. */
  public Counts counts(Supplier<Counts> look) {
    return latest.of(
        () -> {
          var counts = look.get();
          keep(counts);
          return counts;
        });
  }

  /** Something was done here: the next page is to show it. */
  public void expire() {
    latest.expire();
  }

  private synchronized void keep(Counts counts) {
    var before = moments.peekLast();
    if (before == null || counts.takenNanos() - before.counts().takenNanos() > 0) {
      add(moments, new Moment(totals(counts), counts.waiting()));
    }
  }

  /** A channel's page has looked at it. */
  public synchronized void saw(String channel, List<Counts.Subscription> subscriptions) {
    var now = System.nanoTime();
    var ring = channels.computeIfAbsent(channel, name -> new ArrayDeque<>());
    var before = ring.peekLast();
    if (before == null || now - before[0] > FRESH_NANOS) {
      add(ring, new long[] {now, Counts.waiting(subscriptions)});
    }
  }

  private static Counts totals(Counts counts) {
    return new Counts(
        counts.takenNanos(), List.of(), counts.stored(), counts.finished(), counts.standby());
  }

  private static <T> void add(Deque<T> ring, T value) {
    ring.addLast(value);
    if (ring.size() > KEPT) {
      ring.removeFirst();
    }
  }

  /** What waited in all channels. */
  public synchronized List<Point> waiting() {
    return moments.stream()
        .map(one -> point(one.counts().takenNanos(), (double) one.waiting()))
        .toList();
  }

  /** What waited in this channel. */
  public synchronized List<Point> waiting(String channel) {
    return channels.getOrDefault(channel, new ArrayDeque<>()).stream()
        .map(one -> point(one[0], (double) one[1]))
        .toList();
  }

  /** How many were stored each second, in all channels. */
  public synchronized List<Point> storedPerSecond() {
    return perSecond(true);
  }

  /** How many were handled, discarded or cancelled each second, in all channels. */
  public synchronized List<Point> finishedPerSecond() {
    return perSecond(false);
  }

  private List<Point> perSecond(boolean stored) {
    var rates = new ArrayList<Point>();
    Counts before = null;
    for (var moment : moments) {
      var now = moment.counts();
      // Between the two the statistics were reset, as by a crash: nothing can be told.
      var isReset = before != null && now.stored() < before.stored();
      if (before != null && !isReset) {
        var seconds = (now.takenNanos() - before.takenNanos()) / 1e9;
        var more = stored ? now.stored() - before.stored() : now.finished() - before.finished();
        rates.add(point(now.takenNanos(), Math.max(0, more) / seconds));
      }
      before = now;
    }
    return rates;
  }

  private static Point point(long takenNanos, double value) {
    return new Point((System.nanoTime() - takenNanos) / 1e9, value);
  }
}
