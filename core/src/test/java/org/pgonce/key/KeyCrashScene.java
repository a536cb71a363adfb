package org.pgonce.key;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.pgonce.stage.Stage.QUICK;

import com.zaxxer.hikari.HikariDataSource;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.pgonce.Channel;
import org.pgonce.Message;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.PublishOptions;
import org.pgonce.Publisher;
import org.pgonce.stage.Stage;
import org.pgonce.stage.Stage.Order;
import org.pgonce.testkit.JvmProcess;
import org.pgonce.testkit.ParentWatch;
import org.pgonce.testkit.TestDatabase;

/**
 * Two processes that handle a channel whose rows go by key, until each of them is killed in the
 * middle of something and another one has come. Their handlers leave a trace.
 */
abstract class KeyCrashScene {

  private static final Duration BOUND = Duration.ofSeconds(90);
  private static final List<String> KEYS = List.of("a", "b", "c");
  private static final int OF_A_ROUND = 30; // rows of each key

  /** A handler begins, or is about to return. */
  record Step(long pid, String key, long id, String what) {

    boolean ends() {
      return what.equals("ends");
    }

    boolean endsWhatBegan(Step before) {
      return ends() && before.equals(new Step(pid, key, id, "begins"));
    }
  }

  /** The processes that were killed: they say nothing of what they were at. */
  final Set<Long> killed = new HashSet<>();

  private final List<JvmProcess> workers = new ArrayList<>();
  private Stage stage;

  @BeforeEach
  void open(TestDatabase database) throws SQLException {
    stage = new Stage(database);
    database.execute(
        "create table trace (n bigserial, pid bigint, key text, id bigint, what text)");
  }

  @AfterEach
  void close() {
    workers.forEach(JvmProcess::close);
    stage.close();
  }

  /** The main method of a worker. The trace is written on a connection of its own. */
  static void work(String[] arguments, Channel<Order> channel, Duration lease) throws Exception {
    ParentWatch.exitWhenParentDies();
    var pool = Stage.pooled(arguments, 12);
    pool.setMinimumIdle(1);
    try (pool;
        var pgonce = PgOnce.builder(pool).pollInterval(Duration.ofMillis(300)).build()) {
      pgonce
          .listen(
              channel,
              QUICK.withMaxAttempts(1_000).withLease(lease),
              (row, tx) -> {
                trace(pool, row.payload(), "begins");
                Stage.effect(row, tx);
                tx.query("select pg_sleep(0.01)", one -> 1); // its work, in which it is killed
                trace(pool, row.payload(), "ends");
              })
          .start();
      System.out.println("started");
      pgonce.awaitStopped();
    }
  }

  private static void trace(HikariDataSource pool, Order row, String what) throws SQLException {
    try (var connection = pool.getConnection();
        var insert =
            connection.prepareStatement(
                "insert into trace (pid, key, id, what) values (?, ?, ?, ?)")) {
      insert.setLong(1, ProcessHandle.current().pid());
      insert.setString(2, row.item());
      insert.setLong(3, row.id());
      insert.setString(4, what);
      insert.executeUpdate();
    }
  }

  /**
   * Publishes, kills twice, and waits until nothing is left.
   *
   * @param worker whose third argument is the mode
   * @param atOnce how many of a key may be handled at once
   * @return how many were published
   */
  int handleAllWhileTwoAreKilled(Class<?> worker, Channel<Order> channel, int atOnce)
      throws Exception {
    PgOnce.using(stage.dataSource).install(channel);
    begin(worker, channel);
    begin(worker, channel);
    for (var each : workers) {
      each.awaitLine("started", BOUND);
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
                if (stage.waiting() < 2L * atOnce * KEYS.size()) {
                  publish(channel, published.getAndAdd(OF_A_ROUND));
                }
                return published.get() >= enough && isAtWork(victim.pid());
              });
      victim.kill9();
      killed.add(victim.pid());
      workers.remove(0);
      begin(worker, channel);
    }
    await().atMost(BOUND).until(() -> stage.waiting() == 0);
    return KEYS.size() * published.get();
  }

  private void begin(Class<?> worker, Channel<Order> channel) throws Exception {
    var database = stage.database;
    workers.add(
        JvmProcess.start(worker, database.jdbcUrl(), database.user(), channel.mode().name()));
  }

  private void publish(Channel<Order> channel, int after) throws SQLException {
    var messages = new ArrayList<Message<Order>>();
    for (var id = after + 1; id <= after + OF_A_ROUND; id++) {
      for (var key : KEYS) {
        messages.add(new Message<>(new Order(id, key), PublishOptions.DEFAULT.withOrderKey(key)));
      }
    }
    try (var connection = stage.dataSource.getConnection()) {
      Publisher.standard().publishEach(connection, channel, messages);
    }
  }

  /** Whether a handler of the process has begun and not ended, and others of it have ended. */
  private boolean isAtWork(long pid) throws SQLException {
    return stage.database.queryLong(
            "select count(*) from (select from trace where pid = %d having count(*) filter (where what = 'begins') > count(*) filter (where what = 'ends') and count(*) > 20) at_work"
                .formatted(pid))
        == 1;
  }

  List<Step> trace() throws SQLException {
    try (var connection = stage.dataSource.getConnection();
        var statement = connection.createStatement();
        var row = statement.executeQuery("select pid, key, id, what from trace order by n")) {
      var steps = new ArrayList<Step>();
      while (row.next()) {
        steps.add(new Step(row.getLong(1), row.getString(2), row.getLong(3), row.getString(4)));
      }
      return steps;
    }
  }

  /** None is lost, as far as the mode promises. */
  void assertHandled(int all, Mode mode, int atOnce) throws SQLException {
    var done =
        stage.database.queryLong("select count(distinct (key, id)) from trace where what = 'ends'");
    switch (mode) {
      case EXACTLY_ONCE -> assertThat(stage.effects()).isEqualTo(all);
      case AT_LEAST_ONCE -> assertThat(done).isEqualTo(all);
      default -> {
        // At most what each of the killed was at: the outcome is not known, and may be there.
        assertThat(stage.deadLetters()).isLessThanOrEqualTo(2L * atOnce * KEYS.size());
        assertThat(done + stage.deadLetters()).isGreaterThanOrEqualTo(all);
      }
    }
  }
}
