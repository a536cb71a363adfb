package org.pgonce.example.campaign;

import java.sql.Connection;
import java.sql.SQLException;

/**
 * What came of a campaign, by the mail service's own count.
 *
 * @param sent recipients who got a mail
 * @param spared recipients who opted out before their mail and got none
 * @param ignored recipients who got one though they had opted out before
 * @param twice mails beyond the first of their recipient
 * @param lost recipients who have not opted out and got none
 * @param deadLetters lots that were given up
 */
record CampaignResult(
    long sent, long spared, long ignored, long twice, long lost, long deadLetters) {

  static CampaignResult of(MailServer server, OptOuts optOuts, int recipients, long deadLetters) {
    var spared = 0L;
    var ignored = 0L;
    var lost = 0L;
    for (var subscriber = 1L; subscriber <= recipients; subscriber++) {
      var received = server.of(address(subscriber));
      if (received != null) {
        ignored += optOuts.isIgnored(subscriber, received) ? 1 : 0;
      } else if (optOuts.contains(subscriber)) {
        spared++;
      } else {
        lost++;
      }
    }
    return new CampaignResult(
        server.delivered(), spared, ignored, server.twice(), lost, deadLetters);
  }

  /** The address of a subscriber, here and in {@link #createSubscribers}. */
  static String address(long subscriber) {
    return "subscriber" + subscriber + "@example.org";
  }

  static void createSubscribers(Connection connection, int recipients) throws SQLException {
    try (var statement =
        connection.prepareStatement(
            "insert into subscriber (id, address) select n, format('subscriber%s@example.org', n) from generate_series(1, ?) n")) {
      statement.setInt(1, recipients);
      statement.executeUpdate();
    }
  }

  boolean isKept(int recipients) {
    return sent == recipients - spared
        && ignored == 0
        && twice == 0
        && lost == 0
        && deadLetters == 0;
  }
}
