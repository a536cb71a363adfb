package org.pgonce.internal;

import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.Rush.Worth;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Spares the writers of a channel their wake-ups. Where many come in, this process looks for new
 * rows by itself, at short intervals, and says so in the channel's word, which writers read; until
 * there is less to do. Then it takes the word back, and owes a look for each transaction that was
 * under way at that moment, as that may have read it. {@code models/} has why each step is needed.
 *
 * <p>One step at a time, each a transaction of its own, on a worker. Nothing here decides whether
 * something is handled; only how soon.
 */
final class Wakefulness {

  private static final Logger LOG = LoggerFactory.getLogger(Wakefulness.class);

  /** Between two looks at the word of another, and after a step that has failed. */
  static final Duration WATCH = Duration.ofSeconds(1);

  // While it is awake, a row waits no longer than that for somebody to look for it.
  private static final Duration BETWEEN_LOOKS = Duration.ofMillis(2);

  enum State {
    ASLEEP,
    /** Has the word, and has called the others; writers still notify. */
    ANNOUNCED,
    AWAKE,
    /** Writers notify again; looks are owed. */
    OWING,
    LEFT
  }

  private final String channel;
  private final HelpRequest help;
  private final List<Wakeful> subscriptions = new ArrayList<>();

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition ended = lock.newCondition();
  private State state = State.ASLEEP;
  // Whether somebody else's word is to be looked after; who owes looks does anyway.
  private boolean watches;
  private Worth wanted = Worth.NOT;
  private boolean stopped;
  // When it may be awake again, and when it may ask whether writers wait, by System.nanoTime().
  private long notBefore = System.nanoTime();
  private long askNotBefore = notBefore;
  private final Rush rush = new Rush();
  private final Ticks ticks;
  private final OneAtATime oneAtATime;

  // Of the one who steps.
  private final WakefulnessSteps steps;
  private boolean failed;

  /**
   * @param listened the ids of the subscriptions that this process listens for
   */
  Wakefulness(String channel, Context context, List<Integer> listened) {
    this.channel = channel;
    this.help = new HelpRequest(channel, context);
    var word =
        new ChannelWord(context.transactions(), channel, listened.stream().sorted().toList());
    this.steps = new WakefulnessSteps(word, subscriptions, this);
    this.ticks =
        new Ticks(
            context.threads(),
            lock,
            BETWEEN_LOOKS,
            () -> state == State.AWAKE && !stopped,
            () -> subscriptions.forEach(Wakeful::keepLooking));
    this.oneAtATime =
        new OneAtATime(context.threads()::runLater, lock, this::step, this::delayAfter);
  }

  /** Before the listener starts. */
  void add(Wakeful subscription) {
    subscriptions.add(subscription);
  }

  /** A wake-up came. Returns at once. */
  void heard() {
    // Of any subscription. Before the lock: a subscription that asks for help takes it with its own
    // held.
    var isFirst = subscriptions.stream().anyMatch(Wakeful::isFirst);
    var answersAtOnce = isFirst || subscriptions.stream().anyMatch(Wakeful::answersAtOnce);
    lock.lock();
    try {
      var now = System.nanoTime();
      var worth = rush.heard(now, isFirst, answersAtOnce);
      if (worth.compareTo(wanted) > 0 && now - earliest(worth) >= 0 && isNotAwake()) {
        wanted = worth;
        oneAtATime.within(Duration.ZERO);
      }
    } finally {
      lock.unlock();
    }
  }

  private long earliest(Worth worth) {
    return worth == Worth.SURELY || askNotBefore - notBefore < 0 ? notBefore : askNotBefore;
  }

  private boolean isNotAwake() {
    return state == State.ASLEEP || state == State.OWING;
  }

  /** Somebody, maybe this one, is awake, or owes looks. Returns at once. */
  void heardAwake() {
    lock.lock();
    try {
      // Who is to be awake, or is, reads it anyway.
      if (state == State.OWING || (state == State.ASLEEP && !watches)) {
        watches = true;
        oneAtATime.within(WATCH);
      }
    } finally {
      lock.unlock();
    }
  }

  /**
   * Asks the other listeners, who may stand by; while it is awake, they are asked with the word.
   * Returns at once.
   */
  void askForHelp() {
    lock.lock();
    try {
      if (state == State.AWAKE) {
        return;
      }
    } finally {
      lock.unlock();
    }
    help.make();
  }

  /** Somebody has asked for help. Returns at once. */
  void heardHelp() {
    help.heard();
  }

  /** Is awake no more; what it owes is left to the others. Returns at once. */
  void stop() {
    lock.lock();
    try {
      stopped = true;
      oneAtATime.within(Duration.ZERO);
    } finally {
      lock.unlock();
    }
  }

  /**
   * Waits until the others know that it has stopped.
   *
   * @param end by System.nanoTime()
   */
  void awaitLeft(long end) throws InterruptedException {
    lock.lock();
    try {
      for (var time = end - System.nanoTime(); state != State.LEFT && time > 0; ) {
        time = ended.awaitNanos(time);
      }
    } finally {
      lock.unlock();
    }
  }

  private @Nullable Duration step() {
    failed = true;
    @Nullable Duration delay = null;
    try {
      delay = takeStep();
      failed = false;
    } catch (SQLException | RuntimeException e) {
      // pgjdbc-ng throws some of what goes wrong on the wire unchecked. The word's time runs out.
      LOG.debug("pgonce: channel {} could not change its word", channel, e);
    }
    return delay;
  }

  private @Nullable Duration delayAfter(@Nullable Duration returned, boolean again) {
    if (failed) {
      wanted = Worth.NOT;
      notBefore = System.nanoTime() + WATCH.toNanos();
    }
    if (stopped && (failed || state == State.ASLEEP)) {
      state = State.LEFT;
      ended.signalAll();
      oneAtATime.stop();
      return null;
    }
    if (failed) {
      return WATCH;
    }
    return stopped || wanted != Worth.NOT || again ? Duration.ZERO : returned;
  }

  /** Returns when the next is to be taken; null: when there is a reason. */
  private @Nullable Duration takeStep() throws SQLException {
    var now = begun();
    if (now.stops()) {
      return steps.leave(now.state());
    } else if (now.opens() != Worth.NOT) {
      return steps.open(now.opens() == Worth.IF_WRITERS_WAIT);
    }
    return switch (now.state()) {
      case ASLEEP -> steps.watch();
      case ANNOUNCED, OWING -> steps.linger();
      case AWAKE -> steps.renew();
      case LEFT -> null;
    };
  }

  private record Begun(State state, boolean stops, Worth opens) {}

  private Begun begun() {
    lock.lock();
    try {
      var begun = new Begun(state, stopped, isNotAwake() && !steps.isHeldUp() ? wanted : Worth.NOT);
      if (wanted != begun.opens() && isNotAwake()) {
        notBefore = System.nanoTime() + WATCH.toNanos();
      }
      if (wanted == Worth.SURELY) {
        rush.isSeenTo();
      } else if (wanted == Worth.IF_WRITERS_WAIT) {
        asksAgainAfter(WATCH);
      }
      wanted = Worth.NOT;
      if (begun.opens() == Worth.NOT) {
        // Before the look at the word: a call from now on may be for one that it does not see.
        watches &= state != State.ASLEEP;
      }
      return begun;
    } finally {
      lock.unlock();
    }
  }

  /**
   * It has looked at the word.
   *
   * @param isThere whether somebody is awake, or owes something
   */
  @Nullable Duration watched(boolean isThere) {
    lock.lock();
    try {
      watches |= isThere;
      return watches ? WATCH : null;
    } finally {
      lock.unlock();
    }
  }

  /** It may not be awake, for so long. */
  Duration refused(Duration time) {
    lock.lock();
    try {
      notBefore = System.nanoTime() + time.toNanos();
      watches = true;
      return state == State.OWING ? WakefulnessSteps.SHORTEST_WAIT : WATCH;
    } finally {
      lock.unlock();
    }
  }

  /** No writer waits: it stays as it is, and looks after another's word as before. */
  @Nullable Duration spared() {
    lock.lock();
    try {
      return state == State.OWING ? WakefulnessSteps.SHORTEST_WAIT : watches ? WATCH : null;
    } finally {
      lock.unlock();
    }
  }

  /** Whether writers wait. */
  void asksAgainAfter(Duration time) {
    lock.lock();
    try {
      askNotBefore = System.nanoTime() + time.toNanos();
    } finally {
      lock.unlock();
    }
  }

  void become(State now) {
    lock.lock();
    try {
      LOG.debug("pgonce: channel {} is {}", channel, now);
      state = now;
      watches = now == State.ASLEEP;
      if (now == State.AWAKE) {
        ticks.begin();
      }
    } finally {
      lock.unlock();
    }
  }
}
