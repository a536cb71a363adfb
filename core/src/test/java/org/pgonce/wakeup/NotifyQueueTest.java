package org.pgonce.wakeup;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assumptions.assumeTrue;
import static org.pgonce.stage.Stage.ORDERS;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.PgOnce;
import org.pgonce.spi.Event;
import org.pgonce.spi.Observer;
import org.pgonce.stage.Stage;
import org.pgonce.testkit.TestDatabase;
import org.pgonce.testkit.TestServer;

/** H13: the server's NOTIFY queue fills because a session that listens does not read. */
class NotifyQueueTest {

  // 64 pages of 8 kB, where production has a million of them.
  private static final Map<String, String> SMALL = Map.of("max_notify_queue_pages", "64");

  // Changes with each heartbeat.
  private static final String SEEN = "select max(seen_at)::text from pgonce.listener";

  @Tag("all")
  @Test
  void h13_aQueueThatFillsIsWarnedOfAndAFullOneFailsTheWritersCommitAsAWhole() throws Exception {
    try (var shared = TestServer.shared().createDatabase()) {
      assumeTrue(
          shared.queryLong("select current_setting('server_version_num')::bigint") >= 170000,
          "skipped: before PostgreSQL 17 the NOTIFY queue has 8 GB, which no test fills");
    }
    try (var server = TestServer.start(SMALL);
        var database = server.createDatabase();
        var stage = new Stage(database)) {
      var troubles = new CopyOnWriteArrayList<String>();
      var handled = new CopyOnWriteArrayList<Long>();
      stage
          .pgonce(PgOnce.builder(stage.dataSource).observer(recording(troubles)))
          .listen(ORDERS, (order, tx) -> handled.add(order.payload().id()))
          .start();
      try (var deaf = listeningInATransaction(database)) {
        fill(database, 8);
        await()
            .atMost(Stage.SOON)
            .until(() -> troubles.stream().anyMatch(t -> t.contains("NOTIFY queue is ")));
        // Some ten polls later, it is still as full, and said once: it is said each minute.
        var seen = database.queryString(SEEN);
        await().atMost(Stage.SOON).until(() -> !database.queryString(SEEN).equals(seen));
        assertThat(troubles.stream().filter(t -> t.contains("NOTIFY queue is "))).hasSize(1);
        assertThatThrownBy(() -> fill(database, 200))
            .isInstanceOf(SQLException.class)
            .hasMessageContaining("too many notifications in the NOTIFY queue");
        assertThatThrownBy(() -> stage.publish(1)).hasMessageContaining("NOTIFY queue");
        assertThat(database.queryString("select detail from pgonce.explain('orders')"))
            .containsPattern(
                "; the queue of NOTIFY is [0-9]+ % full, and commits that notify fail");
        assertThat(database.queryLong("select count(*) from pgonce.notification where id > 0"))
            .as("nothing is stored without its commit")
            .isEqualTo(
                database.queryLong(
                    "select count(*) from pgonce.notification where subscription_id = 0"));
        deaf.rollback();
      }
      // Who asks how full it is frees what all have read by now: each scan does.
      await()
          .atMost(Stage.SOON)
          .untilAsserted(() -> assertThatCode(() -> stage.publish(1)).doesNotThrowAnyException());
      await().atMost(Stage.SOON).until(() -> handled.equals(List.of(1L)));
    }
  }

  private static Observer recording(List<String> troubles) {
    return event -> {
      if (event instanceof Event.DatabaseTrouble said) {
        troubles.add(said.reason());
      }
    };
  }

  private static Connection listeningInATransaction(TestDatabase database) throws SQLException {
    var connection = database.dataSource().getConnection();
    try (var statement = connection.createStatement()) {
      statement.execute("listen anything");
      connection.setAutoCommit(false);
      statement.execute("select 1");
    }
    return connection;
  }

  /** About so many pages of the queue, each in a transaction of its own. */
  private static void fill(TestDatabase database, int pages) throws SQLException {
    try (var connection = database.dataSource().getConnection();
        var statement = connection.createStatement()) {
      for (var page = 0; page < pages; page++) {
        statement.execute("select pg_notify('nobody', repeat('x', 7900))");
      }
    }
  }
}
