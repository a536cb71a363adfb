package org.pgonce.example.scenario;

import java.sql.SQLException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.IntStream;
import javax.sql.DataSource;
import org.pgonce.Channel;
import org.pgonce.Handler;
import org.pgonce.ListenOptions;
import org.pgonce.PauseException;
import org.pgonce.PgOnce;
import org.pgonce.example.run.Scenario;
import org.pgonce.example.run.Scene;
import org.pgonce.operations.Operations;
import picocli.CommandLine.Command;

/** S15: the mail service fails outright. */
@Command(
    name = "s15-service-down",
    mixinStandardHelpOptions = true,
    description =
        "The mail service is down: the lot goes back, the channel pauses, says why and by whom, and stays so over a restart until it is resumed.")
public final class MailServiceDown extends Scenario {

  private static final int LOTS = 6;

  record Lot(int number) {}

  record Ping(int number) {}

  static final Channel<Lot> LOT = Channel.of("lots", Lot.class);
  static final Channel<Ping> PING = Channel.of("ping", Ping.class);

  /** Stands for the service: it takes a lot of mails, or throws. */
  interface MailService {
    void send(Lot lot) throws ServiceDownException;
  }

  static final class ServiceDownException extends Exception {
    private static final long serialVersionUID = 1L;
  }

  /** No use in trying the next lot, nor in counting this as an attempt: pause, and tell why. */
  private static Handler<Lot> sender(MailService service) {
    return (lot, tx) -> {
      tx.update("insert into sent values (?, ?)", lot.payload().number(), lot.attempt());
      try {
        service.send(lot.payload());
      } catch (ServiceDownException e) {
        throw new PauseException("the mail service is down", e);
      }
    };
  }

  private static PgOnce mailer(DataSource dataSource, String instance, MailService service) {
    return PgOnce.builder(dataSource)
        .instance(instance)
        .build()
        .listen(LOT, ListenOptions.DEFAULT.withConcurrency(1), sender(service))
        .listen(PING, (ping, tx) -> tx.update("insert into pong values (1)"))
        .start();
  }

  @Override
  protected String play(Scene scene) throws Exception {
    scene.execute("create table sent (lot int, attempt int); create table pong (n int)");
    var dataSource = scene.dataSource();
    var repaired = new AtomicBoolean(false);
    MailService failing =
        lot -> {
          if (lot.number() >= 3 && !repaired.get()) {
            throw new ServiceDownException();
          }
        };
    try (var office = PgOnce.using(dataSource).install(LOT, PING)) {
      try (var connection = dataSource.getConnection()) {
        var unused =
            office
                .publisher()
                .publishAll(
                    connection, LOT, IntStream.rangeClosed(1, LOTS).mapToObj(Lot::new).toList());
      }
      try (var first = mailer(dataSource, "mailer-1", failing)) {
        scene.tell("mailer-1", "started, hears by " + first.status().listensBy());
        scene.await("the pause", () -> paused(scene) == 1);
      }
      var sent = sent(scene);
      scene.check("sent", sent, 2, "lots, before the service went down");
      var back = Operations.over(dataSource).peek(LOT, LOTS);
      scene.check("waiting", back.size(), LOTS - sent, "lots, with the one that failed");
      scene.check(
          "attempts", back.stream().mapToInt(lot -> lot.attempts()).sum(), 0, "counted of them");
      scene.check(
          "paused",
          scene.number(
              "select count(*) from pgonce.channel_status where channel = 'lots' and paused_by = 'mailer-1' and pause_reason = 'the mail service is down'"),
          1,
          "by mailer-1: the mail service is down");

      try (var second = mailer(dataSource, "mailer-2", failing)) {
        try (var connection = dataSource.getConnection()) {
          var unused = office.publisher().publish(connection, PING, new Ping(1));
        }
        scene.await("mailer-2 to be at work", () -> scene.number("select count(*) from pong") == 1);
        scene.await(
            "mailer-2 to know",
            () -> second.status().channels().stream().anyMatch(one -> one.paused() != null));
        scene.check("restarted", sent(scene), 2, "lots sent: it stays paused");

        repaired.set(true);
        var resumed =
            Operations.over(dataSource).by("Anna").resume(LOT, "the mail service is back");
        scene.check("resumed", resumed, 1, "by Anna");
        scene.await("the rest", () -> sent(scene) == LOTS);
      }
    }
    scene.check("sent", sent(scene), LOTS, "lots in the end");
    scene.check(
        "twice", scene.number("select count(*) - count(distinct lot) from sent"), 0, "sent");
    scene.check(
        "first time",
        scene.number("select count(*) from sent where attempt = 1"),
        LOTS,
        "lots at attempt 1: the outage has cost none");
    scene.check(
        "in the log",
        scene.number(
            "select count(*) from pgonce.operation_log where what in ('PAUSE', 'RESUME') and operator in ('mailer-1', 'Anna')"),
        2,
        "who paused and who resumed");
    return "an outage pauses the channel until it is resumed, and costs nothing";
  }

  private static long sent(Scene scene) throws SQLException {
    return scene.number("select count(*) from sent");
  }

  private static long paused(Scene scene) throws SQLException {
    return scene.number(
        "select count(*) from pgonce.channel_status where paused_since is not null");
  }
}
