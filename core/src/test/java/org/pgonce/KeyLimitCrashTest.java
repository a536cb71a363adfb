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
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.pgonce.Stage.Order;
import org.pgonce.testkit.JvmProcess;
import org.pgonce.testkit.ParentWatch;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** A limit per key across crashes: never more at once but for those that are dead, none lost. */
@PgTest
class KeyLimitCrashTest {

  private static final Duration BOUND = Duration.ofSeconds(90);
  private static final List<String> KEYS = List.of("a", "b", "c");
  private static final int LIMIT = 2;
  private static final int OF_A_ROUND = 30; // calls of each key

  private static Channel<Order> calls(Mode mode) {
    return Channel.of("calls", Order.class, mode, ChannelOptions.DEFAULT.withMaxPerKey(LIMIT));
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
                calls(Mode.valueOf(arguments[2])),
                QUICK.withMaxAttempts(1_000).withLease(Duration.ofSeconds(5)),
                (call, tx) -> {
                  trace(pool, call.payload(), "begins");
                  Stage.effect(call, tx);
                  tx.query("select pg_sleep(0.01)", row -> 1); // its work, in which it is killed
                  trace(pool, call.payload(), "ends");
                })
            .start();
        System.out.println("started");
        pgonce.awaitStopped();
      }
    }

    private static void trace(HikariDataSource pool, Order call, String what) throws SQLException {
      try (var connection = pool.getConnection();
          var insert =
              connection.prepareStatement(
                  "insert into trace (pid, key, id, what) values (?, ?, ?, ?)")) {
        insert.setLong(1, ProcessHandle.current().pid());
        insert.setString(2, call.item());
        insert.setLong(3, call.id());
        insert.setString(4, what);
        insert.executeUpdate();
      }
    }
  }

  private record Call(long pid, String key, long id) {}

  /** Where more of a key ran at once than may, in words; those that were killed run no more. */
  private static List<String> broken(
      Connection connection, Set<Long> killed, Map<String, Integer> most) throws SQLException {
    var broken = new ArrayList<String>();
    var running = new HashMap<String, Set<Call>>();
    try (var statement = connection.createStatement();
        var row = statement.executeQuery("select pid, key, id, what from trace order by n")) {
      while (row.next()) {
        var call = new Call(row.getLong(1), row.getString(2), row.getLong(3));
        var ofKey = running.computeIfAbsent(call.key(), key -> new HashSet<>());
        if (row.getString(4).equals("ends")) {
          ofKey.remove(call);
          continue;
        }
        if (ofKey.size() >= LIMIT) {
          // It has another's place. That one was killed, and says nothing of its end.
          var dead = ofKey.stream().filter(other -> killed.contains(other.pid())).findFirst();
          dead.ifPresentOrElse(
              ofKey::remove, () -> broken.add(call + " begins while " + ofKey + " run"));
        }
        ofKey.add(call);
        most.merge(call.key(), ofKey.size(), Math::max);
      }
    }
    return broken;
  }

  @ParameterizedTest
  @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "BROADCAST")
  void h53_s01_theLimitOfEachKeyOutlivesListenersThatAreKilled(Mode mode, TestDatabase database)
      throws Exception {
    var killed = new HashSet<Long>();
    var workers = new ArrayList<JvmProcess>();
    try (var stage = new Stage(database)) {
      database.execute(
          "create table trace (n bigserial, pid bigint, key text, id bigint, what text)");
      var calls = calls(mode);
      PgOnce.using(stage.dataSource).install(calls);
      for (var i = 0; i < 2; i++) {
        workers.add(worker(database, mode));
      }
      for (var worker : workers) {
        worker.awaitLine("started", BOUND);
      }
      var published = new AtomicInteger();
      for (var kill = 1; kill <= 2; kill++) {
        var victim = workers.get(0);
        // In the middle of something, and there is more to do until then.
        var enough = kill * OF_A_ROUND;
        await()
            .atMost(BOUND)
            .pollInterval(Duration.ofMillis(5))
            .until(
                () -> {
                  if (stage.waiting() < 4L * KEYS.size()) {
                    publish(stage, calls, published.getAndAdd(OF_A_ROUND));
                  }
                  return published.get() >= enough && isAtWork(database, victim.pid());
                });
        victim.kill9();
        killed.add(victim.pid());
        workers.remove(0);
        workers.add(worker(database, mode));
      }
      await().atMost(BOUND).until(() -> stage.waiting() == 0);
      var most = new HashMap<String, Integer>();
      try (var connection = stage.dataSource.getConnection()) {
        assertThat(broken(connection, killed, most)).isEmpty();
      }
      assertThat(most.values()).contains(LIMIT);
      var all = KEYS.size() * published.get();
      var done =
          database.queryLong("select count(distinct (key, id)) from trace where what = 'ends'");
      switch (mode) {
        case EXACTLY_ONCE -> assertThat(stage.effects()).isEqualTo(all);
        case AT_LEAST_ONCE -> assertThat(done).isEqualTo(all);
        default -> {
          // At most what each of the killed was at: the outcome is not known, and may be there.
          assertThat(stage.deadLetters()).isLessThanOrEqualTo(2L * LIMIT * KEYS.size());
          assertThat(done + stage.deadLetters()).isGreaterThanOrEqualTo(all);
        }
      }
    } finally {
      workers.forEach(JvmProcess::close);
    }
  }

  private static void publish(Stage stage, Channel<Order> calls, int after) throws SQLException {
    var messages = new ArrayList<Message<Order>>();
    for (var id = after + 1; id <= after + OF_A_ROUND; id++) {
      for (var key : KEYS) {
        messages.add(new Message<>(new Order(id, key), PublishOptions.DEFAULT.withOrderKey(key)));
      }
    }
    try (var connection = stage.dataSource.getConnection()) {
      Publisher.standard().publishEach(connection, calls, messages);
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
