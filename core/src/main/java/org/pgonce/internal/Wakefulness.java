package org.pgonce.internal;

import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.claim.WordStatements;
import org.pgonce.internal.claim.WordStatements.Owed;
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

  // While it is awake, a row waits no longer than that for somebody to look for it.
  private static final Duration TICK = Duration.ofMillis(2);
  // The word is good for ten times as long.
  private static final Duration RENEWAL = Duration.ofMillis(50);
  // Wake-ups within that time by which it awakes, 250 a second. It is not more, since many writers
  // who wait for one another are as slow as that.
  private static final int HEARD = 25;
  private static final Duration HEARD_WITHIN = Duration.ofMillis(100);
  // Between two looks at the word of another, and after one that says that this one may not.
  private static final Duration WATCH = Duration.ofSeconds(1);
  private static final Duration REFUSED = Duration.ofSeconds(10);
  // Whom it waits for may be open for hours: an eighth of the time so far, at most.
  private static final int PATIENCE = 8;
  private static final Duration SHORTEST_WAIT = Duration.ofMillis(5);
  private static final Duration LONGEST_WAIT = Duration.ofSeconds(2);

  private enum State {
    ASLEEP,
    /** Has the word, and has called the others; writers still notify. */
    ANNOUNCED,
    AWAKE,
    /** Writers notify again; looks are owed. */
    OWING,
    LEFT
  }

  private final String channel;
  private final Context context;
  private final List<Integer> listened;
  private final CallForHelp call;
  private final List<Wakeful> subscriptions = new ArrayList<>();

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition ended = lock.newCondition();
  private State state = State.ASLEEP;
  // Whether somebody else's word is to be looked after.
  private boolean watches;
  private boolean wanted;
  private boolean stopped;
  private boolean ticking;
  private int heard;
  // By System.nanoTime(), as all times here.
  private long heardSince = System.nanoTime();
  private long notBefore = System.nanoTime();

  private final OneAtATime steps;

  // Of the one who steps.
  private boolean failed;
  private Owed owed = new Owed(0, "", "");
  private long owedSince;
  private int left;
  private boolean alwaysCalls;
  private long lastBusyAt;

  /**
   * @param listened the ids of the subscriptions that this process listens for
   */
  Wakefulness(String channel, Context context, List<Integer> listened) {
    this.channel = channel;
    this.context = context;
    this.call = new CallForHelp(channel, context);
    this.listened = listened.stream().sorted().toList();
    this.steps = new OneAtATime(context.threads()::runLater, lock, this::step, this::delayAfter);
  }

  /** Before the listener starts. */
  void add(Wakeful subscription) {
    subscriptions.add(subscription);
  }

  /** A wake-up came. Returns at once. */
  void heard() {
    lock.lock();
    try {
      var now = System.nanoTime();
      if (now - heardSince > HEARD_WITHIN.toNanos()) {
        heardSince = now;
        heard = 0;
      }
      heard++;
      if (heard >= HEARD && !wanted && now - notBefore >= 0 && isNotAwake()) {
        wanted = true;
        steps.within(Duration.ZERO);
      }
    } finally {
      lock.unlock();
    }
  }

  private boolean isNotAwake() {
    return state == State.ASLEEP || state == State.OWING;
  }

  /** Somebody, maybe this one, is awake, or owes looks. Returns at once. */
  void heardAwake() {
    lock.lock();
    try {
      if (state == State.ASLEEP && !watches) {
        watches = true;
        steps.within(WATCH);
      }
    } finally {
      lock.unlock();
    }
  }

  /**
   * Calls the other listeners, who may stand by; while it is awake, they are called with the word.
   * Returns at once.
   */
  void callForHelp() {
    lock.lock();
    try {
      if (state == State.AWAKE) {
        return;
      }
    } finally {
      lock.unlock();
    }
    call.make();
  }

  /** All were called. Returns at once. */
  void heardCall() {
    call.heard();
  }

  /** Is awake no more; what it owes is left to the others. Returns at once. */
  void stop() {
    lock.lock();
    try {
      stopped = true;
      steps.within(Duration.ZERO);
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
      wanted = false;
      notBefore = System.nanoTime() + WATCH.toNanos();
    }
    if (stopped && (failed || state == State.ASLEEP)) {
      state = State.LEFT;
      ended.signalAll();
      steps.stop();
      return null;
    }
    if (failed) {
      return WATCH;
    }
    return stopped || wanted || again ? Duration.ZERO : returned;
  }

  /** Returns when the next is to be taken; null: when there is a reason. */
  private @Nullable Duration takeStep() throws SQLException {
    var now = begun();
    if (now.stops()) {
      return leave(now.state());
    } else if (now.opens()) {
      return open();
    }
    return switch (now.state()) {
      case ASLEEP -> watch();
      case ANNOUNCED, OWING -> linger();
      case AWAKE -> renew();
      case LEFT -> null;
    };
  }

  private record Begun(State state, boolean stops, boolean opens) {}

  private Begun begun() {
    lock.lock();
    try {
      var begun = new Begun(state, stopped, wanted && isNotAwake() && !isHeldUp());
      if (wanted && !begun.opens()) {
        notBefore = System.nanoTime() + WATCH.toNanos();
      }
      wanted = false;
      heard = 0;
      // Before the look at the word: a call from now on may be for one that it does not see.
      watches &= state != State.ASLEEP;
      return begun;
    } finally {
      lock.unlock();
    }
  }

  private boolean isHeldUp() {
    return subscriptions.stream().anyMatch(Wakeful::isHeldUp);
  }

  private @Nullable Duration open() throws SQLException {
    var word =
        context
            .transactions()
            .run(
                transaction ->
                    new Answer(WordStatements.announceAwake(transaction, channel, listened)))
            .word();
    if (word == null || word == WordStatements.TAKEN) {
      return refused(word == null ? REFUSED : WATCH);
    }
    owed = new Owed(word, "", "");
    lastBusyAt = System.nanoTime();
    become(State.ANNOUNCED);
    return stayAwake(false) ? RENEWAL : fallAsleep(true);
  }

  /** What {@link Transactions} can hand back. */
  private record Answer(@Nullable Long word) {}

  private boolean stayAwake(boolean calls) throws SQLException {
    var word =
        context
            .transactions()
            .run(
                transaction ->
                    new Answer(
                        WordStatements.stayAwake(
                            transaction, channel, listened, owed.mine(), calls)))
            .word();
    if (word == null) {
      return false;
    }
    owed = new Owed(word, "", "");
    become(State.AWAKE);
    return true;
  }

  private Duration renew() throws SQLException {
    var helpless = false;
    var busy = false;
    for (var one : subscriptions) { // each is to be asked
      helpless |= one.needsHelp();
      busy |= one.wasBusy();
    }
    var now = System.nanoTime();
    if (busy) {
      lastBusyAt = now;
    }
    var isWorthIt = busy || (helpless && now - lastBusyAt < WATCH.toNanos());
    if (isWorthIt && !isHeldUp() && stayAwake(helpless)) {
      return RENEWAL;
    }
    return fallAsleep(isWorthIt || helpless || isHeldUp());
  }

  /** If others are to look as well: this process cannot, or not for all that the word was for. */
  private Duration fallAsleep(boolean calls) throws SQLException {
    return owe(owed(owed.mine(), calls), calls);
  }

  private Owed owed(long word, boolean calls) throws SQLException {
    return context
        .transactions()
        .run(transaction -> WordStatements.fallAsleep(transaction, channel, word, calls));
  }

  private Duration owe(Owed now, boolean calls) {
    owed = now;
    owedSince = System.nanoTime();
    left = Integer.MAX_VALUE;
    alwaysCalls = calls;
    become(State.OWING);
    look();
    return SHORTEST_WAIT;
  }

  private @Nullable Duration linger() throws SQLException {
    if (owed.below().isEmpty()) { // announced, and could not say so
      return fallAsleep(true);
    }
    var owing = owed;
    var before = left;
    var calls =
        alwaysCalls || subscriptions.stream().anyMatch(one -> one.isHeldUp() || one.needsHelp());
    var now =
        context
            .transactions()
            .run(transaction -> WordStatements.linger(transaction, channel, owing, before, calls));
    owed = now.owed();
    if (now.left() == 0) {
      // All were called, this one among them.
      context
          .transactions()
          .make(transaction -> WordStatements.asleep(transaction, channel, now.owed().mine()));
      become(State.ASLEEP);
      return WATCH; // the word may be another's by now
    }
    if (now.left() < left) {
      left = now.left();
      look();
    }
    return restAfter(System.nanoTime() - owedSince);
  }

  private static Duration restAfter(long nanos) {
    return Duration.ofNanos(
        Math.max(SHORTEST_WAIT.toNanos(), Math.min(LONGEST_WAIT.toNanos(), nanos / PATIENCE)));
  }

  private @Nullable Duration watch() throws SQLException {
    var seen =
        context
            .transactions()
            .run(
                transaction -> {
                  var word = WordStatements.word(transaction, channel);
                  return word == null ? new WordStatements.Word(0, false) : word;
                });
    if (seen.isOver()) {
      var taken = owed(seen.value(), true);
      if (taken.mine() != seen.value()) { // and not by another one
        return owe(taken, true);
      }
    }
    lock.lock();
    try {
      watches |= seen.value() != 0;
      return watches ? WATCH : null;
    } finally {
      lock.unlock();
    }
  }

  private @Nullable Duration leave(State from) throws SQLException {
    if (from != State.ASLEEP && from != State.LEFT) {
      var mine = owed.mine();
      context.transactions().make(transaction -> WordStatements.leave(transaction, channel, mine));
      become(State.ASLEEP);
    }
    return null;
  }

  private void look() {
    subscriptions.forEach(Wakeful::look);
  }

  private Duration refused(Duration time) {
    lock.lock();
    try {
      notBefore = System.nanoTime() + time.toNanos();
      watches = true;
      return state == State.OWING ? SHORTEST_WAIT : WATCH;
    } finally {
      lock.unlock();
    }
  }

  private void become(State now) {
    lock.lock();
    try {
      LOG.debug("pgonce: channel {} is {}", channel, now);
      state = now;
      watches = now == State.ASLEEP;
      if (now == State.AWAKE && !ticking) {
        ticking = true;
        context.threads().tickLater(TICK, this::tick);
      }
    } finally {
      lock.unlock();
    }
  }

  private void tick() {
    lock.lock();
    try {
      ticking = state == State.AWAKE && !stopped;
      if (!ticking) {
        return;
      }
      context.threads().tickLater(TICK, this::tick);
    } finally {
      lock.unlock();
    }
    subscriptions.forEach(Wakeful::keepLooking);
  }
}
