package org.pgonce.internal;

import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.pgonce.Mode;
import org.pgonce.PgOnceException;
import org.pgonce.Status;
import org.pgonce.Status.ChannelActivity;
import org.pgonce.Status.State;
import org.pgonce.internal.claim.ListenerIdentity;
import org.pgonce.internal.deliver.BroadcastReceiver;
import org.pgonce.internal.deliver.Places;
import org.pgonce.internal.deliver.Subscribed;
import org.pgonce.internal.settle.Failures;
import org.pgonce.internal.store.ChannelNames;
import org.pgonce.internal.store.Installed;
import org.pgonce.internal.store.Rights;
import org.pgonce.internal.wakeup.Deafness;
import org.pgonce.internal.wakeup.Hearing;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Everything that runs between start and stop: the hearing, a drain or receiver per channel, the
 * scan. Started once, stopped once.
 */
public final class Listener {

  private static final Logger LOG = LoggerFactory.getLogger(Listener.class);

  // After the deadline of a stop the handlers are interrupted and their sessions ended. This is for
  // them to notice, and for the database to be told.
  private static final Duration LAST_WORDS = Duration.ofSeconds(2);

  // Longer than anybody waits, and short enough to be counted in nanoseconds.
  private static final Duration LONGEST = Duration.ofDays(365);

  private final Context context;
  private final ListenSettings settings;
  private final List<Subscribed<?>> subscribed;
  private final Sessions sessions;
  private final Hearing hearing;
  private final Scan scan;
  private final List<Drain<?>> drains = new ArrayList<>();
  private final List<ChannelWork> work = new ArrayList<>();
  private final CountDownLatch stopped = new CountDownLatch(1);
  private final AtomicBoolean started = new AtomicBoolean();
  private final AtomicBoolean released = new AtomicBoolean();
  private final AtomicBoolean leaving = new AtomicBoolean();
  private final CountDownLatch left = new CountDownLatch(1);
  private volatile boolean stopping;
  // By PostgreSQL channel; complete before the hearing starts, read-only from then on.
  private final Map<String, Consumer<String>> ears = new HashMap<>();

  private record ChannelWork(Supplier<ChannelActivity> activity, Places places) {}

  public Listener(Context context, ListenSettings settings, List<Subscribed<?>> subscribed) {
    this.context = context;
    this.settings = settings;
    this.subscribed = List.copyOf(subscribed);
    this.sessions = new Sessions(context.transactions(), context.threads());
    this.hearing =
        new Hearing(
            settings.sources(),
            settings.address(),
            settings.hearing(),
            wakeUpChannels(),
            new Ears());
    this.scan =
        new Scan(
            context,
            new ListenerIdentity(UUID.randomUUID(), settings.instance(), settings.pollInterval()),
            () -> hearing.status().source(),
            () -> hearing.status().listening(),
            sessions);
  }

  private Set<String> wakeUpChannels() {
    return subscribed.stream()
        .map(one -> ChannelNames.wakeUpChannel(one.name()))
        .collect(Collectors.toUnmodifiableSet());
  }

  /**
   * Checks, then begins to listen.
   *
   * @throws PgOnceException if something would keep a notification from being handled, naming all
   *     of it; nothing runs then
   */
  public void start() throws InterruptedException {
    var subscriptions = check();
    for (var one : subscribed) {
      add(one, subscriptions.getOrDefault(one.name(), 0));
    }
    if (!started.compareAndSet(false, true)) {
      throw new IllegalStateException("a listener starts once");
    }
    hearing.start();
    var status =
        hearing.awaitFirstAttempt(
            settings.hearing().connectTimeout().plus(settings.hearing().echoDeadline()));
    var broadcast =
        subscribed.stream().filter(one -> one.channel().mode() == Mode.BROADCAST).findFirst();
    var deafness = status.deafness();
    if (deafness != null && isHopeless(deafness, broadcast.isPresent())) {
      stop(Duration.ZERO);
      throw new PgOnceException(
          "pgonce cannot listen: "
              + deafness.reason()
              + broadcast
                  .map(
                      one ->
                          ". Channel "
                              + one.name()
                              + " is a BROADCAST, which polling alone never hears")
                  .orElse(""));
    }
    scan.start(drains);
  }

  /**
   * Whether waiting would not mend it: a wrong address that the user gave, or a broadcast that
   * nothing here can hear.
   */
  private boolean isHopeless(Deafness deafness, boolean broadcast) {
    return (deafness.permanent() && settings.addressGiven())
        || (deafness.kind() == Deafness.Kind.POLLING && broadcast);
  }

  /** The subscription of each stored channel, by name. */
  private Map<String, Integer> check() {
    try {
      return context
          .transactions()
          .run(
              connection -> {
                var problems = new ArrayList<>(Rights.problems(connection));
                var subscriptions = new HashMap<String, Integer>();
                if (problems.isEmpty()) {
                  for (var one : subscribed) {
                    var installed = Installed.lookUp(connection, one.channel());
                    subscriptions.put(one.name(), installed.subscription());
                    var channelProblems = installed.problems(one.channel());
                    problems.addAll(
                        channelProblems.isEmpty()
                            ? one.channel().feed().problems(connection, one.channel())
                            : channelProblems);
                  }
                }
                if (!problems.isEmpty()) {
                  throw new PgOnceException(
                      "pgonce cannot start to listen:\n- " + String.join("\n- ", problems));
                }
                return subscriptions;
              });
    } catch (SQLException e) {
      throw new PgOnceException(
          "pgonce cannot start to listen, the database cannot be asked: " + Failures.inWords(e), e);
    }
  }

  private <T> void add(Subscribed<T> one, int subscription) {
    if (one.channel().mode() == Mode.BROADCAST) {
      var receiver = new BroadcastReceiver<>(one, context);
      ears.put(ChannelNames.wakeUpChannel(one.name()), receiver::heard);
      work.add(new ChannelWork(receiver::activity, receiver.places()));
      return;
    }
    var drain = new Drain<>(one, subscription, context, sessions, scan);
    drains.add(drain);
    ears.put(ChannelNames.wakeUpChannel(one.name()), payload -> drain.wake(false));
    work.add(new ChannelWork(drain::activity, drain.places()));
  }

  private final class Ears implements Hearing.Sink {

    @Override
    public void heard(String channel, String payload) {
      var ear = ears.get(channel);
      if (ear != null) {
        ear.accept(payload);
      }
    }

    @Override
    public void listening() {
      // What was committed before LISTEN took effect announced itself to nobody here.
      scan.within(Duration.ZERO);
      context.observer().listening(hearing.status().source());
    }

    @Override
    public void deaf(Deafness deafness) {
      scan.within(Duration.ZERO);
      context.observer().deaf(deafness.reason());
    }
  }

  public Status status() {
    var heard = hearing.status();
    return new Status(
        state(),
        heard.source(),
        reason(heard.deafness()),
        heard.failedSources(),
        heard.reconnects(),
        work.stream().map(one -> one.activity().get()).toList());
  }

  private State state() {
    if (stopped.getCount() == 0) {
      return State.STOPPED;
    } else if (stopping) {
      return State.STOPPING;
    }
    return started.get() ? State.RUNNING : State.NEW;
  }

  private static @Nullable String reason(@Nullable Deafness deafness) {
    return deafness == null ? null : deafness.reason();
  }

  /**
   * Ends: no new claims; waits for the handlers that run; then interrupts those that are left and
   * gives their notifications back. Every caller goes the whole way, so the earliest deadline
   * counts. Interrupted, it does not wait for the handlers any longer, but ends all the same.
   *
   * @return whether all handlers ended by themselves
   * @throws IllegalStateException if the caller is one of those whom it would wait for
   */
  public boolean stop(Duration deadline) throws InterruptedException {
    if (context.threads().isOwn()) {
      throw new IllegalStateException(
          "stop() or close() from a handler, or an observer, would wait for its own end: call it"
              + " from another thread");
    }
    var patience = deadline.compareTo(LONGEST) > 0 ? LONGEST : deadline;
    var end = System.nanoTime() + patience.toNanos();
    stopping = true;
    var idle = false;
    try {
      work.forEach(one -> one.places().stop());
      scan.stop();
      hearing.close();
      idle = awaitIdle(end);
    } finally {
      if (!idle) {
        release();
      }
      leave(System.nanoTime() + LAST_WORDS.toNanos());
    }
    return !released.get();
  }

  private boolean awaitIdle(long end) throws InterruptedException {
    for (var one : work) {
      if (!one.places().awaitIdle(end)) {
        return false;
      }
    }
    return true;
  }

  private void release() {
    if (released.compareAndSet(false, true)) {
      LOG.warn(
          "pgonce: handlers are still at work when the time to stop is over; they are interrupted and their notifications given back");
    }
    work.forEach(one -> one.places().release());
  }

  /**
   * Tells the database, on a thread that outlives this call if the database does not answer: it is
   * bounded by the data source's own wait for a connection and the statements' 30 s.
   */
  private void leave(long end) throws InterruptedException {
    try {
      if (leaving.compareAndSet(false, true)) {
        context
            .threads()
            .run(
                () -> {
                  try {
                    sessions.endReleased(end);
                    scan.unregister(end);
                  } catch (InterruptedException e) {
                    Thread.currentThread().interrupt(); // nobody does that; the list can wait
                  } finally {
                    left.countDown();
                  }
                });
      }
      var unused = awaitIdle(end) && left.await(end - System.nanoTime(), TimeUnit.NANOSECONDS);
    } finally {
      context.threads().close();
      stopped.countDown();
    }
  }

  public void awaitStopped() throws InterruptedException {
    stopped.await();
  }
}
