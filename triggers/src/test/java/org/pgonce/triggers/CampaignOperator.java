package org.pgonce.triggers;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.pgonce.Channel;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.testkit.TestDatabase;

/** Does what a person on call may do, at the wrong moments. What it removes, it notes. */
final class CampaignOperator {

  private static final List<String> TASKS =
      List.of(
          "padding rows",
          "leftovers of drops",
          "delivery keys",
          "history",
          "list of listeners",
          "gates of channels");

  /**
   * All that is stored, wherever, by what it is; an item's change as the test's trigger names it.
   */
  private static final String STORED =
      """
      select s.of_channel as channel, n.id,
             coalesce(n.payload ->> 'what', concat_ws(' ', left(initcap(n.payload ->> 'op'), 1), i ->> 'id', i ->> 'version')) as what
        from pgonce.%s n join pgonce.subscription s on s.id = n.subscription_id and s.name = 'default',
             coalesce(n.payload -> 'new', n.payload -> 'old') i
       where s.of_channel = '%s'
      """;

  private static final List<Mode> OTHER_MODES =
      List.of(Mode.AT_LEAST_ONCE, Mode.AT_MOST_ONCE, Mode.EXACTLY_ONCE);

  private final TestDatabase database;
  private final Random random;

  CampaignOperator(TestDatabase database, Random random) {
    this.database = database;
    this.random = random;
  }

  /** One action. */
  void act() throws SQLException {
    var stored = CampaignChannels.stored();
    var channel = stored.get(random.nextInt(stored.size()));
    var name = channel.name();
    switch (random.nextInt(14)) {
      case 0 -> database.execute("select pgonce.pause('%s', 'campaign')".formatted(name));
      case 1, 2 -> resumeAll();
      case 3 ->
          database.execute(
              "select pgonce.retry_now('%s', array(select id from pgonce.scheduled where subscription_id > 0))"
                  .formatted(name));
      case 4, 5 -> cancel(channel, random.nextBoolean() ? "notification" : "scheduled");
      case 6, 7 -> redrive(channel);
      case 8 -> discard(channel);
      case 9 ->
          database.execute(
              "select pgonce.change_mode('changing', '%s')"
                  .formatted(OTHER_MODES.get(random.nextInt(OTHER_MODES.size()))));
      case 10 -> keepHouse();
      case 11 -> terminate();
      case 12 -> PgOnce.using(database.dataSource()).install(installable());
      default -> {
        if (random.nextBoolean()) {
          PgOnce.using(database.dataSource()).install(CampaignChannels.PLAIN_AND_EXTRA);
        } else {
          dropExtra();
        }
      }
    }
  }

  /** Everything as its listeners know it. */
  void calm() throws SQLException {
    database.execute("select pgonce.change_mode('changing', 'EXACTLY_ONCE')");
    PgOnce.using(database.dataSource()).install(CampaignChannels.all());
    dropExtra();
    resumeAll();
  }

  /** Puts back what died; in AT_MOST_ONCE it may have been done, and is discarded. */
  void clearDeadLetters() throws SQLException {
    for (var channel : CampaignChannels.stored()) {
      if (channel.mode() == Mode.AT_MOST_ONCE) {
        discard(channel);
      } else {
        redrive(channel);
      }
    }
  }

  void keepHouse() throws SQLException {
    for (var task : TASKS) {
      database.execute("select pgonce.keep_house('%s', gen_random_uuid())".formatted(task));
    }
  }

  private void dropExtra() throws SQLException {
    database.execute("select pgonce.drop_subscription('plain', 'extra')");
  }

  private void resumeAll() throws SQLException {
    database.execute(
        "select pgonce.resume(of_channel, 'campaign') from pgonce.subscription where paused_at is not null");
  }

  /** The channel whose mode is another one now is refused by an installation. */
  private static Channel<?>[] installable() {
    var list = new ArrayList<>(List.of(CampaignChannels.all()));
    list.remove(CampaignChannels.CHANGING);
    return list.toArray(Channel<?>[]::new);
  }

  /** A few of what waits, be it handled at the moment or not. */
  private void cancel(Channel<?> channel, String table) throws SQLException {
    note(
        "cancelled",
        "select x.channel, x.what from (%s order by random() limit 10) x, pgonce.cancel(x.channel, x.id, null, 'default') c where c.cancelled > 0"
            .formatted(STORED.formatted(table, channel.name())));
  }

  private void redrive(Channel<?> channel) throws SQLException {
    note(
        "redriven",
        "select x.channel, x.what from (%s) x where pgonce.redrive(x.channel, x.id) > 0"
            .formatted(STORED.formatted("dead_letter", channel.name())));
  }

  private void discard(Channel<?> channel) throws SQLException {
    note(
        "discarded",
        "select x.channel, x.what from (%s) x where pgonce.discard(x.channel, x.id) > 0"
            .formatted(STORED.formatted("dead_letter", channel.name())));
  }

  private void note(String action, String rows) throws SQLException {
    database.execute(
        "insert into acted select '%s', a.channel, a.what from (%s) a".formatted(action, rows));
  }

  private void terminate() throws SQLException {
    database.execute(
        """
        select pg_terminate_backend(pid) from
          (select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
             and backend_type = 'client backend' order by md5(pid || '%d') limit 3) victims
        """
            .formatted(random.nextInt()));
  }
}
