package org.pgonce.example.scenario;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import javax.sql.DataSource;
import org.pgonce.Channel;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.PublishOptions;
import org.pgonce.example.run.Scenario;
import org.pgonce.example.run.Scene;
import org.pgonce.operations.Operations;
import picocli.CommandLine.Command;

/** S4: a welcome mail some time after the sign-up, which may be missed and never comes twice. */
@Command(
    name = "s04-delayed-mail",
    mixinStandardHelpOptions = true,
    description =
        "A welcome mail some time after sign-up, AT_MOST_ONCE: a second here, six hours with the same code.")
public final class DelayedMail extends Scenario {

  record SignedUp(String user) {}

  /** What must never happen twice and may be missed. */
  static final Channel<SignedUp> WELCOME_MAIL =
      Channel.of("welcome-mail", SignedUp.class, Mode.AT_MOST_ONCE);

  private static final PublishOptions LATER =
      PublishOptions.DEFAULT.withDelay(Duration.ofSeconds(1)); // Duration.ofHours(6)

  /** The user and the mail to come are one transaction: a sign-up rolled back sends none. */
  private static void signUp(PgOnce pgonce, Connection transaction, String user)
      throws SQLException {
    try (var insert = transaction.prepareStatement("insert into sign_up (name) values (?)")) {
      insert.setString(1, user);
      insert.executeUpdate();
    }
    pgonce.publisher().publish(transaction, WELCOME_MAIL, new SignedUp(user), LATER);
  }

  private static PgOnce worker(DataSource dataSource, String mailService) {
    var pgonce = PgOnce.using(dataSource);
    pgonce.listen(
        WELCOME_MAIL,
        (signedUp, tx) -> {
          tx.update("insert into sent (name) values (?)", signedUp.payload().user());
          Outside.send("POST", mailService + "/mail/" + signedUp.payload().user());
        });
    return pgonce.start();
  }

  @Override
  protected String play(Scene scene) throws Exception {
    scene.execute(
        """
        create table sign_up (name text, at timestamptz default clock_timestamp());
        create table sent (name text, at timestamptz default clock_timestamp())
        """);
    scene.tell("delay", "1 s instead of six hours, the same code");
    var dataSource = scene.dataSource();
    var operations = Operations.over(dataSource);
    try (var mail = new Outside();
        var pgonce = PgOnce.using(dataSource).install(WELCOME_MAIL)) {
      try (var worker = worker(scene.dataSource(), mail.url())) {
        scene.tell("worker", "started, hears by " + worker.status().listensBy());
        signUp(dataSource, pgonce, "up-", 20);
        mail.dropAnswerOf("/mail/up-7");
        scene.await("20 mails", () -> mail.calls() == 20);
        scene.await("a dead letter", () -> !operations.deadLetters().of(WELCOME_MAIL, 2).isEmpty());
      }
      scene.tell("worker down", "20 sign-ups, and their time comes");
      signUp(dataSource, pgonce, "down-", 20);
      scene.await(
          "the time of the last mail",
          () ->
              scene.number(
                      "select count(*) from sign_up where at > clock_timestamp() - interval '1.1 s'")
                  == 0);
      scene.check("meanwhile", mail.calls() - 20L, 0, "mails while no worker was up");
      try (var one = worker(scene.dataSource(), mail.url());
          var two = worker(scene.dataSource(), mail.url())) {
        scene.tell("workers", "two at once: " + one.status().state() + ", " + two.status().state());
        scene.await("40 mails", () -> mail.calls() >= 40);
        scene.await("the end", () -> operations.peek(WELCOME_MAIL, 1).isEmpty());
      }
      count(scene, operations, mail);
      return "one mail per sign-up, none before its time, none twice";
    }
  }

  private static void signUp(DataSource dataSource, PgOnce pgonce, String prefix, int users)
      throws SQLException {
    try (var connection = dataSource.getConnection()) {
      connection.setAutoCommit(false);
      for (var n = 1; n <= users; n++) {
        signUp(pgonce, connection, prefix + n);
        connection.commit();
      }
      signUp(pgonce, connection, prefix + "rolled-back");
      connection.rollback();
    }
  }

  private static void count(Scene scene, Operations operations, Outside mail) throws SQLException {
    scene.check("sign-ups", scene.number("select count(*) from sign_up"), 40, "committed");
    scene.check("mails", mail.calls(), 40, "calls at the mail service");
    scene.check("twice", mail.calls() - mail.paths(), 0, "users with more than one");
    scene.check(
        "early",
        scene.number(
            "select count(*) from sent join sign_up using (name) where sent.at < sign_up.at + interval '1 s'"),
        0,
        "mails before their time, by the clock of the database");
    var dead = operations.deadLetters().of(WELCOME_MAIL, 10);
    scene.check("dead letters", dead.size(), 1, "the mail whose answer was lost: not sent again");
  }
}
