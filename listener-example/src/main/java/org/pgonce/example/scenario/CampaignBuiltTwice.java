package org.pgonce.example.scenario;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import javax.sql.DataSource;
import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.DeliveryKey;
import org.pgonce.Message;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.PublishOptions;
import org.pgonce.Published;
import org.pgonce.example.run.Scenario;
import org.pgonce.example.run.Scene;
import picocli.CommandLine.Command;

/** S12: a delivery key from the identity in the business. */
@Command(
    name = "s12-delivery-key",
    mixinStandardHelpOptions = true,
    description =
        "A campaign is built by two at once, again, and again when it is done: no mail is added. Publishing says whether it has stored or found it there.")
public final class CampaignBuiltTwice extends Scenario {

  private static final int SUBSCRIBERS = 500;

  record Mail(String campaign, long subscriber) {}

  /** Keys are remembered for longer than a campaign lasts. */
  static final Channel<Mail> MAILS =
      Channel.of(
          "mails",
          Mail.class,
          Mode.EXACTLY_ONCE,
          ChannelOptions.DEFAULT.withKeyMemory(Duration.ofDays(90)));

  /** The same each time: nothing in it but what the mail is. */
  private static String keyOf(Mail mail) {
    return DeliveryKey.of(
        "campaign",
        mail.campaign(),
        "sub",
        Long.toString(mail.subscriber())); // campaign:cmp_42:sub:7
  }

  private static List<Published> build(PgOnce pgonce, Connection transaction, String campaign)
      throws SQLException {
    var mails = new ArrayList<Message<Mail>>();
    for (var subscriber = 1L; subscriber <= SUBSCRIBERS; subscriber++) {
      var mail = new Mail(campaign, subscriber);
      mails.add(new Message<>(mail, PublishOptions.DEFAULT.withDeliveryKey(keyOf(mail))));
    }
    return pgonce.publisher().publishEach(transaction, MAILS, mails);
  }

  @Override
  protected String play(Scene scene) throws Exception {
    scene.execute("create table mailed (campaign text, subscriber bigint)");
    var dataSource = scene.dataSource();
    try (var pgonce = PgOnce.using(dataSource)) {
      pgonce
          .install(MAILS)
          .listen(
              MAILS,
              (mail, tx) ->
                  tx.update(
                      "insert into mailed values (?, ?)",
                      mail.payload().campaign(),
                      mail.payload().subscriber()));

      Callable<List<Published>> build = () -> build(dataSource, pgonce);
      var atOnce = Executors.newFixedThreadPool(2);
      long stored;
      List<Published> first;
      try {
        var both = atOnce.invokeAll(List.of(build, build));
        first = both.get(0).get();
        stored = stored(first) + stored(both.get(1).get());
      } finally {
        atOnce.shutdown();
      }
      scene.check("stored", stored, SUBSCRIBERS, "by two that build the campaign at once");
      var again = build.call();
      scene.check("again", stored(again), 0, "more by building it again");
      scene.isTrue("a repeat tells the id of what is there", ids(again).equals(ids(first)));

      var colons = publish(dataSource, pgonce, DeliveryKey.of("a:b", "c"));
      var otherColons = publish(dataSource, pgonce, DeliveryKey.of("a", "b:c"));
      scene.tell("keys", DeliveryKey.of("a:b", "c") + " and " + DeliveryKey.of("a", "b:c"));
      scene.isTrue(
          "a:b + c and a + b:c are two keys",
          colons.stored() && otherColons.stored() && colons.id() != otherColons.id());
      scene.check(
          "in SQL",
          scene.number(
              "select count(*) where pgonce.delivery_key('a:b', 'c') = '%s'"
                  .formatted(DeliveryKey.of("a:b", "c"))),
          1,
          "the key that pgonce.delivery_key makes is the same");

      pgonce.start();
      scene.await(
          "all mails", () -> scene.number("select count(*) from mailed") == SUBSCRIBERS + 2);
      scene.await(
          "their end",
          () -> scene.number("select backlog + scheduled from pgonce.channel_status") == 0);
      scene.check("when done", stored(build.call()), 0, "more by building it when all is sent");
    }
    scene.check(
        "twice",
        scene.number("select count(*) - count(distinct (campaign, subscriber)) from mailed"),
        0,
        "mails beyond the first of their subscriber");
    return "building a campaign again adds nothing";
  }

  private static List<Published> build(DataSource dataSource, PgOnce pgonce) throws SQLException {
    try (var connection = dataSource.getConnection()) {
      return build(pgonce, connection, "cmp_42");
    }
  }

  private static Published publish(DataSource dataSource, PgOnce pgonce, String key)
      throws SQLException {
    try (var connection = dataSource.getConnection()) {
      var mail = new Mail(key, 1);
      return pgonce
          .publisher()
          .publish(connection, MAILS, mail, PublishOptions.DEFAULT.withDeliveryKey(key));
    }
  }

  private static long stored(List<Published> published) {
    return published.stream().filter(Published::stored).count();
  }

  private static List<Long> ids(List<Published> published) {
    return published.stream().map(Published::id).toList();
  }
}
