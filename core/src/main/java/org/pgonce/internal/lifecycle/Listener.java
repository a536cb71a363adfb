package org.pgonce.internal.lifecycle;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.pgonce.Mode;
import org.pgonce.PgOnceException;
import org.pgonce.Status;
import org.pgonce.Status.State;
import org.pgonce.internal.broadcast.BroadcastReceiver;
import org.pgonce.internal.consume.SubscriptionConsumer;
import org.pgonce.internal.context.ListenerContext;
import org.pgonce.internal.gate.NotifyGate;
import org.pgonce.internal.handle.Registration;
import org.pgonce.internal.handle.WorkerSlots;
import org.pgonce.internal.listen.ListenConfig;
import org.pgonce.internal.listen.ListenFailure;
import org.pgonce.internal.listen.ListenStatus;
import org.pgonce.internal.listen.NotificationListener;
import org.pgonce.internal.poll.Poll;
import org.pgonce.internal.poll.PollTarget;
import org.pgonce.internal.store.ChannelNames;
import org.pgonce.spi.Event;

/**
 * What runs between start and stop: the LISTEN connection, a consumer or receiver per subscription,
 * the poll. Started once.
 */
public final class Listener {

  // After a gate was opened, for the poll that sees it open: polls come more often from then on.
  private static final Duration POLLS_SOON = Duration.ofMillis(300);

  private final ListenerContext context;
  private final ListenSettings settings;
  private final List<Registration<?>> registrations;
  private final NotificationListener listening;
  private final Poll poll;
  private final FeedWatch feeds;
  private final Shutdown shutdown;
  private final CountDownLatch stopped = new CountDownLatch(1);
  private volatile boolean started;
  // Set by a stop, between two steps of the start.
  private volatile boolean stopping;
  // Filled by one step of the start, before anything runs; read-only from then on. The status may
  // be asked for meanwhile.
  private final List<PollTarget> targets = new CopyOnWriteArrayList<>();
  private final List<SubscriptionConsumer> consumers = new ArrayList<>();
  private final List<WorkerSlots> slots = new ArrayList<>();
  private final Map<String, NotifyGate> gates = new HashMap<>();
  private final Map<String, List<Consumer<String>>> callbacks = new HashMap<>();

  public Listener(
      ListenerContext context, ListenSettings settings, List<Registration<?>> registrations) {
    this.context = context;
    this.settings = settings;
    this.registrations = List.copyOf(registrations);
    this.listening =
        new NotificationListener(
            settings.sources(),
            settings.address(),
            ListenConfig.DEFAULTS,
            registrations.stream()
                .map(one -> ChannelNames.wakeUpChannel(one.name()))
                .collect(Collectors.toUnmodifiableSet()),
            new Callbacks());
    this.poll = new Poll(context, settings.pollInterval(), listening::status);
    this.feeds = new FeedWatch(context, registrations, settings.pollInterval());
    this.shutdown = new Shutdown(this::stopParts, this::unregister, slots, context.threads());
  }

  /** As {@link org.pgonce.PgOnce#start}. Stops itself if that fails. */
  public void start() throws InterruptedException {
    try {
      begin();
      started = true;
    } finally {
      if (!started && !stopping) {
        stop(Duration.ZERO);
      }
    }
  }

  private void begin() throws InterruptedException {
    if (registrations.isEmpty()) {
      context.threads().close(); // There is nothing to run on them.
    }
    var installed =
        new StartCheck(context, registrations, feeds).run(settings.startTimeout(), () -> stopping);
    if (registrations.isEmpty()) {
      step(() -> {}); // unless it was stopped meanwhile
      return;
    }
    StartWarnings.log(context.dataSource(), installed);
    step(() -> listen(installed));
    var listens = ListenConfig.DEFAULTS;
    var failure =
        listening.awaitFirstAttempt(listens.connectTimeout().plus(listens.echoTimeout())).failure();
    step(() -> handle(failure));
  }

  /** A step that neither waits nor asks the database: a stop waits for it. */
  private synchronized void step(Runnable step) {
    if (stopping) {
      throw new PgOnceException("pgonce was stopped while it started");
    }
    step.run();
  }

  private void listen(List<Registration<?>> installed) {
    for (var one : installed) {
      if (one.channel().mode() == Mode.BROADCAST) {
        addBroadcast(one);
      } else {
        addStored(one, installed);
      }
    }
    listening.start();
  }

  private void handle(@Nullable ListenFailure failure) {
    if (failure != null) {
      requireHope(failure);
    }
    poll.start(targets);
    feeds.start();
  }

  /**
   * Throws where waiting would not help: the user gave a wrong address, or nothing here can receive
   * a broadcast.
   */
  private void requireHope(ListenFailure failure) {
    var broadcast =
        registrations.stream().filter(one -> one.channel().mode() == Mode.BROADCAST).findFirst();
    var hopeless = failure.kind() == ListenFailure.Kind.POLLING && broadcast.isPresent();
    var isRefused = failure.kind() == ListenFailure.Kind.REFUSED;
    if (hopeless || (isRefused && settings.addressGiven())) {
      throw new PgOnceException(
          "pgonce cannot listen: "
              + failure.reason()
              + broadcast
                  .map(
                      one ->
                          ". Channel %s is a BROADCAST, which polling alone never hears"
                              .formatted(one.name()))
                  .orElse(""));
    }
  }

  private void addStored(Registration<?> one, List<Registration<?>> all) {
    var consumer = new SubscriptionConsumer(one, context, poll);
    // Before the gate of the channel is made, which counts the wake-up: a worker waits for it.
    addCallback(one.name(), payload -> heard(consumer, payload));
    gates.computeIfAbsent(one.name(), name -> gate(name, all)).add(consumer);
    targets.add(consumer);
    consumers.add(consumer);
    slots.add(consumer.slots());
  }

  private void addBroadcast(Registration<?> one) {
    var receiver = new BroadcastReceiver(one, context);
    targets.add(receiver);
    slots.add(receiver.slots());
    addCallback(one.name(), payload -> heard(receiver, payload));
  }

  private NotifyGate gate(String channel, List<Registration<?>> all) {
    var subscriptions =
        all.stream()
            .filter(each -> each.name().equals(channel))
            .map(each -> each.installed().subscription())
            .toList();
    var gate =
        new NotifyGate(
            channel,
            context.threads(),
            context.transactions(),
            subscriptions,
            () -> poll.within(POLLS_SOON));
    addCallback(
        channel,
        payload -> {
          if (NotifyPayload.of(payload) == NotifyPayload.NEW_ROWS) {
            gate.heard();
          }
        });
    return gate;
  }

  private void addCallback(String channel, Consumer<String> callback) {
    callbacks
        .computeIfAbsent(ChannelNames.wakeUpChannel(channel), name -> new ArrayList<>())
        .add(callback);
  }

  private void heard(BroadcastReceiver receiver, String payload) {
    if (NotifyPayload.of(payload) == NotifyPayload.DEFINITION) {
      poll.within(Duration.ZERO);
      feeds.changed();
    } else {
      receiver.heard(payload);
    }
  }

  private void heard(SubscriptionConsumer consumer, String payload) {
    switch (NotifyPayload.of(payload)) {
      case NEW_ROWS -> consumer.notified();
      case DUE -> consumer.freed(true);
      case LATER, RESUME -> poll.within(Duration.ZERO);
      case PAUSE -> poll.within(consumer.heardPause());
      case DEFINITION -> {
        poll.within(consumer.heardPause());
        feeds.changed();
      }
    }
  }

  /** An observer that stops its listener is refused on these threads, too. */
  private final class Callbacks implements NotificationListener.Callback {

    @Override
    public void notified(String channel, String payload) {
      var all = callbacks.getOrDefault(channel, List.of());
      context.threads().asOwn(() -> all.forEach(callback -> callback.accept(payload)));
    }

    @Override
    public void listening() {
      // Wake-ups that were sent before LISTEN took effect were not received here.
      consumers.forEach(SubscriptionConsumer::forgetBlockedKeys);
      poll.within(Duration.ZERO);
      observe(new Event.Listening(listening.status().source()));
    }

    @Override
    public void disconnected(ListenFailure failure) {
      poll.within(Duration.ZERO);
      observe(new Event.Disconnected(failure.reason()));
    }

    private void observe(Event event) {
      context.threads().asOwn(() -> context.observer().on(event));
    }
  }

  private State state() {
    if (stopped.getCount() == 0) {
      return State.STOPPED;
    }
    return stopping ? State.STOPPING : started ? State.RUNNING : State.NEW;
  }

  private @Nullable String listenFailure(ListenStatus heard) {
    if (heard.failure() != null) {
      return heard.failure().reason();
    }
    // A start that waits for the database, or has failed.
    return heard.listening() || registrations.isEmpty() ? null : "not started";
  }

  public Status status() {
    var heard = listening.status();
    return new Status(
        state(),
        registrations.isEmpty() ? "nothing" : heard.source(),
        listenFailure(heard),
        heard.failedSources(),
        heard.reconnects(),
        targets.stream().map(PollTarget::activity).toList());
  }

  /** As {@link org.pgonce.PgOnce#stop}: a start that is under way takes no further step. */
  public boolean stop(Duration deadline) throws InterruptedException {
    refuseFromWithin();
    synchronized (this) {
      stopping = true;
    }
    try {
      return registrations.isEmpty() || shutdown.within(deadline);
    } finally {
      stopped.countDown();
    }
  }

  /** Throws where a handler or an observer of this listener calls it. */
  public void refuseFromWithin() {
    if (context.threads().isOwn()) {
      throw new IllegalStateException(
          "stop() or close() from a handler, or an observer, would wait for its own end: call it"
              + " from another thread");
    }
  }

  private void stopParts() {
    slots.forEach(WorkerSlots::stop);
    consumers.forEach(SubscriptionConsumer::stop);
    gates.values().forEach(NotifyGate::stop);
    poll.stop();
    feeds.stop();
    // With its LISTEN session goes its rank, as the others see with their next poll.
    listening.close();
  }

  private boolean unregister() throws InterruptedException {
    var end = System.nanoTime() + Shutdown.GRACE.toNanos();
    for (var gate : gates.values()) {
      gate.close(end - Shutdown.GRACE.toNanos() / 2);
    }
    poll.unregister(end);
    feeds.awaitEnd(end);
    return true;
  }

  /**
   * As {@link org.pgonce.PgOnce#awaitStopped}.
   *
   * @param close stops it when the JVM is told to end
   * @param longest how long to wait for that
   */
  public void awaitStopped(Runnable close, Duration longest) throws InterruptedException {
    var hook = new Thread(close, "pgonce-shutdown");
    try {
      Runtime.getRuntime().addShutdownHook(hook);
    } catch (IllegalStateException shuttingDown) {
      return; // nobody waited here when the JVM was told to end: it ends as if killed
    }
    try {
      stopped.await();
    } finally {
      try {
        Runtime.getRuntime().removeShutdownHook(hook);
      } catch (IllegalStateException shuttingDown) {
        hook.join(Math.max(1, longest.toMillis())); // so that main does not return before
      }
    }
  }
}
