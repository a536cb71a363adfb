package org.pgonce.crash;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.pgonce.stage.Stage.QUICK;

import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.Publisher;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.stage.Stage.Order;
import org.pgonce.testkit.JvmProcess;
import org.pgonce.testkit.ParentWatch;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.Seed;
import org.pgonce.testkit.TestDatabase;

/** Whoever dies, and wherever: an effect in the database has one entry in the history. */
@PgTest(PgOnceInstalled.class)
class HistoryCrashTest {

  private static final Channel<Order> MAILS =
      Channel.of(
          "mails",
          Order.class,
          Mode.EXACTLY_ONCE,
          ChannelOptions.DEFAULT.withHistory(Duration.ofDays(7)));

  private static final Duration BOUND = Duration.ofSeconds(60);
  private static final int MANY = 900;

  /** One effect per mail, singly or in batches, slowly enough to be killed inside. */
  static final class ListenerProcess {
    public static void main(String[] arguments) throws Exception {
      ParentWatch.exitWhenParentDies();
      try (var pool = Stage.pooled(arguments, 6);
          var pgonce = PgOnce.builder(pool).pollInterval(Duration.ofMillis(500)).build()) {
        var options = QUICK.withMaxAttempts(1_000).withBatch(Integer.parseInt(arguments[2]));
        pgonce.listen(
            MAILS,
            options,
            (mail, tx) -> {
              tx.update("insert into effect values (?, ?)", mail.id(), "x");
              tx.query("select pg_sleep(0.003)", row -> 1);
            });
        pgonce.start();
        System.out.println("started");
        pgonce.awaitStopped();
      }
    }
  }

  private static JvmProcess listener(TestDatabase database, int batch) {
    return JvmProcess.start(
        ListenerProcess.class, database.jdbcUrl(), database.user(), String.valueOf(batch));
  }

  @Test
  @Tag("all")
  void history_underKill9EachEffectHasOneEntry(TestDatabase database) throws Exception {
    killAll(database, 1);
  }

  @Test
  @Tag("all")
  void history_underKill9EachEffectOfABatchHasOneEntry(TestDatabase database) throws Exception {
    killAll(database, 10);
  }

  private static void killAll(TestDatabase database, int batch) throws Exception {
    var random = Seed.random();
    var listeners = new ArrayList<JvmProcess>();
    try (var stage = new Stage(database)) {
      PgOnce.using(stage.dataSource).install(MAILS);
      for (var i = 0; i < 2; i++) {
        listeners.add(listener(database, batch));
      }
      listeners.get(0).awaitLine("started", BOUND);
      publish(stage);
      for (var kills = 0; kills < 4; kills++) {
        var target = 150L * (kills + 1);
        await()
            .atMost(BOUND)
            .pollInterval(Duration.ofMillis(20))
            .until(() -> stage.effects() >= target);
        var victim = random.nextInt(listeners.size());
        listeners.get(victim).kill9();
        listeners.set(victim, listener(database, batch));
      }
      stage.awaitNothingWaits();
      assertThat(
              database.queryString(
                  """
                  select concat_ws(' ', count(*), count(distinct e.id), count(h.id), count(distinct h.id))
                    from effect e full join pgonce.history h on h.id = e.id and h.outcome = 'HANDLED'
                  """))
          .isEqualTo("%1$d %1$d %1$d %1$d".formatted(MANY));
    } finally {
      listeners.forEach(JvmProcess::close);
    }
  }

  private static void publish(Stage stage) throws SQLException {
    var mails = new ArrayList<Order>();
    for (var id = 1; id <= MANY; id++) {
      mails.add(new Order(id, "mail"));
    }
    try (var connection = stage.dataSource.getConnection()) {
      Publisher.standard().publishAll(connection, MAILS, mails);
    }
  }
}
