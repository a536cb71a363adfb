package org.pgonce.example.scenario;

import java.sql.SQLException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.LongStream;
import org.pgonce.Channel;
import org.pgonce.Handler;
import org.pgonce.ListenOptions;
import org.pgonce.Notification;
import org.pgonce.PgOnce;
import org.pgonce.Tx;
import org.pgonce.example.run.Scenario;
import org.pgonce.example.run.Scene;
import org.pgonce.spi.Event;
import org.pgonce.spi.Observer;
import picocli.CommandLine.Command;

/** S14: who opts out during the run gets no mail. */
@Command(
    name = "s14-opt-out",
    mixinStandardHelpOptions = true,
    description =
        "Ten newsletters: one subscriber opts out while the mail is queued, one when it is claimed, one while it is sent.")
public final class OptOutDuringRun extends Scenario {

  record Newsletter(long subscriber) {}

  static final Channel<Newsletter> NEWSLETTER = Channel.of("newsletter", Newsletter.class);

  /**
   * Asked again right before the handler. The lock («for share») is held until the mail is sent:
   * who opts out meanwhile waits for it, and knows then that none will follow.
   */
  private static boolean isWanted(Notification<Newsletter> newsletter, Tx tx) throws SQLException {
    return !tx.query(
            "select 1 from subscriber where id = ? and not opted_out for share",
            row -> row.getInt(1),
            newsletter.payload().subscriber())
        .isEmpty();
  }

  private static Handler<Newsletter> ifWanted(Handler<Newsletter> send) {
    return Handler.onlyIf(OptOutDuringRun::isWanted, send);
  }

  @Override
  protected String play(Scene scene) throws Exception {
    scene.execute(
        """
        create table subscriber (id bigint primary key, opted_out boolean not null default false);
        insert into subscriber select n from generate_series(1, 10) n;
        create table mailed (subscriber bigint)
        """);
    var dataSource = scene.dataSource();
    var skipped = new LongAdder();
    Observer observer =
        event -> {
          if (event instanceof Event.Skipped) {
            skipped.increment();
          }
        };
    var sendingFirst = new CountDownLatch(1);
    var goOn = new CountDownLatch(1);
    Handler<Newsletter> send =
        (newsletter, tx) -> {
          if (newsletter.payload().subscriber() == 1) {
            sendingFirst.countDown();
            var unused = goOn.await(60, TimeUnit.SECONDS);
          }
          tx.update("insert into mailed values (?)", newsletter.payload().subscriber());
        };
    try (var pgonce = PgOnce.builder(dataSource).observer(observer).build()) {
      pgonce.install(NEWSLETTER);
      try (var connection = dataSource.getConnection()) {
        var unused =
            pgonce
                .publisher()
                .publishAll(
                    connection,
                    NEWSLETTER,
                    LongStream.rangeClosed(1, 10).mapToObj(Newsletter::new).toList());
      }
      optOut(scene, 3);
      scene.tell("queued", "subscriber 3 opts out before anything is claimed");
      pgonce.listen(
          NEWSLETTER,
          ListenOptions.DEFAULT.withConcurrency(1),
          Handler.onlyIf((newsletter, tx) -> claimed(scene, newsletter), ifWanted(send)));
      pgonce.start();
      sendingFirst.await();
      var late =
          CompletableFuture.supplyAsync(
              () -> {
                try {
                  optOut(scene, 1);
                  return scene.number("select count(*) from mailed where subscriber = 1");
                } catch (SQLException e) {
                  throw new IllegalStateException(e);
                }
              });
      scene.await(
          "the opt-out to wait for the mail",
          () -> scene.number("select count(*) from pg_locks where not granted") > 0);
      scene.tell("sending", "subscriber 1 opts out while its mail is sent, and waits for that");
      goOn.countDown();
      scene.check("late", late.get(), 1, "mail was there when the opt-out of 1 had come through");
      scene.await("the end", () -> scene.number("select backlog from pgonce.channel_status") == 0);
      scene.await("all be told", () -> skipped.sum() >= 2);
    }
    scene.check("mailed", scene.number("select count(*) from mailed"), 8, "of 10 newsletters");
    scene.check("skipped", skipped.sum(), 2, "their condition did not hold any more");
    scene.check(
        "in spite",
        scene.number("select count(*) from mailed where subscriber in (3, 10)"),
        0,
        "mails to those who had opted out before");
    return "who opts out before the mail is sent gets none";
  }

  /** What befalls between the claim and the question whether it is wanted. */
  private static boolean claimed(Scene scene, Notification<Newsletter> newsletter)
      throws SQLException {
    if (newsletter.payload().subscriber() == 10) {
      optOut(scene, 10);
      scene.tell("claimed", "subscriber 10 opts out when its mail has been claimed");
    }
    return true;
  }

  private static void optOut(Scene scene, long subscriber) throws SQLException {
    scene.execute("update subscriber set opted_out = true where id = " + subscriber);
  }
}
