package org.pgonce.micrometer;

import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.MultiGauge;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.ToDoubleFunction;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.pgonce.PgOnce;
import org.pgonce.Status;
import org.pgonce.Status.ChannelActivity;
import org.pgonce.internal.jdbc.Transactions;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Gauges of what waits in the database, and of what this process does. docs/metrics.md says what
 * each means.
 *
 * <pre>{@code
 * var metrics = PgOnceMetrics.of(pgonce, dataSource);
 * metrics.bindTo(registry);
 * }</pre>
 *
 * <p>A scrape asks no database. A thread asks it once in an interval, 15 s by default, by one query
 * of at most 5 s, for all channels that are installed: what waits is counted to 100,000 for each
 * subscription and no further. Where the answer fails, or is older than three intervals and 10 s,
 * these gauges are NaN. The role needs {@code pgonce_monitor}, {@code pgonce_listener} or {@code
 * pgonce_admin}. Subscriptions that are new have their gauges an interval later.
 *
 * <p>Safe for use by several threads. Close it before the data source: it holds a thread from the
 * first {@link #bindTo} on.
 */
public final class PgOnceMetrics implements MeterBinder, AutoCloseable {

  private static final String UNDEFINED_TABLE = "42P01";

  private static final Logger LOG = LoggerFactory.getLogger(PgOnceMetrics.class);

  private static final Duration LONGEST_QUERY = Duration.ofSeconds(5);
  // The server ends the query by itself; the driver only waits longer for a server that is gone.
  private static final Duration LONGEST_ANSWER = Duration.ofSeconds(10);

  /** A gauge for each subscription that the database has. */
  private record Stored(String name, String description, ToDoubleFunction<Sample.Waiting> value) {}

  /** A gauge for each subscription that this process handles. */
  private record Here(String name, String description, ToDoubleFunction<ChannelActivity> value) {}

  private static final List<Stored> STORED =
      List.of(
          new Stored(
              "pgonce.backlog",
              "What waits and was never tried nor delayed",
              Sample.Waiting::backlog),
          new Stored(
              "pgonce.scheduled",
              "What waits for its time, a retry or a redrive",
              Sample.Waiting::scheduled),
          new Stored(
              "pgonce.retrying", "Those scheduled with a try behind", Sample.Waiting::retrying),
          new Stored(
              "pgonce.dead.letters", "What could not be handled", Sample.Waiting::deadLetters),
          new Stored("pgonce.oldest.age", "How long the oldest is due", Sample.Waiting::oldestAge),
          new Stored("pgonce.listeners", "Processes that listen to it", Sample.Waiting::listeners),
          new Stored("pgonce.paused", "1 while it is paused", Sample.Waiting::paused));
  private static final List<Here> HERE =
      List.of(
          new Here("pgonce.workers.busy", "Workers that claim or handle", ChannelActivity::working),
          new Here("pgonce.workers.max", "Its concurrency", ChannelActivity::concurrency),
          new Here(
              "pgonce.outdated",
              "1 while this process does not handle it, as it is defined otherwise",
              activity -> activity.outdated() == null ? 0 : 1));

  private final PgOnce pgonce;
  private final Transactions transactions;
  private final Duration interval;
  private final List<Bound> bound = new CopyOnWriteArrayList<>();
  private final AtomicBoolean looking = new AtomicBoolean();
  private final ScheduledExecutorService sampler;
  private volatile Sample latest = Sample.none();
  private volatile @Nullable Activity activity;
  private volatile boolean failing;

  private PgOnceMetrics(PgOnce pgonce, DataSource dataSource, Duration interval) {
    this.pgonce = Objects.requireNonNull(pgonce, "pgonce");
    this.transactions =
        new Transactions(Objects.requireNonNull(dataSource, "dataSource"), LONGEST_ANSWER);
    this.interval = interval;
    this.sampler =
        Executors.newSingleThreadScheduledExecutor(
            task -> {
              var thread = new Thread(task, "pgonce-metrics");
              thread.setDaemon(true);
              return thread;
            });
  }

  /** Asks the database every 15 s. */
  public static PgOnceMetrics of(PgOnce pgonce, DataSource dataSource) {
    return of(pgonce, dataSource, Duration.ofSeconds(15));
  }

  /**
   * Of what this instance does, and of the database that the data source leads to.
   *
   * @param dataSource lends one connection for each look
   * @param interval from the end of a look to the next one, 100 ms to 1 hour
   * @throws IllegalArgumentException if the interval is outside its bounds
   */
  public static PgOnceMetrics of(PgOnce pgonce, DataSource dataSource, Duration interval) {
    if (interval.compareTo(Duration.ofMillis(100)) < 0
        || interval.compareTo(Duration.ofHours(1)) > 0) {
      throw new IllegalArgumentException(
          "interval " + interval + " is not between 100 ms and 1 hour");
    }
    return new PgOnceMetrics(pgonce, dataSource, interval);
  }

  /**
   * Registers the gauges. Asks no database on this thread.
   *
   * @throws RejectedExecutionException after {@link #close}
   */
  @Override
  public void bindTo(MeterRegistry registry) {
    if (sampler.isShutdown()) {
      throw new RejectedExecutionException(
          "pgonce's metrics are closed, and bind to no registry more: make new ones");
    }
    bound.add(new Bound(registry));
    if (looking.compareAndSet(false, true)) {
      var unused =
          sampler.scheduleWithFixedDelay(this::look, 0, interval.toMillis(), TimeUnit.MILLISECONDS);
    } else {
      sampler.execute(this::register);
    }
  }

  /** Throws nothing, as {@link #register}: an Error of one look may be gone at the next. */
  private void look() {
    try {
      latest = transactions.run(transaction -> Sample.take(transaction, LONGEST_QUERY));
      failing = false;
    } catch (SQLException | RuntimeException | Error e) {
      latest = Sample.none();
      if (!failing && !sampler.isShutdown()) {
        failing = true;
        sayThatItFailed(e);
      }
    }
    register();
  }

  private void sayThatItFailed(Throwable e) {
    // A starter's service asks before it has installed the schema.
    if (e instanceof SQLException sql && UNDEFINED_TABLE.equals(sql.getSQLState())) {
      LOG.info(
          "pgonce is not installed in this database: its gauges are NaN until it is; it is asked every {}",
          interval);
    } else {
      LOG.warn(
          "pgonce cannot ask the database for its gauges, which are NaN until it can; it is asked every {}",
          interval,
          e);
    }
  }

  /** Throws nothing, which would end the looks for good: a registry refuses what it likes. */
  private synchronized void register() {
    if (sampler.isShutdown()) {
      return; // a look that close() did not wait for
    }
    var sample = latest;
    for (var one : bound) {
      try {
        one.register(sample, pgonce.status());
      } catch (RuntimeException | Error e) {
        if (one.refused.compareAndSet(false, true)) {
          LOG.warn(
              "pgonce: the meter registry {} refuses gauges, which are missing or old there; it is asked again at every look",
              one.registry.getClass().getName(),
              e);
        }
      }
    }
  }

  /** The latest answer, unless it is too old to be true: the thread may be held up. */
  private Sample current() {
    var sample = latest;
    var age = System.nanoTime() - sample.takenAt();
    var oldest = interval.multipliedBy(3).plus(LONGEST_ANSWER);
    return age > oldest.toNanos() ? Sample.none() : sample;
  }

  /** A second old at most. Threads that scrape at once may each take one. */
  private Activity activity() {
    var known = activity;
    if (known == null || !known.isFresh()) {
      known = Activity.of(pgonce.status());
      activity = known;
    }
    return known;
  }

  private double here(Sample.Of of, ToDoubleFunction<ChannelActivity> value) {
    var here = activity().of(of);
    return here == null ? Double.NaN : value.applyAsDouble(here);
  }

  /**
   * Ends the thread, within 10 s even if the database does not answer, and takes its meters out of
   * the registries: a registry keeps the first meter of a name, so those of a later listener in the
   * same process would not count beside them.
   */
  @Override
  public void close() {
    sampler.shutdownNow();
    try {
      if (!sampler.awaitTermination(LONGEST_ANSWER.toMillis(), TimeUnit.MILLISECONDS)) {
        LOG.warn("pgonce's metrics still wait for a connection or an answer of the database");
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    remove();
  }

  private synchronized void remove() {
    bound.forEach(Bound::remove);
    bound.clear();
  }

  /** The meters in one registry. Those of subscriptions come and go. */
  private final class Bound {

    private final MeterRegistry registry;
    private final AtomicBoolean refused = new AtomicBoolean();
    private final List<Meter> always;
    private final List<MultiGauge> stored;
    private final List<MultiGauge> here;

    Bound(MeterRegistry registry) {
      this.registry = registry;
      always =
          List.of(
              Gauge.builder(
                      "pgonce.listening", () -> activity().status().listenFailure() == null ? 1 : 0)
                  .description("1 while this process hears wake-ups")
                  .register(registry),
              Gauge.builder("pgonce.notify.queue.usage", () -> current().queueUsage())
                  .description("The share of the server's NOTIFY queue that is in use")
                  .register(registry),
              FunctionCounter.builder(
                      "pgonce.reconnects",
                      PgOnceMetrics.this,
                      one -> one.activity().status().reconnects())
                  .description("How often listening began again")
                  .register(registry));
      stored = STORED.stream().map(one -> gauge(one.name(), one.description(), registry)).toList();
      here = HERE.stream().map(one -> gauge(one.name(), one.description(), registry)).toList();
    }

    private static MultiGauge gauge(String name, String description, MeterRegistry registry) {
      var gauge = MultiGauge.builder(name).description(description);
      return (name.endsWith(".age") ? gauge.baseUnit("seconds") : gauge).register(registry);
    }

    /** Gauges that are there already stay: without an answer there is none to add or remove. */
    void register(Sample sample, Status status) {
      if (sample.isAnswer()) {
        for (var i = 0; i < STORED.size(); i++) {
          var value = STORED.get(i).value();
          stored
              .get(i)
              .register(
                  sample.waiting().keySet().stream()
                      .map(of -> row(of, one -> value.applyAsDouble(current().of(one))))
                      .toList());
        }
      }
      var handled =
          status.channels().stream()
              .map(one -> new Sample.Of(one.channel(), one.subscription()))
              .toList();
      for (var i = 0; i < HERE.size(); i++) {
        var value = HERE.get(i).value();
        here.get(i).register(handled.stream().map(of -> row(of, one -> here(one, value))).toList());
      }
    }

    void remove() {
      always.forEach(registry::remove);
      stored.forEach(one -> one.register(List.of()));
      here.forEach(one -> one.register(List.of()));
    }

    private static MultiGauge.Row<Sample.Of> row(Sample.Of of, ToDoubleFunction<Sample.Of> value) {
      return MultiGauge.Row.of(
          Tags.of("channel", of.channel(), "subscription", of.subscription()), of, value);
    }
  }
}
