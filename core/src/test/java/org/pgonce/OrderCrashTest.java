package org.pgonce;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.pgonce.Stage.QUICK;

import com.zaxxer.hikari.HikariDataSource;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.pgonce.Stage.Order;
import org.pgonce.testkit.JvmProcess;
import org.pgonce.testkit.ParentWatch;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** H53 across crashes: within a key never overtaken, never two at once, none lost. */
@PgTest
class OrderCrashTest {

  private static final Duration BOUND = Duration.ofSeconds(90);
  private static final List<String> KEYS = List.of("a", "b", "c");
  private static final int OF_A_ROUND = 30; // steps of each key

  private static Channel<Order> steps(Mode mode) {
    // What a crash leaves without a known outcome is a dead letter in AT_MOST_ONCE.
    var order =
        mode == Mode.AT_MOST_ONCE ? KeyOrder.DEAD_LETTER_PASSES : KeyOrder.DEAD_LETTER_BLOCKS;
    return Channel.of("steps", Order.class, mode, ChannelOptions.DEFAULT.withOrder(order));
  }

  /** Says on a connection of its own when a handler begins and when it is about to return. */
  static final class Worker {

    public static void main(String[] arguments) throws Exception {
      ParentWatch.exitWhenParentDies();
      var pool = new HikariDataSource();
      pool.setJdbcUrl(arguments[0]);
      pool.setUsername(arguments[1]);
      pool.setMaximumPoolSize(12);
      pool.setMinimumIdle(1);
      try (pool;
          var pgonce = PgOnce.builder(pool).pollInterval(Duration.ofMillis(300)).build()) {
        pgonce
            .listen(
                steps(Mode.valueOf(arguments[2])),
                QUICK.withMaxAttempts(1_000).withLease(CrashEffects.LEASE),
                (step, tx) -> {
                  trace(pool, step.payload(), "begins");
                  Stage.effect(step, tx);
                  tx.query("select pg_sleep(0.01)", row -> 1); // its work, in which it is killed
                  trace(pool, step.payload(), "ends");
                })
            .start();
        System.out.println("started");
        pgonce.awaitStopped();
      }
    }

    private static void trace(HikariDataSource pool, Order step, String what) throws SQLException {
      try (var connection = pool.getConnection();
          var insert =
              connection.prepareStatement(
                  "insert into trace (pid, key, id, what) values (?, ?, ?, ?)")) {
        insert.setLong(1, ProcessHandle.current().pid());
        insert.setString(2, step.item());
        insert.setLong(3, step.id());
        insert.setString(4, what);
        insert.executeUpdate();
      }
    }
  }

  private record Step(long pid, String key, long id, String what) {}

  private static List<Step> trace(Connection connection) throws SQLException {
    try (var statement = connection.createStatement();
        var row = statement.executeQuery("select pid, key, id, what from trace order by n")) {
      var steps = new ArrayList<Step>();
      while (row.next()) {
        steps.add(new Step(row.getLong(1), row.getString(2), row.getLong(3), row.getString(4)));
      }
      return steps;
    }
  }

  /** What is against the order, in words. */
  private static List<String> broken(List<Step> trace, Set<Long> killed) {
    var broken = new ArrayList<String>();
    var last = new HashMap<String, Step>();
    for (var step : trace) {
      var before = last.put(step.key(), step);
      if (before == null) {
        continue;
      }
      if (step.id() < before.id()) {
        broken.add(step + " comes after " + before);
      }
      var alone =
          step.what().equals("ends")
              ? before.equals(new Step(step.pid(), step.key(), step.id(), "begins"))
              : before.what().equals("ends") || killed.contains(before.pid());
      if (!alone) {
        broken.add(step + " comes while " + before + " runs");
      }
    }
    return broken;
  }

  @ParameterizedTest
  @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "BROADCAST")
  void h53_s01_theOrderOfEachKeyOutlivesListenersThatAreKilled(Mode mode, TestDatabase database)
      throws Exception {
    var killed = new HashSet<Long>();
    var workers = new ArrayList<JvmProcess>();
    try (var stage = new Stage(database)) {
      database.execute(
          "create table trace (n bigserial, pid bigint, key text, id bigint, what text)");
      var steps = steps(mode);
      PgOnce.using(stage.dataSource).install(steps);
      for (var i = 0; i < 2; i++) {
        workers.add(worker(database, mode));
      }
      for (var worker : workers) {
        worker.awaitLine("started", BOUND);
      }
      var published = new AtomicInteger();
      for (var kill = 1; kill <= 2; kill++) {
        var victim = workers.get(0);
        // In the middle of something: the first of the two goes while the other goes on. There is
        // more to do until then, however slow this thread or the victim is.
        var enough = kill * OF_A_ROUND;
        await()
            .atMost(BOUND)
            .pollInterval(Duration.ofMillis(5))
            .until(
                () -> {
                  if (stage.waiting() < 2L * KEYS.size()) {
                    publish(stage, steps, published.getAndAdd(OF_A_ROUND));
                  }
                  return published.get() >= enough && isAtWork(database, victim.pid());
                });
        victim.kill9();
        killed.add(victim.pid());
        workers.remove(0);
        workers.add(worker(database, mode));
      }
      await().atMost(BOUND).until(() -> stage.waiting() == 0);
      try (var connection = stage.dataSource.getConnection()) {
        assertThat(broken(trace(connection), killed)).isEmpty();
      }
      var all = KEYS.size() * published.get();
      var done =
          database.queryLong("select count(distinct (key, id)) from trace where what = 'ends'");
      switch (mode) {
        case EXACTLY_ONCE -> assertThat(stage.effects()).isEqualTo(all);
        case AT_LEAST_ONCE -> assertThat(done).isEqualTo(all);
        default -> {
          // At most what each of the killed was at: the outcome is not known, and may be there.
          assertThat(stage.deadLetters()).isLessThanOrEqualTo(2L * KEYS.size());
          assertThat(done + stage.deadLetters()).isGreaterThanOrEqualTo(all);
        }
      }
    } finally {
      workers.forEach(JvmProcess::close);
    }
  }

  private static void publish(Stage stage, Channel<Order> steps, int after) throws SQLException {
    var messages = new ArrayList<Message<Order>>();
    for (var id = after + 1; id <= after + OF_A_ROUND; id++) {
      for (var key : KEYS) {
        messages.add(new Message<>(new Order(id, key), PublishOptions.DEFAULT.withOrderKey(key)));
      }
    }
    try (var connection = stage.dataSource.getConnection()) {
      Publisher.standard().publishEach(connection, steps, messages);
    }
  }

  /** Whether a handler of the process has begun and not ended, and others of it have ended. */
  private static boolean isAtWork(TestDatabase database, long pid) throws SQLException {
    return database.queryLong(
            "select count(*) from (select from trace where pid = %d having count(*) filter (where what = 'begins') > count(*) filter (where what = 'ends') and count(*) > 20) at_work"
                .formatted(pid))
        == 1;
  }

  private static JvmProcess worker(TestDatabase database, Mode mode) {
    return JvmProcess.start(Worker.class, database.jdbcUrl(), database.user(), mode.name());
  }
}
