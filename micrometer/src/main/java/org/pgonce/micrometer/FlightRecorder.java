package org.pgonce.micrometer;

import jdk.jfr.Category;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import jdk.jfr.Timespan;
import org.jspecify.annotations.Nullable;
import org.pgonce.spi.Event;
import org.pgonce.spi.HandlerInterceptor;
import org.pgonce.spi.Observer;

/**
 * Events for JDK Flight Recorder: {@code org.pgonce.HandlerRun} as an interceptor, {@code
 * org.pgonce.Claim} with its lag as an observer. While nothing records them, they cost some
 * nanoseconds.
 *
 * <pre>{@code
 * var recorder = new FlightRecorder();
 * PgOnce.builder(dataSource).interceptors(recorder).observer(recorder).build();
 * }</pre>
 *
 * <p>Safe for use by several threads.
 */
public final class FlightRecorder implements HandlerInterceptor, Observer {

  /** All of them are alike. */
  public FlightRecorder() {}

  @Override
  public void around(Call call) throws Exception {
    var run = new Run();
    run.begin();
    try {
      call.proceed();
    } catch (Exception | Error e) {
      run.failure = e.getClass().getName();
      throw e;
    } finally {
      run.end();
      if (run.shouldCommit()) {
        var first = call.notifications().get(0);
        run.channel = first.channel();
        run.subscription = first.subscription();
        run.id = first.id();
        run.attempt = first.attempt();
        run.notifications = call.notifications().size();
        run.commit();
      }
    }
  }

  @Override
  public void on(Event event) {
    if (event instanceof Event.Claimed claimed) {
      var claim = new Claim();
      if (claim.isEnabled()) {
        var about = claimed.about();
        claim.channel = about.channel();
        claim.subscription = about.subscription();
        claim.id = about.id();
        claim.attempt = about.attempt();
        claim.lag = claimed.lag().toNanos();
        claim.commit();
      }
    }
  }

  /** One run; of a batch, with the id and attempt of the first. */
  @Name("org.pgonce.HandlerRun")
  @Label("Handler Run")
  @Category("pgonce")
  @StackTrace(false)
  static final class Run extends jdk.jfr.Event {
    @Nullable String channel;
    @Nullable String subscription;
    long id;
    int attempt;
    int notifications;
    @Nullable String failure;
  }

  /** From due to claimed. */
  @Name("org.pgonce.Claim")
  @Label("Claim")
  @Category("pgonce")
  @StackTrace(false)
  static final class Claim extends jdk.jfr.Event {
    @Nullable String channel;
    @Nullable String subscription;
    long id;
    int attempt;

    @Timespan(Timespan.NANOSECONDS)
    long lag;
  }
}
