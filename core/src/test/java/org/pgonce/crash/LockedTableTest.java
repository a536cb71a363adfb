package org.pgonce.crash;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.pgonce.Channel;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.spi.Event;
import org.pgonce.spi.Observer;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.testkit.JvmProcess;
import org.pgonce.testkit.Login;
import org.pgonce.testkit.ParentWatch;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/**
 * Somebody keeps the table of notifications locked, as VACUUM FULL does: what waits for it on the
 * server must not outlive who asked.
 */
@Tag("versions")
@PgTest(PgOnceInstalled.class)
class LockedTableTest {

  // The server looks each second, and a poll waits for 10 s at most.
  private static final Duration GONE_WITHIN = Duration.ofSeconds(20);

  private static final String WAITING =
      "select string_agg(left(query, 300), ', ') from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";

  private static final String WAITING_CLAIMS =
      "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%c.attempts%'";

  /** All that listeners ask but claims that live as long as their transaction. */
  private static final List<String> ASKED =
      List.of(
          "select * from pgonce.poll(gen_random_uuid())",
          "select pgonce.listener_starts(gen_random_uuid(), '', array[%1$d], 'polling', 5000)",
          "select pgonce.listener_stops(gen_random_uuid())",
          "select pgonce.listener_seen(gen_random_uuid(), 'polling')",
          "select pgonce.take_rate_permits(%1$d, 1)",
          "select pgonce.open_gate('locked', array[%1$d])",
          "select pgonce.do_writers_wait('locked', array[%1$d])",
          "select pgonce.renew_gate('locked', array[%1$d], pg_sequence_last_value('pgonce.gate_locked'))",
          "select pgonce.renew(%1$d, array[1], array[gen_random_uuid()], 15000)");

  private Stage stage;

  /** It has four workers. */
  static final class Victim {
    public static void main(String[] arguments) throws Exception {
      ParentWatch.exitWhenParentDies();
      var channel = Stage.wokenAlways("locked", Mode.valueOf(arguments[2]));
      try (var pool = Stage.pooled(arguments, 8);
          var pgonce = PgOnce.builder(pool).build()) {
        pgonce.listen(channel, Stage.QUICK.withConcurrency(4), Stage::effect).start();
        pgonce.awaitStopped();
      }
    }
  }

  @BeforeEach
  void open(TestDatabase database) throws SQLException {
    stage = new Stage(database);
  }

  @AfterEach
  void close() {
    stage.close();
  }

  private String waiting() throws SQLException {
    return String.valueOf(stage.database.queryString(WAITING));
  }

  @ParameterizedTest
  @EnumSource(names = {"EXACTLY_ONCE", "AT_LEAST_ONCE"})
  void h55_aListenerKilledWhileItsClaimsWaitForTheTableLeavesNoSession(Mode mode) throws Exception {
    PgOnce.using(stage.dataSource).install(Stage.wokenAlways("locked", mode));
    stage.database.execute(
        "select pgonce.publish('locked', json_build_object('id', n, 'item', 'x')) from generate_series(1, 20000) n");
    try (var victim =
            JvmProcess.start(
                Victim.class, stage.database.jdbcUrl(), stage.database.user(), mode.name());
        var other = stage.database.dataSource().getConnection();
        var statement = other.createStatement()) {
      stage.awaitSoon(() -> stage.effects() > 100);
      other.setAutoCommit(false);
      statement.execute("lock table pgonce.notification in access exclusive mode");
      // Not the stage's waiting, which looks into the table if it is in vain.
      await()
          .atMost(Stage.SOON)
          .untilAsserted(() -> assertThat(waiting()).contains("c.attempts", "i.ready"));
      victim.kill9();
      await().atMost(GONE_WITHIN).untilAsserted(() -> assertThat(waiting()).isEqualTo("null"));
    }
  }

  /** The driver gives up after a second what pgonce would after 30. */
  @Test
  void h55_claimsThatAreGivenUpDoNotPileUpOnTheServer() throws Exception {
    Login.assumePgjdbc("pgjdbc-ng knows no time after which it gives up by itself");
    var channel = Stage.wokenAlways("locked", Mode.EXACTLY_ONCE);
    PgOnce.using(stage.dataSource).install(channel);
    stage.database.execute(
        "select pgonce.publish('locked', json_build_object('id', n, 'item', 'x')) from generate_series(1, 8000) n");
    var impatient = stage.database.dataSource();
    impatient.setSocketTimeout(1);
    var givenUp = new AtomicInteger();
    Observer counting =
        event -> {
          if (event instanceof Event.DatabaseTrouble trouble
              && trouble.channel().equals(channel.name())) {
            givenUp.incrementAndGet();
          }
        };
    try (var other = stage.database.dataSource().getConnection();
        var statement = other.createStatement();
        var pgonce = PgOnce.builder(impatient).wakeUpBy().observer(counting).build()) {
      pgonce.listen(channel, Stage.QUICK.withConcurrency(4), Stage::effect).start();
      stage.awaitSoon(() -> stage.effects() > 100);
      other.setAutoCommit(false);
      statement.execute("lock table pgonce.notification in access exclusive mode");
      await().atMost(Stage.SOON).until(() -> givenUp.get() >= 10);
      // One, and those that were given up since the server last looked.
      assertThat(stage.database.queryLong(WAITING_CLAIMS)).isLessThanOrEqualTo(3);
      other.rollback();
      stage.awaitNothingWaits();
      assertThat(stage.eachOnce(8000)).isTrue();
    }
  }

  private String stateOf(String sql) {
    try {
      stage.database.execute(sql);
      return "none";
    } catch (SQLException e) {
      return e.getSQLState();
    }
  }

  @Test
  void h55_whatAListenerAsksGivesUpWhereTablesAreLocked() throws Exception {
    PgOnce.using(stage.dataSource).install(Channel.of("locked", String.class));
    var subscription =
        stage.database.queryLong("select id from pgonce.subscription where of_channel = 'locked'");
    stage.database.queryLong("select setval('pgonce.gate_locked', 0)"); // closed, for a listener
    var gaveUp = new ConcurrentHashMap<String, String>();
    try (var other = stage.database.dataSource().getConnection();
        var statement = other.createStatement()) {
      other.setAutoCommit(false);
      statement.execute(
          "lock table pgonce.scheduled, pgonce.listener, pgonce.subscription, pgonce.channel, pgonce.rate_limit in access exclusive mode");
      for (var sql : ASKED) {
        new Thread(() -> gaveUp.put(sql, stateOf(sql.formatted(subscription)))).start();
      }
      await().atMost(GONE_WITHIN).untilAsserted(() -> assertThat(gaveUp).containsOnlyKeys(ASKED));
    }
    assertThat(gaveUp.values()).containsOnly("55P03");
  }
}
