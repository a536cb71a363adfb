package org.pgonce.test;

import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.pgonce.Channel;
import org.pgonce.Handler;
import org.pgonce.ListenOptions;
import org.pgonce.Mode;
import org.pgonce.PgOnceException;
import org.pgonce.Publisher;
import org.pgonce.internal.concurrent.Threads;
import org.pgonce.internal.context.ListenerContext;
import org.pgonce.internal.handle.ComposedHandler;
import org.pgonce.internal.handle.Registration;
import org.pgonce.internal.jdbc.Failures;
import org.pgonce.internal.jdbc.PoolSettings;
import org.pgonce.internal.store.Installed;
import org.pgonce.internal.store.PinnedPath;
import org.pgonce.spi.Event;
import org.pgonce.spi.HandlerInterceptor;
import org.pgonce.spi.Observer;
import org.pgonce.spi.PayloadCodec;

/** Handles on the caller's thread what is due of one subscription, one after the other. */
final class Drain<T> implements AutoCloseable {

  private final Registration<T> subscribed;
  private final Threads threads = new Threads();
  private final Store store;
  private final CallerWorker worker;
  private final AtomicInteger settled = new AtomicInteger();
  // What the handler's last run threw.
  private volatile @Nullable Throwable thrown;
  private volatile boolean hasRun;
  // What was recorded of an attempt, by a thread of its own where the handler was cut off.
  private volatile @Nullable String failure;
  // What led to that. Of a batch that failed, others may have run alone since.
  private volatile @Nullable Throwable cause;

  /** Which handler of which subscription, and how. */
  record Of<T>(Channel<T> channel, String subscription, ListenOptions options, Handler<T> handler) {

    Of {
      Objects.requireNonNull(channel, "channel");
      Objects.requireNonNull(subscription, "subscription");
      Objects.requireNonNull(options, "options");
      Objects.requireNonNull(handler, "handler");
    }

    Of<T> with(Handler<T> other) {
      return new Of<>(channel, subscription, options, other);
    }

    Of<T> oneByOne() {
      return new Of<>(channel, subscription, options.withBatch(1), handler);
    }
  }

  /**
   * @throws PgOnceException if the channel is not installed as it is defined, or is paused
   */
  Drain(
      DataSource dataSource,
      PayloadCodec codec,
      List<HandlerInterceptor> interceptors,
      Of<T> what) {
    var channel = what.channel();
    if (channel.mode() == Mode.BROADCAST) {
      throw new IllegalArgumentException(
          "channel %s is a BROADCAST, which stores nothing that could be handled later: call its handler"
              .formatted(channel.name()));
    }
    var context =
        new ListenerContext(
            dataSource,
            new PoolSettings(),
            codec,
            Publisher.with(codec),
            new Results(),
            interceptors,
            threads,
            "pgonce-test");
    this.store = new Store(dataSource);
    try {
      this.subscribed =
          new Registration<>(channel, what.subscription(), watched(what.handler()), what.options())
              .as(installed(context, what));
      var paused = store.paused(subscribed.installed().subscription());
      if (!paused.isEmpty()) {
        throw new PgOnceException(
            "channel %s is paused by %s: nothing of it is handled until it is resumed"
                .formatted(subscribed.label(), paused.get(0)));
      }
      this.worker = new CallerWorker(subscribed, context);
    } catch (RuntimeException e) {
      threads.close();
      throw e;
    }
  }

  private static Installed installed(ListenerContext context, Of<?> what) {
    List<String> problems;
    try {
      var found =
          context
              .transactions()
              .run(
                  transaction -> {
                    PinnedPath.pin(transaction);
                    return Installed.lookUp(transaction, what.channel(), what.subscription());
                  });
      problems = found.problems(what.channel(), what.subscription());
      if (problems.isEmpty()) {
        return found;
      }
    } catch (SQLException e) {
      throw trouble(what.channel(), e);
    }
    throw new PgOnceException(String.join("\n", problems));
  }

  private ComposedHandler<T> watched(Handler<T> handler) {
    var whole = ComposedHandler.of(handler);
    return new ComposedHandler<>(
        (notification, tx) -> {
          thrown = null;
          try {
            return whole.condition().holds(notification, tx);
          } catch (Throwable failed) {
            thrown = failed;
            throw failed;
          }
        },
        (notifications, tx) -> {
          thrown = null;
          hasRun = true;
          try {
            whole.handler().handle(notifications, tx);
          } catch (Throwable failed) {
            thrown = failed;
            throw failed;
          }
        },
        whole.takesList());
  }

  int subscription() {
    return subscribed.installed().subscription();
  }

  /** What one step has done. */
  enum Step {
    /** Nothing is due, or all that is due is held by others. */
    NOTHING,
    SETTLED,
    /** See {@link #failure}. */
    FAILED
  }

  /**
   * Claims, handles and settles what was due first.
   *
   * @throws PgOnceException if the database is in trouble
   */
  Step next() {
    thrown = null;
    hasRun = false;
    failure = null;
    cause = null;
    for (var due : store.due(subscription())) {
      int claimed;
      try {
        claimed = worker.claim(due);
      } catch (SQLException e) {
        throw trouble(subscribed.channel(), e);
      }
      if (thrown != null || failure != null) {
        return Step.FAILED;
      }
      if (claimed > 0) {
        return Step.SETTLED;
      }
    }
    return Step.NOTHING;
  }

  /**
   * Of the last step: what the handler threw, else what pgonce has recorded. A handler that is cut
   * off throws for its interrupt: there what is recorded says why.
   */
  Throwable failure() {
    var first = cause != null ? cause : thrown;
    if (first instanceof InterruptedException && failure != null) {
      first.addSuppressed(new PgOnceException("pgonce has recorded: " + failure));
    }
    return first != null
        ? first
        : new PgOnceException(
            "the handler of channel %s %s: %s"
                .formatted(
                    subscribed.label(),
                    hasRun ? "returned, and yet failed" : "did not run",
                    failure));
  }

  /** How many were handled, or skipped for their condition, and that is committed. */
  int settled() {
    return settled.get();
  }

  /**
   * Goes on until nothing is due.
   *
   * @throws AssertionError beyond a bound
   */
  void all(int most, Duration longest) {
    var end = System.nanoTime() + longest.toNanos();
    Step step;
    do {
      var isOver = settled() >= most || System.nanoTime() - end > 0;
      if (isOver && !store.due(subscription()).isEmpty()) {
        throw new AssertionError(
            "drain(%s) has handled %d notifications, and more are due; its bounds are %d and %s. Does the handler publish to its own channel? Else raise them: PgOnceTester.bounds"
                .formatted(subscribed.label(), settled(), most, longest));
      }
      step = next();
    } while (step == Step.SETTLED);
    if (step == Step.FAILED) {
      throw Drain.<RuntimeException>unchanged(failure());
    }
  }

  /** Checked exceptions too: a test need not declare what its handler may throw. */
  @SuppressWarnings({"unchecked", "TypeParameterUnusedInFormals"})
  private static <E extends Throwable> E unchanged(Throwable failure) throws E {
    throw (E) failure;
  }

  private static PgOnceException trouble(Channel<?> channel, SQLException e) {
    return new PgOnceException(
        "the database could not be asked for channel %s: %s"
            .formatted(channel.name(), Failures.inWords(e)),
        e);
  }

  @Override
  public void close() {
    threads.close();
  }

  private final class Results implements Observer {

    @Override
    public void on(Event event) {
      if (event instanceof Event.Failed failed) {
        failed(failed.reason());
      } else if (event instanceof Event.Dead dead) {
        failed(dead.reason());
      } else if (event instanceof Event.Handled || event instanceof Event.Skipped) {
        settled.incrementAndGet();
      }
    }

    private void failed(String reason) {
      failure = reason;
      cause = thrown;
    }
  }
}
