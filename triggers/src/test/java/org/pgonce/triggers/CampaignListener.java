package org.pgonce.triggers;

import com.zaxxer.hikari.HikariDataSource;
import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;
import javax.sql.DataSource;
import org.pgonce.Backoff;
import org.pgonce.Channel;
import org.pgonce.Handler;
import org.pgonce.KeyOrder;
import org.pgonce.ListenOptions;
import org.pgonce.Notification;
import org.pgonce.PgOnce;
import org.pgonce.RejectedException;
import org.pgonce.Tx;
import org.pgonce.testkit.JvmProcess;
import org.pgonce.testkit.ParentWatch;
import org.pgonce.testkit.TestDatabase;
import org.pgonce.triggers.CampaignChannels.Item;
import org.pgonce.triggers.CampaignChannels.Work;

/** A process that handles all channels. Its handlers say what they do in the tables of the test. */
final class CampaignListener {

  /** Whether its handlers fail now and then. */
  enum Mood {
    UNSTEADY,
    CALM
  }

  private static final ListenOptions OPTIONS =
      ListenOptions.DEFAULT
          .withBackoff(new Backoff(Duration.ofMillis(20), Duration.ofMillis(200)))
          .withMaxAttempts(3)
          .withConcurrency(3);
  // Longer than a busy machine keeps a process from renewing: what has lost its lease is not
  // counted by order and limit.
  private static final Duration LEASE = Duration.ofSeconds(8);

  private final DataSource dataSource;
  private final Mood mood;

  private CampaignListener(DataSource dataSource, Mood mood) {
    this.dataSource = dataSource;
    this.mood = mood;
  }

  static JvmProcess begin(TestDatabase database, String driver, Mood mood) {
    var url = database.jdbcUrl().replace("postgresql:", driver);
    return JvmProcess.start(CampaignListener.class, url, database.user(), mood.name());
  }

  public static void main(String[] arguments) throws Exception {
    ParentWatch.exitWhenParentDies();
    try (var pool = new HikariDataSource()) {
      pool.setJdbcUrl(arguments[0]);
      pool.setUsername(arguments[1]);
      pool.setMaximumPoolSize(16);
      pool.setMinimumIdle(1);
      var listener = new CampaignListener(pool, Mood.valueOf(arguments[2]));
      try (var pgonce =
          PgOnce.builder(pool)
              .pollInterval(Duration.ofMillis(500))
              .stopTimeout(Duration.ofSeconds(2))
              .build()) {
        listener.listen(pgonce);
        pgonce.start();
        System.out.println("started");
        pgonce.awaitStopped();
      }
    }
  }

  private void listen(PgOnce pgonce) {
    pgonce.listen(
        CampaignChannels.HEARD, OPTIONS, (work, tx) -> trace(work, work.payload().what()));
    pgonce.listen(
        CampaignChannels.ITEMS,
        OPTIONS,
        (change, tx) -> {
          var item = itemOf(change.payload());
          work(CampaignChannels.ITEMS, change, whatOf(change.payload()), "" + item.id(), tx);
        });
    for (var channel : CampaignChannels.STORED) {
      Handler<Work> one =
          (work, tx) -> work(channel, work, work.payload().what(), work.payload().key(), tx);
      if (channel.name().equals("batch")) {
        Handler<Work> list =
            Handler.batch(
                (works, tx) -> {
                  for (var work : works) {
                    one.handle(work, tx);
                  }
                });
        pgonce.listen(channel, OPTIONS.withBatch(5), list);
      } else {
        pgonce.listen(
            channel,
            channel.mode().name().startsWith("AT") ? OPTIONS.withLease(LEASE) : OPTIONS,
            one);
      }
    }
  }

  private void work(Channel<?> channel, Notification<?> of, String what, String key, Tx tx)
      throws Exception {
    var options = channel.options();
    if (channel.mode().name().equals("AT_MOST_ONCE")) {
      trace(of, what);
    }
    var most = options.order() == KeyOrder.NONE ? options.maxPerKey() : 1;
    if (most > 0 && !hasPlace(tx, channel.name() + " " + key, most)) {
      trace(of, "too many of key " + key + ": " + what);
    }
    tx.update("insert into effect values (?, ?, ?)", of.channel(), what, key);
    var fate = ThreadLocalRandom.current().nextInt(100);
    if (mood == Mood.UNSTEADY && fate < 25) {
      if (fate == 0) {
        throw new RejectedException("never");
      }
      throw new IllegalStateException("not now");
    }
    // Its work, in which it is killed.
    tx.query("select pg_sleep(?)", row -> 1, ThreadLocalRandom.current().nextInt(30) / 1000.0);
  }

  /** Each handler takes a lock, of as many as the key may have at once. */
  private static boolean hasPlace(Tx tx, String key, int most) throws SQLException {
    for (var place = 1; place <= most; place++) {
      if (tx.query(
              "select pg_try_advisory_xact_lock(hashtext(?), ?)",
              row -> row.getBoolean(1),
              key,
              place)
          .get(0)) {
        return true;
      }
    }
    return false;
  }

  /** On a connection of its own: it stays whatever becomes of the handler. */
  private void trace(Notification<?> of, String what) throws SQLException {
    try (var connection = dataSource.getConnection();
        var insert = connection.prepareStatement("insert into trace values (?, ?, ?)")) {
      insert.setString(1, of.channel());
      insert.setString(2, what);
      insert.setLong(3, ProcessHandle.current().pid());
      insert.executeUpdate();
    }
  }

  private static Item itemOf(RowChange<Item> change) {
    if (change instanceof RowChange.Inserted<Item> inserted) {
      return inserted.row();
    }
    return change instanceof RowChange.Updated<Item> updated
        ? updated.after()
        : ((RowChange.Deleted<Item>) change).row();
  }

  /** As the test's own trigger names it. */
  private static String whatOf(RowChange<Item> change) {
    var item = itemOf(change);
    return change.getClass().getSimpleName().charAt(0) + " " + item.id() + " " + item.version();
  }
}
