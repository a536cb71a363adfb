package org.pgonce;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.concurrent.Threads;
import org.pgonce.internal.context.ListenerContext;
import org.pgonce.internal.handle.Registration;
import org.pgonce.internal.jdbc.PoolSettings;
import org.pgonce.internal.jdbc.Transactions;
import org.pgonce.internal.lifecycle.ListenSettings;
import org.pgonce.internal.lifecycle.Listener;
import org.pgonce.internal.store.ChannelNames;
import org.pgonce.internal.store.ChannelSql;
import org.pgonce.internal.store.Installation;
import org.pgonce.internal.store.Schema;
import org.pgonce.spi.HandlerInterceptor;
import org.pgonce.spi.Observer;
import org.pgonce.spi.PayloadCodec;

/**
 * Exactly-once notification channels on PostgreSQL: where everything begins.
 *
 * <pre>{@code
 * try (var pgonce = PgOnce.using(dataSource)) {
 *   pgonce.install(SIGNED_UP);
 *   pgonce.listen(SIGNED_UP, (signedUp, tx) ->
 *       tx.update("insert into greeting (user_id) values (?)", signedUp.payload().userId()));
 *   pgonce.start().awaitStopped();
 * }
 * }</pre>
 *
 * <p>Each {@link Mode} says what it promises; the default is {@link Mode#EXACTLY_ONCE}.
 *
 * <p>Safe for use by several threads. One instance per process and database; while it listens it
 * holds one LISTEN connection outside the data source, and takes others from it as it works.
 */
public final class PgOnce implements AutoCloseable {

  // Of installations, whose statements may take long.
  private static final Duration LONGEST_INSTALLATION = Duration.ofHours(1);

  private final DataSource dataSource;
  private final PoolSettings pool = new PoolSettings();
  private final PayloadCodec codec;
  private final Publisher publisher;
  private final Observer observer;
  private final List<HandlerInterceptor> interceptors;
  private final ListenSettings settings;
  private final Duration stopTimeout;
  private final List<Registration<?>> registrations = new ArrayList<>();
  private final Object lock = new Object();
  // The latest that was started, or is being started.
  private volatile @Nullable Listener listener;
  private boolean closed;

  PgOnce(
      DataSource dataSource,
      PayloadCodec codec,
      Observer observer,
      List<HandlerInterceptor> interceptors,
      ListenSettings settings,
      Duration stopTimeout) {
    this.dataSource = dataSource;
    this.codec = codec;
    this.publisher = new Publisher(codec, observer);
    this.observer = observer;
    this.interceptors = interceptors;
    this.settings = settings;
    this.stopTimeout = stopTimeout;
  }

  /** With defaults that are right for production; nothing is opened before it is needed. */
  public static PgOnce using(DataSource dataSource) {
    return builder(dataSource).build();
  }

  /** With settings of your own. */
  public static PgOnceBuilder builder(DataSource dataSource) {
    return new PgOnceBuilder(dataSource);
  }

  /**
   * Installs the schema and these channels, or renews them. Idempotent; safe when several processes
   * do it at once. Each channel is a transaction of its own, in the order of their names: after a
   * failure the channels before are installed, and a further call goes on from there.
   *
   * <p>A changed definition takes the channel from the listeners that have the former one, see
   * {@link #start()}.
   *
   * <p>No writer waits longer than 2 s at a time. A table's lock is tried for 1.5 s at most, with
   * pauses for the writers, and given up after some 6 s; other locks after 10 s.
   *
   * @throws IllegalArgumentException if two of the channels have the same name
   * @throws PgOnceException if a channel is installed with another definition, the role may not
   *     install, a table is in use, or the connection ends: then that channel may have been
   *     installed, and installing again is safe
   * @throws UnreachableException if there was no connection to begin with
   */
  public PgOnce install(Channel<?>... channels) {
    ChannelNames.requireDifferent(channels);
    installation().install(List.of(channels));
    return this;
  }

  /**
   * Checks that these channels are installed as defined, with all their subscriptions. Changes
   * nothing; {@link #start} checks those that are listened to in the same way.
   *
   * @throws IllegalArgumentException if two of the channels have the same name
   * @throws PgOnceException naming all that differs, with what to do
   * @throws UnreachableException if the connection could not be had, or ended
   */
  public PgOnce check(Channel<?>... channels) {
    ChannelNames.requireDifferent(channels);
    installation().check(List.of(channels));
    return this;
  }

  private Installation installation() {
    return new Installation(
        new Transactions(dataSource, pool, LONGEST_INSTALLATION), settings.instance());
  }

  /**
   * The SQL of {@link #install}, for a reviewer and a migration tool.
   *
   * @throws PgOnceException if what it does depends on a watched table, which the channel's feed
   *     then has to look at
   */
  public static String migration(Channel<?>... channels) {
    ChannelNames.requireDifferent(channels);
    return Schema.script() + "\n" + ChannelSql.installWithFeeds(List.of(channels));
  }

  /** As {@link #listen(Channel, ListenOptions, Handler)}, with {@link ListenOptions#DEFAULT}. */
  public <T> PgOnce listen(Channel<T> channel, Handler<T> handler) {
    return listen(channel, ListenOptions.DEFAULT, handler);
  }

  /**
   * As {@link #listen(Channel, String, ListenOptions, Handler)}, for the channel's only
   * subscription.
   *
   * @throws IllegalArgumentException also if the channel has several
   */
  public <T> PgOnce listen(Channel<T> channel, ListenOptions options, Handler<T> handler) {
    Objects.requireNonNull(channel, "channel");
    var names = channel.options().names();
    if (names.size() > 1) {
      throw new IllegalArgumentException(
          "channel " + channel.name() + " has the subscriptions " + names + ": say which");
    }
    return listen(channel, names.iterator().next(), options, handler);
  }

  /**
   * Registers the handler of a subscription in this process. Takes effect with {@link #start()},
   * and stays over {@link #stop} and a further start.
   *
   * @throws IllegalStateException while it is started, or after {@link #close}
   * @throws IllegalArgumentException if the channel has no such subscription, or a handler for it
   *     here already, or cannot be handled with these options, or the codec does not know the
   *     channel's rules for fields, or can make nothing of its payload type
   */
  public <T> PgOnce listen(
      Channel<T> channel, String subscription, ListenOptions options, Handler<T> handler) {
    Objects.requireNonNull(channel, "channel");
    Objects.requireNonNull(subscription, "subscription");
    if (!channel.options().names().contains(subscription)) {
      throw new IllegalArgumentException(
          "channel %s is defined with the subscriptions %s and not with %s"
              .formatted(channel.name(), channel.options().names(), subscription));
    }
    Objects.requireNonNull(options, "options");
    Objects.requireNonNull(handler, () -> "the handler of channel " + channel.name() + " is null");
    synchronized (lock) {
      requireStopped(
          "listen(" + channel.name() + ") after start(): say first who handles what, then start");
      requireReadable(channel);
      var added =
          new Registration<>(channel, subscription, handler, options.requireFitFor(channel));
      if (registrations.stream().anyMatch(one -> one.label().equals(added.label()))) {
        throw new IllegalArgumentException(
            "channel "
                + added.label()
                + " has a handler in this process already; raise its concurrency instead");
      }
      registrations.add(added);
      return this;
    }
  }

  private void requireReadable(Channel<?> channel) {
    var rules = channel.options().payload();
    try {
      var itsCodec = codec.with(rules.unknownFields(), rules.missingFields());
      channel.requireDecodable(itsCodec);
      rules.upcasters().values().forEach(step -> itsCodec.requireDecodable(step.reads()));
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException("channel " + channel.name() + ": " + e.getMessage(), e);
    }
  }

  /**
   * Checks that every channel is installed as defined and that the role may handle it, then begins
   * to listen, and returns. What was stored before is handled, too. A database that cannot be
   * reached is tried again for {@link PgOnceBuilder#startTimeout}, unless {@link #stop} is called.
   *
   * <p>Where nothing is listened to, it checks that the schema is there, in its version, and does
   * no more: no connection and no thread is kept. After {@link #stop} it may be started again, any
   * number of times.
   *
   * <p>A channel that is installed with another definition later is not handled here until it is
   * installed as defined here again. An error in the log, {@link Status.ChannelActivity#outdated()}
   * and {@link org.pgonce.spi.Event.Outdated} say what differs.
   *
   * @throws PgOnceException if something would keep a notification from being handled; it names all
   *     of it. Also if {@link #stop} was called meanwhile
   * @throws UnreachableException if the database could not be asked in time
   * @throws IllegalStateException if it is started already, or being started, a stop is not over
   *     yet, or it was closed
   */
  public PgOnce start() {
    try {
      next().start();
      return this;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new PgOnceException("pgonce was interrupted while it started", e);
    }
  }

  /** A listener to be started, which a stop finds from now on. */
  private Listener next() {
    synchronized (lock) {
      requireStopped(
          "start() was called before: stop() first, which ends before it can start again");
      // With threads of its own, which it closes.
      var context =
          new ListenerContext(
              dataSource,
              pool,
              codec,
              publisher,
              observer,
              interceptors,
              new Threads(),
              settings.instance());
      var next = new Listener(context, settings, registrations);
      listener = next;
      return next;
    }
  }

  private void requireStopped(String otherwise) {
    if (closed) {
      throw new IllegalStateException("this PgOnce was closed, for good: make a new one");
    }
    if (listener != null && status().state() != Status.State.STOPPED) {
      throw new IllegalStateException(otherwise);
    }
  }

  /**
   * Waits until {@link #stop} or {@link #close} is called elsewhere, or the JVM is told to end
   * (SIGTERM, Ctrl-C): then it stops within the stop timeout of the builder. While no thread waits
   * here, SIGTERM ends the JVM at once, as a kill does, and what was claimed is claimed again. A
   * further start is not waited for.
   *
   * @throws IllegalStateException before the start
   */
  public void awaitStopped() throws InterruptedException {
    var running = listener;
    if (running == null) {
      throw new IllegalStateException("awaitStopped() before start()");
    }
    running.awaitStopped(this::close, stopTimeout);
  }

  /**
   * Claims nothing more, waits for the handlers that run, then interrupts those that are left,
   * closes their connections and gives their notifications back (a broadcast is dropped). Returns
   * at most 5 s after the deadline, even if the database or a handler does not react. May be called
   * again and by several threads: the earliest deadline counts. Ends a start that is under way, and
   * does not wait for it: {@link #start} throws when the data source has answered it. What was
   * stopped may be started again.
   *
   * @param deadline how long to wait for the handlers; 0 or less for not at all
   * @return whether every handler ended by itself
   * @throws InterruptedException if this thread is interrupted; everything is stopped all the same
   * @throws IllegalStateException if a handler or an observer calls this, which would wait for its
   *     own end
   */
  public boolean stop(Duration deadline) throws InterruptedException {
    Objects.requireNonNull(deadline, "deadline");
    var stopping = listener;
    return stopping == null || stopping.stop(deadline);
  }

  /**
   * {@link #stop} within the stop timeout of the builder, for good. The data source stays open: it
   * is not pgonce's.
   *
   * @throws IllegalStateException if a handler or an observer calls this
   */
  @Override
  public void close() {
    synchronized (lock) {
      var running = listener;
      if (running != null) {
        running.refuseFromWithin();
      }
      closed = true;
    }
    try {
      stop(stopTimeout);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** The state of this listener, without asking the database. */
  public Status status() {
    var started = listener;
    return started == null ? Status.beforeStart() : started.status();
  }

  /** Publishes with the codec of this instance, and tells its observer. */
  public Publisher publisher() {
    return publisher;
  }
}
