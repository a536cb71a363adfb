package org.pgonce.example.campaign;

import java.io.IOException;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import javax.sql.DataSource;
import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.DeliveryKey;
import org.pgonce.Handler;
import org.pgonce.ListenOptions;
import org.pgonce.Message;
import org.pgonce.Mode;
import org.pgonce.Notification;
import org.pgonce.PauseException;
import org.pgonce.PublishOptions;
import org.pgonce.Published;
import org.pgonce.Publisher;
import org.pgonce.Tx;

/**
 * Mails to many, in lots: each recipient gets one mail, whoever dies meanwhile; who opts out before
 * gets none; when the mail service is down, the campaign pauses. This file is all that an
 * application needs.
 */
public final class MailCampaign implements Handler<MailCampaign.Lot> {

  /** Some recipients of a campaign, handled by one process, one after the other. */
  public record Lot(String campaign, int number, List<Long> subscribers) {}

  /**
   * A lot takes long, and calls another system: that is leased, not held in a transaction. The keys
   * of lots are remembered beyond their end, so that nobody builds a campaign a second time.
   */
  public static final Channel<Lot> LOTS =
      Channel.of(
          "campaign.lots",
          Lot.class,
          Mode.AT_LEAST_ONCE,
          ChannelOptions.DEFAULT.withKeyMemory(Duration.ofDays(90)));

  /**
   * The lease is how long a lot waits after the death of its process. A death costs an attempt, as
   * a failure does, so a lot gets many of them.
   */
  public static final ListenOptions LISTENING =
      ListenOptions.DEFAULT.withLease(Duration.ofSeconds(2)).withMaxAttempts(1_000);

  private static final int RECIPIENTS_PER_LOT = 20;

  private final DataSource dataSource;
  private final MailClient mails;

  public MailCampaign(DataSource dataSource, MailClient mails) {
    this.dataSource = dataSource;
    this.mails = mails;
  }

  /**
   * Publishes the campaign's lots, in the caller's transaction; those that are there already stay
   * as they are. The lots must not depend on opt-outs so far, or a second building would cut them
   * in other places.
   *
   * @return how many lots this call has added
   */
  public static long build(Connection transaction, String campaign) throws SQLException {
    var lots = new ArrayList<Message<Lot>>();
    var subscribers = subscribers(transaction);
    for (var from = 0; from < subscribers.size(); from += RECIPIENTS_PER_LOT) {
      var to = Math.min(from + RECIPIENTS_PER_LOT, subscribers.size());
      var lot = new Lot(campaign, lots.size() + 1, List.copyOf(subscribers.subList(from, to)));
      var key = DeliveryKey.of("campaign", campaign, "lot", Integer.toString(lot.number()));
      lots.add(new Message<>(lot, PublishOptions.DEFAULT.withDeliveryKey(key)));
    }
    return Publisher.standard().publishEach(transaction, LOTS, lots).stream()
        .filter(Published::stored)
        .count();
  }

  private static List<Long> subscribers(Connection transaction) throws SQLException {
    try (var statement = transaction.createStatement();
        var row = statement.executeQuery("select id from subscriber order by id")) {
      var ids = new ArrayList<Long>();
      while (row.next()) {
        ids.add(row.getLong(1));
      }
      return ids;
    }
  }

  /**
   * Each mail is recorded by itself, on a connection of its own: what a killed process has sent is
   * not sent again by the next, but for the one mail that it was at, which has the same key then.
   */
  @Override
  public void handle(Notification<Lot> notification, Tx tx) throws Exception {
    var lot = notification.payload();
    try (var connection = dataSource.getConnection()) {
      connection.setAutoCommit(false);
      for (var subscriber : lot.subscribers()) {
        send(connection, lot.campaign(), subscriber);
        connection.commit();
      }
    }
  }

  // «for share»: who opts out at this moment waits for this one mail, and none is sent after that.
  private static final String STILL_TO_SEND =
      """
      select address from subscriber s
       where s.id = ? and s.opted_out_at is null
         and not exists (select from mail m where m.campaign = ? and m.subscriber_id = s.id)
         for share
      """;

  private void send(Connection connection, String campaign, long subscriber)
      throws SQLException, IOException, InterruptedException, PauseException {
    try (var wanted = connection.prepareStatement(STILL_TO_SEND)) {
      wanted.setLong(1, subscriber);
      wanted.setString(2, campaign);
      try (var row = wanted.executeQuery()) {
        if (!row.next()) {
          return; // sent already, or opted out
        }
        var key = DeliveryKey.of("campaign", campaign, "subscriber", Long.toString(subscriber));
        mails.send(key, row.getString(1));
      }
    }
    try (var sent =
        connection.prepareStatement(
            "insert into mail (campaign, subscriber_id) values (?, ?) on conflict do nothing")) {
      sent.setString(1, campaign);
      sent.setLong(2, subscriber);
      sent.executeUpdate();
    }
  }
}
