package org.pgonce.example.scenario;

import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.stream.IntStream;
import javax.sql.DataSource;
import org.pgonce.Channel;
import org.pgonce.PgOnce;
import org.pgonce.PublishOptions;
import org.pgonce.example.run.Scenario;
import org.pgonce.example.run.Scene;
import org.pgonce.operations.Operations;
import org.pgonce.operations.Operations.Waiting;
import picocli.CommandLine.Command;

/** S5: delays of any length. The due time stands in the database; no timer in memory is needed. */
@Command(
    name = "s05-any-delay",
    mixinStandardHelpOptions = true,
    description =
        "Reminders in 1 s, 15 min 1 s, 30 days and 10 years: each is stored with its due time, none comes early.")
public final class AnyDelay extends Scenario {

  record Reminder(String text) {}

  static final Channel<Reminder> REMINDER = Channel.of("reminder", Reminder.class);

  private static void remind(DataSource dataSource, PgOnce pgonce, String text, Duration delay)
      throws SQLException {
    try (var connection = dataSource.getConnection()) {
      connection.setAutoCommit(false);
      try (var insert = connection.prepareStatement("insert into asked (text) values (?)")) {
        insert.setString(1, text);
        insert.executeUpdate();
      }
      pgonce
          .publisher()
          .publish(
              connection, REMINDER, new Reminder(text), PublishOptions.DEFAULT.withDelay(delay));
      connection.commit();
    }
  }

  private static PgOnce worker(DataSource dataSource) {
    var pgonce = PgOnce.using(dataSource);
    pgonce.listen(
        REMINDER,
        (reminder, tx) ->
            tx.update("insert into reminded (text) values (?)", reminder.payload().text()));
    return pgonce.start();
  }

  private static final List<Duration> LONG =
      List.of(
          Duration.ofMinutes(15).plusSeconds(1), Duration.ofDays(30), Duration.ofDays(10 * 365));

  @Override
  protected String play(Scene scene) throws Exception {
    scene.execute(
        """
        create table asked (text text, at timestamptz default clock_timestamp());
        create table reminded (text text, at timestamptz default clock_timestamp())
        """);
    scene.tell("delays", "1 s, 15 min 1 s, 30 days, 10 years");
    var dataSource = scene.dataSource();
    var pgonce = PgOnce.using(dataSource).install(REMINDER);
    try (var worker = worker(dataSource)) {
      scene.tell("worker", "started, hears by " + worker.status().listensBy());
      remind(dataSource, pgonce, "worker up", Duration.ofSeconds(1));
      for (var delay : LONG) {
        remind(dataSource, pgonce, "after " + delay, delay);
      }
      scene.await("the first", () -> handled(scene) == 1);
    }
    scene.tell("worker", "ended: what is due stands in the database, not in its memory");
    remind(dataSource, pgonce, "worker down", Duration.ofSeconds(1));
    try (var worker = worker(dataSource)) {
      scene.tell("worker", "another one started, hears by " + worker.status().listensBy());
      scene.await("the second", () -> handled(scene) == 2);
    }
    var waiting = Operations.over(dataSource).peek(REMINDER, 10);
    for (var one : waiting) {
      scene.tell("waits", "until %s, stored %s".formatted(one.dueAt(), one.createdAt()));
    }
    scene.check("handled", handled(scene), 2, "the reminders in 1 s");
    scene.check("waiting", waiting.size(), LONG.size(), "the others");
    scene.check(
        "due times",
        IntStream.range(0, waiting.size())
            .filter(n -> isDueAfter(LONG.get(n), waiting.get(n)))
            .count(),
        LONG.size(),
        "as long after their storing as was asked for");
    scene.check(
        "early",
        scene.number(
            "select count(*) from reminded join asked using (text) where reminded.at < asked.at + interval '1 s'"),
        0,
        "by the clock of the database");
    return "each reminder waits for its time, none comes early";
  }

  private static long handled(Scene scene) throws SQLException {
    return scene.number("select count(*) from reminded");
  }

  /** The delay counts from when it was published, which is a moment before it is stored. */
  private static boolean isDueAfter(Duration delay, Waiting one) {
    var moment = delay.minus(Duration.between(one.createdAt(), one.dueAt()));
    return !moment.isNegative() && moment.compareTo(Duration.ofSeconds(1)) < 0;
  }
}
