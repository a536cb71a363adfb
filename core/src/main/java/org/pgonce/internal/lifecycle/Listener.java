package org.pgonce.internal.lifecycle;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.pgonce.Channel;
import org.pgonce.Mode;
import org.pgonce.PgOnceException;
import org.pgonce.Status;
import org.pgonce.Status.ChannelActivity;
import org.pgonce.Status.State;
import org.pgonce.internal.broadcast.BroadcastReceiver;
import org.pgonce.internal.consume.DefinitionWatch;
import org.pgonce.internal.consume.SubscriptionConsumer;
import org.pgonce.internal.context.CutOffSessions;
import org.pgonce.internal.context.ListenerContext;
import org.pgonce.internal.gate.NotifyGate;
import org.pgonce.internal.handle.Registration;
import org.pgonce.internal.listen.ListenFailure;
import org.pgonce.internal.listen.NotificationListener;
import org.pgonce.internal.listen.WakeUp;
import org.pgonce.internal.poll.Poll;
import org.pgonce.internal.poll.PollAnswer;
import org.pgonce.internal.poll.PollTarget;
import org.pgonce.internal.store.ChannelNames;
import org.pgonce.internal.store.Installed;

/**
 * Everything that runs between start and stop: the LISTEN connection, a consumer or receiver per
 * subscription, the poll. Started once, stopped once.
 */
public final class Listener {

  private final ListenerContext context;
  private final ListenSettings settings;
  private final List<Registration<?>> registrations;
  private final CutOffSessions sessions;
  private final NotificationListener listening;
  private final Poll poll;
  private final FeedWatch feeds;
  private final List<PollTarget> targets = new ArrayList<>();
  private final List<SubscriptionConsumer<?>> consumers = new ArrayList<>();
  private final List<Supplier<ChannelActivity>> activities = new ArrayList<>();
  private final Map<String, NotifyGate> gates = new HashMap<>();
  private final Shutdown shutdown;
  private final CountDownLatch stopped = new CountDownLatch(1);
  private final AtomicBoolean started = new AtomicBoolean();
  private volatile boolean stopping;
  // By PostgreSQL channel; complete before the listening starts, read-only from then on.
  private final Map<String, List<Consumer<String>>> callbacks = new HashMap<>();

  public Listener(
      ListenerContext context, ListenSettings settings, List<Registration<?>> registrations) {
    this.context = context;
    this.settings = settings;
    this.registrations = List.copyOf(registrations);
    this.sessions = new CutOffSessions(context.transactions(), context.threads());
    this.listening =
        new NotificationListener(
            settings.sources(),
            settings.address(),
            settings.listening(),
            wakeUpChannels(),
            new Callbacks());
    this.poll = new Poll(context, UUID.randomUUID(), settings.pollInterval(), listening::status);
    this.feeds =
        new FeedWatch(
            context,
            registrations.stream().<Channel<?>>map(Registration::channel).toList(),
            settings.pollInterval());
    this.shutdown = new Shutdown(listening, poll, feeds, sessions, context.threads());
  }

  private Set<String> wakeUpChannels() {
    return registrations.stream()
        .map(one -> ChannelNames.wakeUpChannel(one.name()))
        .collect(Collectors.toUnmodifiableSet());
  }

  /**
   * Checks, then begins to listen.
   *
   * @param givenUp whether nobody wants the start any more
   * @throws PgOnceException if something would keep a notification from being handled, naming all
   *     of it; nothing runs then
   */
  public void start(BooleanSupplier givenUp) throws InterruptedException {
    var installed =
        new StartCheck(context, registrations, feeds, settings.startTimeout(), givenUp).run();
    for (var one : registrations) {
      add(one, installed);
    }
    if (!started.compareAndSet(false, true)) {
      throw new IllegalStateException("a listener starts once");
    }
    listening.start();
    var status =
        listening.awaitFirstAttempt(
            settings.listening().connectTimeout().plus(settings.listening().echoTimeout()));
    var broadcast =
        registrations.stream().filter(one -> one.channel().mode() == Mode.BROADCAST).findFirst();
    var failure = status.failure();
    if (failure != null && isHopeless(failure, broadcast.isPresent())) {
      stop(Duration.ZERO);
      throw new PgOnceException(
          "pgonce cannot listen: "
              + failure.reason()
              + broadcast
                  .map(
                      one ->
                          ". Channel "
                              + one.name()
                              + " is a BROADCAST, which polling alone never hears")
                  .orElse(""));
    }
    poll.start(targets);
    feeds.start();
  }

  /**
   * Whether waiting would not mend it: a wrong address that the user gave, or a broadcast that
   * nothing here can hear.
   */
  private boolean isHopeless(ListenFailure failure, boolean broadcast) {
    return (failure.permanent() && settings.addressGiven())
        || (failure.kind() == ListenFailure.Kind.POLLING && broadcast);
  }

  private <T> void add(Registration<T> defined, Map<String, Installed> all) {
    var installed = all.getOrDefault(defined.label(), Installed.NOWHERE);
    var one = defined.as(installed);
    if (one.channel().mode() == Mode.BROADCAST) {
      addBroadcast(one);
      return;
    }
    var gate = gate(one, all);
    var consumer = new SubscriptionConsumer<>(one, context, sessions, poll);
    gate.add(consumer);
    targets.add(consumer);
    consumers.add(consumer);
    addCallback(one, payload -> heard(consumer, payload));
    activities.add(consumer::activity);
    shutdown.add(consumer);
  }

  private <T> void addBroadcast(Registration<T> one) {
    var receiver = new BroadcastReceiver<>(one, context);
    var definition = new DefinitionWatch(one, context.observer());
    targets.add(new Broadcast(one.installed().subscription(), definition));
    addCallback(one, payload -> heard(receiver, definition, payload));
    activities.add(() -> receiver.activity(definition.difference()));
    shutdown.add(receiver.slots());
  }

  /** One for each channel. */
  private NotifyGate gate(Registration<?> one, Map<String, Installed> all) {
    return gates.computeIfAbsent(
        one.name(),
        name -> {
          var listened =
              registrations.stream()
                  .filter(each -> each.name().equals(name))
                  .map(each -> all.getOrDefault(each.label(), Installed.NOWHERE).subscription())
                  .toList();
          var gate = new NotifyGate(name, context.threads(), context.transactions(), listened);
          addCallback(
              one,
              payload -> {
                if (WakeUp.of(payload) == WakeUp.NEW_ROWS) {
                  gate.heard();
                }
              });
          shutdown.add(gate);
          return gate;
        });
  }

  /** Nothing of it is stored: all that a poll can say is that it is defined anew. */
  private record Broadcast(int subscription, DefinitionWatch definition) implements PollTarget {

    @Override
    public void polled(PollAnswer answer, long poll) {
      var unused = definition.told(answer.definition());
    }
  }

  private void heard(BroadcastReceiver<?> receiver, DefinitionWatch definition, String payload) {
    if (WakeUp.of(payload) == WakeUp.DEFINITION) {
      poll.within(Duration.ZERO);
    } else if (!definition.isOutdated()) {
      receiver.heard(payload);
    }
  }

  /** Anybody can NOTIFY: whether it is paused, or defined anew, only the poll knows. */
  private void heard(SubscriptionConsumer<?> consumer, String payload) {
    switch (WakeUp.of(payload)) {
      case PAUSE, DEFINITION -> poll.within(consumer.heardPause(poll.begun()));
      case RESUME, LATER -> poll.within(Duration.ZERO);
      case DUE -> consumer.freed(true);
      case NEW_ROWS -> consumer.notified();
    }
  }

  private void addCallback(Registration<?> one, Consumer<String> callback) {
    callbacks
        .computeIfAbsent(ChannelNames.wakeUpChannel(one.name()), channel -> new ArrayList<>())
        .add(callback);
  }

  private final class Callbacks implements NotificationListener.Callback {

    @Override
    public void notified(String channel, String payload) {
      callbacks.getOrDefault(channel, List.of()).forEach(callback -> callback.accept(payload));
    }

    @Override
    public void listening() {
      // What was committed before LISTEN took effect announced itself to nobody here.
      consumers.forEach(SubscriptionConsumer::hasMissed);
      poll.within(Duration.ZERO);
      context.observer().listening(listening.status().source());
    }

    @Override
    public void disconnected(ListenFailure failure) {
      poll.within(Duration.ZERO);
      context.observer().disconnected(failure.reason());
    }
  }

  public Status status() {
    var heard = listening.status();
    return new Status(
        state(),
        heard.source(),
        reason(heard.failure()),
        heard.failedSources(),
        heard.reconnects(),
        activities.stream().map(Supplier::get).toList());
  }

  private State state() {
    if (stopped.getCount() == 0) {
      return State.STOPPED;
    } else if (stopping) {
      return State.STOPPING;
    }
    return started.get() ? State.RUNNING : State.NEW;
  }

  private static @Nullable String reason(@Nullable ListenFailure failure) {
    return failure == null ? null : failure.reason();
  }

  /**
   * Ends as {@link Shutdown} says.
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
    stopping = true;
    try {
      return shutdown.within(deadline);
    } finally {
      stopped.countDown();
    }
  }

  public void awaitStopped() throws InterruptedException {
    stopped.await();
  }
}
