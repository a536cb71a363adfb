package org.pgonce.crash;

import static org.awaitility.Awaitility.await;

import java.sql.SQLException;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.stage.ListenerProcess;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
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
      "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";

  private Stage stage;

  @BeforeEach
  void open(TestDatabase database) throws SQLException {
    stage = new Stage(database);
  }

  @AfterEach
  void close() {
    stage.close();
  }

  private long waiting() throws SQLException {
    return stage.database.queryLong(WAITING);
  }

  @Test
  void h55_aListenerKilledWhileItsClaimsWaitForTheTableLeavesNoSession() throws Exception {
    stage.publish(20_000);
    try (var victim = ListenerProcess.start(stage.database);
        var other = stage.database.dataSource().getConnection();
        var statement = other.createStatement()) {
      stage.awaitSoon(() -> stage.effects() > 100);
      other.setAutoCommit(false);
      statement.execute("lock table pgonce.notification in access exclusive mode");
      // Not the stage's waiting, which looks into the table if it is in vain.
      await().atMost(Stage.SOON).until(() -> waiting() > 1); // a claim, and the poll
      victim.kill9();
      await().atMost(GONE_WITHIN).until(() -> waiting() == 0);
    }
  }
}
