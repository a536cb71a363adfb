package org.pgonce.example.scenario;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.stream.IntStream;
import javax.sql.DataSource;
import org.pgonce.Backoff;
import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.DeliveryKey;
import org.pgonce.ListenOptions;
import org.pgonce.Message;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.PublishOptions;
import org.pgonce.Publisher;
import org.pgonce.example.run.Scenario;
import org.pgonce.example.run.Scene;
import org.pgonce.operations.Operations;
import org.pgonce.sweeps.Sweep;
import picocli.CommandLine.Command;

/** S9: one notification per overdue to-do, though every instance of the service sweeps for them. */
@Command(
    name = "s09-overdue-sweep",
    mixinStandardHelpOptions = true,
    description =
        "Four instances sweep for overdue to-dos, 100 runs at once; the notify service acts and drops some answers: two calls, one effect.")
public final class OverdueSweep extends Scenario {

  private static final int OVERDUE_TODOS = 50;
  private static final int INSTANCES = 4;
  private static final Duration INTERVAL = Duration.ofMillis(200); // a minute or more in earnest
  private static final List<Integer> DROPPED = List.of(7, 23, 42);

  record Overdue(long id) {}

  /** Remembers its keys, as a to-do stays overdue when it has been notified of. */
  static final Channel<Overdue> OVERDUE =
      Channel.of(
          "overdue",
          Overdue.class,
          Mode.AT_LEAST_ONCE,
          ChannelOptions.DEFAULT.withKeyMemory(Duration.ofDays(30)));

  private static Sweep<Overdue> sweep(DataSource dataSource) {
    return Sweep.of(
        dataSource,
        Publisher.standard(),
        OVERDUE,
        "select id from todo where due_at < now()",
        row ->
            new Message<>(
                new Overdue(row.getLong("id")),
                PublishOptions.DEFAULT.withDeliveryKey(
                    DeliveryKey.of("delayed-" + row.getLong("id")))));
  }

  /** The delivery key is the other side's idempotency key: it is the same on every attempt. */
  private static PgOnce instance(DataSource dataSource, String notifyService) {
    var pgonce = PgOnce.using(dataSource);
    pgonce.listen(
        OVERDUE,
        ListenOptions.DEFAULT.withBackoff(
            new Backoff(Duration.ofMillis(200), Duration.ofMinutes(1))),
        (overdue, tx) ->
            Outside.send("PUT", notifyService + "/notifications/" + overdue.deliveryKey()));
    return pgonce;
  }

  @Override
  protected String play(Scene scene) throws Exception {
    scene.execute(
        "create table todo (id bigint primary key, due_at timestamptz);"
            + " insert into todo select n, now() - interval '1 hour' from generate_series(1, %d) n;"
                .formatted(OVERDUE_TODOS)
            + " insert into todo select n, now() + interval '1 day' from generate_series(1001, 1010) n");
    scene.tell("interval", "200 ms instead of minutes, the same code");
    var instances = new ArrayList<PgOnce>();
    var sweeps = new ArrayList<Sweep<Overdue>>();
    var operations = Operations.over(scene.dataSource());
    try (var service = new Outside()) {
      DROPPED.forEach(id -> service.dropAnswerOf("/notifications/delayed-" + id));
      for (var n = 0; n < INSTANCES; n++) {
        instances.add(instance(scene.dataSource(), service.url()));
      }
      instances.get(0).install(OVERDUE);
      for (var n = 0; n < INSTANCES; n++) {
        sweeps.add(sweep(scene.dataSource()).every(INTERVAL));
      }
      var published = sweepTogether(sweeps);
      scene.check(
          "waiting",
          operations.peek(OVERDUE, 1_000).size(),
          OVERDUE_TODOS,
          "of which %d published by 100 runs at once, the rest by the timers".formatted(published));
      instances.forEach(PgOnce::start);
      scene.await("the end", () -> operations.peek(OVERDUE, 1).isEmpty());
      scene.check("again", sweepTogether(sweeps), 0, "published by 100 runs more");
      scene.check("effects", service.effects(), OVERDUE_TODOS, "at the notify service");
      scene.check("calls", service.calls(), OVERDUE_TODOS + DROPPED.size(), "from all instances");
      scene.check(
          "two calls",
          IntStream.rangeClosed(1, OVERDUE_TODOS)
              .filter(id -> service.calls("/notifications/delayed-" + id) == 2)
              .count(),
          DROPPED.size(),
          "for those whose answer was dropped; one effect by the key");
    } finally {
      sweeps.forEach(Sweep::close);
      instances.forEach(PgOnce::close);
    }
    return "one effect per overdue to-do";
  }

  /** 100 runs at once, beside those of the timers; how many notifications they have published. */
  private static long sweepTogether(List<Sweep<Overdue>> sweeps) throws Exception {
    var threads = Executors.newFixedThreadPool(20);
    try {
      var runs = new ArrayList<Callable<Long>>();
      for (var sweep : sweeps) {
        for (var n = 0; n < 100 / INSTANCES; n++) {
          runs.add(sweep::run);
        }
      }
      var published = 0L;
      for (var run : threads.invokeAll(runs)) {
        published += run.get();
      }
      return published;
    } finally {
      threads.shutdownNow();
    }
  }
}
