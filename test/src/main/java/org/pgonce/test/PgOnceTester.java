package org.pgonce.test;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Consumer;
import javax.sql.DataSource;
import org.assertj.core.api.AssertProvider;
import org.pgonce.Channel;
import org.pgonce.Handler;
import org.pgonce.ListenOptions;
import org.pgonce.PgOnce;
import org.pgonce.PgOnceException;
import org.pgonce.PublishOptions;
import org.pgonce.Published;
import org.pgonce.Publisher;
import org.pgonce.internal.jdbc.Failures;
import org.pgonce.spi.HandlerInterceptor;
import org.pgonce.spi.PayloadCodec;

/**
 * Tests code that publishes and handles, in a real database and without threads or waiting.
 *
 * <pre>{@code
 * pgonce.publish(SIGNED_UP, new SignedUp(42));
 * pgonce.drain(SIGNED_UP, greet);
 * assertThat(pgonce).hasPublished(GREETED).withDelay(Duration.ofHours(6)).once();
 * pgonce.advance(Duration.ofHours(6));
 * pgonce.drain(GREETED, mail);
 * assertThat(pgonce).isEmpty();
 * }</pre>
 *
 * <p>{@code assertThat} is AssertJ's own. {@link PgOnceTest} gives a tester to a JUnit test; {@link
 * #on} makes one over any DataSource. Its login must be a superuser, or the one that installed
 * pgonce: assertions and {@link #advance} act as {@code pgonce_owner}. What a transaction has not
 * committed, none of this sees. Nothing else may handle the channels meanwhile.
 *
 * <p>What the database refuses is thrown as {@link PgOnceException}. Holds nothing open. For one
 * thread at a time.
 */
public final class PgOnceTester implements AssertProvider<PgOnceAssert> {

  private final DataSource dataSource;
  private final PayloadCodec codec;
  private final Store store;
  // By the channel's name, and then the subscription's.
  private final Map<String, Map<String, Drain.Of<?>>> listeners = new TreeMap<>();
  private List<HandlerInterceptor> interceptors = List.of();
  private Consumer<Channel<?>> beforeDrain = channel -> {};
  private int most = 10_000;
  private Duration longest = Duration.ofMinutes(1);

  private PgOnceTester(DataSource dataSource, PayloadCodec codec) {
    this.dataSource = Objects.requireNonNull(dataSource, "dataSource");
    this.codec = Objects.requireNonNull(codec, "codec");
    this.store = new Store(dataSource);
  }

  /** Over this database, with the standard codec. Nothing is opened before it is needed. */
  public static PgOnceTester on(DataSource dataSource) {
    return new PgOnceTester(dataSource, PayloadCodec.standard());
  }

  /** As {@link #on(DataSource)}, with the codec of the code that is tested. */
  public static PgOnceTester on(DataSource dataSource, PayloadCodec codec) {
    return new PgOnceTester(dataSource, codec);
  }

  /**
   * The interceptors that handlers run within, instead of those that were given before: what binds
   * the transaction to a framework, as in production.
   */
  public PgOnceTester interceptors(HandlerInterceptor... interceptors) {
    this.interceptors = List.of(interceptors);
    return this;
  }

  /**
   * What is given the channel before each {@link #drain} and each run of {@link #chaos}, on its
   * thread, instead of what was given before. What it throws, they throw: a framework refuses them
   * where they would find nothing, or not all.
   */
  public PgOnceTester beforeDrain(Consumer<Channel<?>> check) {
    beforeDrain = Objects.requireNonNull(check, "check");
    return this;
  }

  /** The database. */
  public DataSource dataSource() {
    return dataSource;
  }

  /**
   * The most that one {@link #drain} may handle, and how long it, or the second run of {@link
   * Chaos#runTwice}, may take. Default 10,000 and 1 minute.
   *
   * @param notifications 1 or more
   * @param time of a drain looked at between two notifications; more than 0
   * @throws IllegalArgumentException if it is less
   */
  public PgOnceTester bounds(int notifications, Duration time) {
    Objects.requireNonNull(time, "time");
    if (notifications < 1 || time.isNegative() || time.isZero()) {
      throw new IllegalArgumentException(
          "bounds of %d notifications and %s: give at least one, and some time"
              .formatted(notifications, time));
    }
    most = notifications;
    longest = time;
    return this;
  }

  // The database.

  /** Installs the channels, as {@link PgOnce#install} does. */
  public PgOnceTester install(Channel<?>... channels) {
    PgOnce.builder(dataSource).codec(codec).build().install(channels);
    return this;
  }

  /**
   * Deletes all that is stored for all channels: what waits, what is scheduled, dead letters,
   * delivery keys, history. Channels and their pauses stay, and so do your tables.
   */
  public PgOnceTester clear() {
    store.clear();
    return this;
  }

  /** Runs SQL of the test's own, in a transaction of its own: tables, rows. */
  public PgOnceTester execute(String sql) {
    Objects.requireNonNull(sql, "sql");
    return call(
        "run «" + sql + "»",
        connection -> {
          try (var statement = connection.createStatement()) {
            statement.execute(sql);
          }
          return this;
        });
  }

  /** Runs a query that gives one number. */
  public long count(String sql) {
    Objects.requireNonNull(sql, "sql");
    return call(
        "count by «" + sql + "»",
        connection -> {
          try (var statement = connection.createStatement();
              var row = statement.executeQuery(sql)) {
            if (!row.next()) {
              throw new SQLException("it has no row: one number is asked for");
            }
            return row.getLong(1);
          }
        });
  }

  // Publish.

  /**
   * Publishes one notification and commits.
   *
   * @return its id
   */
  public <T> long publish(Channel<T> channel, T payload) {
    return publish(channel, payload, PublishOptions.DEFAULT).id();
  }

  /** Publishes one notification with options, and commits. */
  public <T> Published publish(Channel<T> channel, T payload, PublishOptions options) {
    Objects.requireNonNull(channel, "channel");
    return call(
        "publish to channel " + channel.name(),
        connection -> Publisher.with(codec).publish(connection, channel, payload, options));
  }

  /**
   * Publishes one notification per payload, in their order, and commits.
   *
   * @return their ids
   */
  public <T> List<Long> publishAll(Channel<T> channel, List<T> payloads) {
    Objects.requireNonNull(channel, "channel");
    Objects.requireNonNull(payloads, "payloads");
    return call(
        "publish to channel " + channel.name(),
        connection -> Publisher.with(codec).publishAll(connection, channel, payloads));
  }

  // Handle.

  /** As {@link #listen(Channel, String, ListenOptions, Handler)}, for the only subscription. */
  public <T> PgOnceTester listen(Channel<T> channel, Handler<T> handler) {
    return listen(channel, only(channel), ListenOptions.DEFAULT, handler);
  }

  /**
   * Says what {@link #drain(Channel)} and {@link #chaos(Channel)} run, in place of what was said of
   * the same subscription before. The tester of a Spring context has been told its listeners.
   * Nothing runs by itself.
   */
  public <T> PgOnceTester listen(
      Channel<T> channel, String subscription, ListenOptions options, Handler<T> handler) {
    var listener = new Drain.Of<>(channel, subscription, options, handler);
    listeners.computeIfAbsent(channel.name(), name -> new TreeMap<>()).put(subscription, listener);
    return this;
  }

  /**
   * As {@link #drain(Channel, String, ListenOptions, Handler)}, by the handlers that {@link
   * #listen} was given: all that is due of one subscription, and then of the next, in the order of
   * their names.
   *
   * @throws IllegalStateException if it was given none for the channel
   */
  public int drain(Channel<?> channel) {
    return listeners(channel).values().stream().mapToInt(this::drain).sum();
  }

  private Map<String, Drain.Of<?>> listeners(Channel<?> channel) {
    var known = listeners.get(Objects.requireNonNull(channel, "channel").name());
    if (known == null) {
      throw new IllegalStateException(
          "PgOnceTester knows no handler of channel %s: give it one here, or before by listen. In a Spring context it knows the listeners that are beans. It knows those of %s"
              .formatted(
                  channel.name(),
                  listeners.isEmpty() ? "no channel" : String.join(", ", listeners.keySet())));
    }
    return known;
  }

  /** As {@link #drain(Channel, String, ListenOptions, Handler)}, for the only subscription. */
  public <T> int drain(Channel<T> channel, Handler<T> handler) {
    return drain(channel, only(channel), ListenOptions.DEFAULT, handler);
  }

  /**
   * Runs the handler on this thread for each notification that is due, also for those that it
   * publishes meanwhile, until none is. They come in the order in which they became due, and of
   * their ids. Claim, guard, transaction and settlement are those of a listener; a rate is not
   * kept, and what others have locked is passed over.
   *
   * <p>If the handler throws, its work is undone, the attempt is recorded as ever (it is due again
   * after the backoff, or a dead letter), and this throws the same, checked exceptions too.
   *
   * @return how many were handled, or skipped for the handler's condition
   * @throws PgOnceException if an attempt failed though the handler returned, as it had swallowed
   *     an SQL error, for example; or before the handler ran, as the payload cannot be read. Also
   *     if the channel is not installed as it is defined, or is paused
   * @throws AssertionError beyond {@link #bounds}
   * @throws IllegalArgumentException for a BROADCAST
   */
  public <T> int drain(
      Channel<T> channel, String subscription, ListenOptions options, Handler<T> handler) {
    return drain(new Drain.Of<>(channel, subscription, options, handler));
  }

  private int drain(Drain.Of<?> what) {
    try (var drain = drain(dataSource, what)) {
      drain.all(most, longest);
      return drain.settled();
    }
  }

  <T> Drain<T> drain(DataSource over, Drain.Of<T> what) {
    beforeDrain.accept(what.channel());
    return new Drain<>(over, codec, interceptors, what);
  }

  /**
   * Makes all that is stored older by this time: what was due within it is due now, leases within
   * it are over, delivery keys whose memory is over can be given again. No clock is moved.
   *
   * @param time more than 0
   * @throws IllegalArgumentException if it is not
   */
  public PgOnceTester advance(Duration time) {
    Objects.requireNonNull(time, "time");
    if (time.isNegative() || time.isZero()) {
      throw new IllegalArgumentException("advance(" + time + "): time goes forward");
    }
    store.advance(time);
    return this;
  }

  /**
   * As {@link #chaos(Channel, String, Handler)}, for the only handler that {@link #listen} was
   * given for the channel.
   *
   * @throws IllegalStateException if it was given none
   * @throws IllegalArgumentException if it was given several
   */
  public Chaos<?> chaos(Channel<?> channel) {
    var known = listeners(channel);
    if (known.size() > 1) {
      throw severalOf(channel, known.keySet());
    }
    return new Chaos<>(this, known.values().iterator().next());
  }

  /** As {@link #chaos(Channel, String, Handler)}, for the only subscription. */
  public <T> Chaos<T> chaos(Channel<T> channel, Handler<T> handler) {
    return chaos(channel, only(channel), handler);
  }

  /** Tries whether a handler's effects are exactly once though faults happen: see {@link Chaos}. */
  public <T> Chaos<T> chaos(Channel<T> channel, String subscription, Handler<T> handler) {
    return new Chaos<>(this, new Drain.Of<>(channel, subscription, ListenOptions.DEFAULT, handler));
  }

  private static String only(Channel<?> channel) {
    var names = Objects.requireNonNull(channel, "channel").options().names();
    if (names.size() > 1) {
      throw severalOf(channel, names);
    }
    return names.iterator().next();
  }

  private static IllegalArgumentException severalOf(Channel<?> channel, Set<String> subscriptions) {
    return new IllegalArgumentException(
        "channel " + channel.name() + " has the subscriptions " + subscriptions + ": say which");
  }

  // Assert.

  /** For {@code assertThat(pgonce)} of AssertJ. */
  @Override
  public PgOnceAssert assertThat() {
    return new PgOnceAssert(this);
  }

  Duration longest() {
    return longest;
  }

  Store store() {
    return store;
  }

  PayloadCodec codec() {
    return codec;
  }

  @Override
  public String toString() {
    return "PgOnceTester";
  }

  @FunctionalInterface
  private interface Work<R> {
    R on(Connection connection) throws SQLException;
  }

  private <R> R call(String what, Work<R> work) {
    try (var connection = dataSource.getConnection()) {
      var result = work.on(connection);
      if (!connection.getAutoCommit()) {
        connection.commit();
      }
      return result;
    } catch (SQLException e) {
      throw new PgOnceException("cannot " + what + ": " + Failures.inWords(e), e);
    }
  }
}
