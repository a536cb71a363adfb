package org.pgonce.crash;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.sql.SQLException;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.testkit.JvmProcess;
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
}
