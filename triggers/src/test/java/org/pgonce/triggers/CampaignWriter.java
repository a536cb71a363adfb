package org.pgonce.triggers;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Random;
import java.util.concurrent.locks.LockSupport;
import org.pgonce.Channel;
import org.pgonce.KeyOrder;
import org.pgonce.Mode;
import org.pgonce.PublishOptions;
import org.pgonce.Publisher;
import org.pgonce.testkit.TestDatabase;
import org.pgonce.triggers.CampaignChannels.Work;

/**
 * Publishes and changes a watched table, and notes in the same transaction what it has published.
 * Keys are its own, so that the order of a key is that of its transactions.
 */
final class CampaignWriter implements Runnable {

  private static final int KEYS = 2;
  private static final int MOST_OF_A_KEY = 8; // at once, so that they contend

  private final TestDatabase database;
  private final Random random;
  private final int number;
  private volatile boolean stopped;
  private int given;

  CampaignWriter(TestDatabase database, long seed, int number) {
    this.database = database;
    this.random = new Random(seed);
    this.number = number;
  }

  void stop() {
    stopped = true;
  }

  /** Until it is stopped. Its session may be ended at any time: then it takes another one. */
  @Override
  public void run() {
    while (!stopped) {
      try (var connection = database.dataSource().getConnection()) {
        connection.setAutoCommit(false);
        while (!stopped) {
          transaction(connection);
          LockSupport.parkNanos(Duration.ofMillis(random.nextInt(60)).toNanos());
        }
      } catch (SQLException lost) {
        // The tables tell whether that transaction was committed.
      }
    }
  }

  private void transaction(Connection connection) throws SQLException {
    for (var i = random.nextInt(3); i >= 0; i--) {
      if (random.nextInt(5) == 0) {
        changeItems(connection);
      } else {
        var stored = CampaignChannels.STORED;
        var channel = stored.get(random.nextInt(stored.size()));
        var key = number + "-" + random.nextInt(KEYS);
        var count = channel.options().goesByKey() ? 1 + random.nextInt(MOST_OF_A_KEY) : 1;
        for (var n = 0; n < count; n++) {
          publish(connection, channel, key);
        }
      }
      if (random.nextInt(4) == 0) {
        publish(connection, CampaignChannels.HEARD, "none");
      }
    }
    if (random.nextInt(8) == 0) {
      connection.rollback();
    } else {
      connection.commit();
    }
  }

  private void publish(Connection connection, Channel<Work> channel, String key)
      throws SQLException {
    var work = new Work(number + "-" + ++given, key);
    var options = PublishOptions.DEFAULT;
    var byKey = channel.options().goesByKey();
    if (byKey) {
      options = options.withOrderKey(work.key());
    }
    var isStored = channel.mode() != Mode.BROADCAST;
    if (isStored && random.nextInt(3) == 0) {
      // At times one that was given before, and may be remembered.
      options = options.withDeliveryKey(number + "-" + (given - random.nextInt(3)));
    }
    if (isStored && channel.options().order() == KeyOrder.NONE && random.nextInt(4) == 0) {
      options = options.withDelay(Duration.ofMillis(random.nextInt(3_000)));
    }
    if (Publisher.standard().publish(connection, channel, work, options).stored()) {
      try (var insert = connection.prepareStatement("insert into written values (?, ?, ?)")) {
        insert.setString(1, channel.name());
        insert.setString(2, work.what());
        insert.setString(3, work.key());
        insert.executeUpdate();
      }
    }
  }

  private void changeItems(Connection connection) throws SQLException {
    var own = "id %% 10 = %d".formatted(number);
    try (var statement = connection.createStatement()) {
      switch (random.nextInt(4)) {
        case 0, 1 -> {
          var first = 1_000L * ++given + number;
          statement.execute(
              "insert into item select i, 0 from generate_series(%d, %d, 10) i"
                  .formatted(first, first + 10L * random.nextInt(3)));
        }
        case 2 ->
            statement.execute(
                "update item set version = version + 1 where id in (select id from item where "
                    + own
                    + " order by id desc limit 3)");
        default ->
            statement.execute(
                "delete from item where id in (select id from item where " + own + " limit 2)");
      }
    }
  }
}
