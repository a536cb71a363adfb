package org.pgonce.example.campaign;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;

/** Recipients who opt out, a tenth of them before the first mail. For one thread. */
final class OptOuts {

  // A request that a killed process has left on its way may be read a moment later.
  private static final long ON_ITS_WAY_NS = 1_000_000_000L;

  private final int wanted;
  private final int recipients;
  private final Random random;
  private final Map<Long, Long> optedOutAt = new HashMap<>();

  OptOuts(int wanted, int recipients, Random random) {
    this.wanted = wanted;
    this.recipients = recipients;
    this.random = random;
  }

  /** As many as there must be when so many mails are delivered. */
  void step(Connection connection, long delivered) throws SQLException {
    var due = wanted / 10 + (wanted - wanted / 10) * delivered / recipients;
    while (optedOutAt.size() < due) {
      optOut(connection, 1 + random.nextInt(recipients));
    }
  }

  private void optOut(Connection connection, long subscriber) throws SQLException {
    try (var statement =
        connection.prepareStatement(
            "update subscriber set opted_out_at = clock_timestamp() where id = ? and opted_out_at is null")) {
      statement.setLong(1, subscriber);
      if (statement.executeUpdate() == 1) {
        optedOutAt.put(subscriber, System.nanoTime());
      }
    }
  }

  int size() {
    return optedOutAt.size();
  }

  boolean contains(long subscriber) {
    return optedOutAt.containsKey(subscriber);
  }

  /** Whether the subscriber got the mail though the opt-out was committed before. */
  boolean isIgnored(long subscriber, MailServer.Received received) {
    var at = optedOutAt.get(subscriber);
    return at != null && received.first() - at > ON_ITS_WAY_NS;
  }
}
