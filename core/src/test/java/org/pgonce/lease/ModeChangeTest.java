package org.pgonce.lease;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.Channel;
import org.pgonce.PgOnce;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.stage.Stage.Order;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** A channel that stops being stored, or to be, leaves nothing behind that nobody looks at. */
@PgTest(PgOnceInstalled.class)
class ModeChangeTest {

  private static final String TO_BROADCAST = "select pgonce.change_mode('orders', 'BROADCAST')";
  private static final String DROP = "select pgonce.drop_channel('orders')";
  private static final String PUBLISH = "select pgonce.publish('orders', '{\"id\": 1}')";

  private Stage stage;

  @BeforeEach
  void open(TestDatabase database) throws SQLException {
    stage = new Stage(database);
  }

  @AfterEach
  void close() throws SQLException {
    stage.close();
  }

  @Test
  void aPublisherThatHasNotCommittedIsWaitedFor() throws Exception {
    try (var publisher = transaction()) {
      execute(publisher, PUBLISH);
      var change = inBackground(TO_BROADCAST);
      awaitALockWait();
      publisher.commit();
      assertThat(change.join()).contains("still holds 1");
    }
  }

  @Tag("all")
  @Test
  void aPublisherThatDoesNotCommitIsNotWaitedForLong() throws Exception {
    PgOnce.using(stage.dataSource).install(Channel.of("other", Order.class));
    try (var publisher = transaction()) {
      execute(publisher, PUBLISH);
      execute(publisher, PUBLISH.replace("orders", "other"));
      // Each gives up after 16 s.
      var change = inBackground(TO_BROADCAST);
      var drop = inBackground(DROP.replace("orders", "other"));
      assertThat(change.join())
          .contains("cannot change the mode of channel \"orders\" now")
          .contains("nothing was changed");
      assertThat(drop.join()).contains("cannot drop channel \"other\" now");
      publisher.commit();
    }
    assertThat(
            stage.database.queryLong(
                "select count(*) from pgonce.notification where subscription_id > 0"))
        .isEqualTo(2);
  }

  @Test
  void whoPublishesMeanwhileFindsTheNewMode() throws Exception {
    try (var admin = transaction()) {
      execute(admin, TO_BROADCAST);
      var publisher = inBackground(PUBLISH);
      awaitALockWait();
      admin.commit();
      assertThat(publisher.join()).as("it was broadcast").isEmpty();
    }
    assertThat(
            stage.database.queryLong(
                "select count(*) from pgonce.notification where subscription_id > 0"))
        .isZero();
  }

  @Test
  void whoPublishesWhileItsChannelIsDroppedLeavesNothingBehind() throws Exception {
    try (var admin = transaction()) {
      execute(admin, DROP);
      var publisher = inBackground(PUBLISH);
      awaitALockWait();
      admin.commit();
      assertThat(publisher.join()).contains("channel \"orders\" is not installed");
    }
    assertThat(
            stage.database.queryLong(
                "select count(*) from pgonce.notification where subscription_id > 0"))
        .isZero();
  }

  @Test
  void deadLettersWaitToo() throws Exception {
    stage.database.execute(
        "insert into pgonce.dead_letter select s.id, 1, now(), 1, now(), 'REJECTED', 'x', '{}' from pgonce.subscription s where s.of_channel = 'orders'");
    assertThatThrownBy(() -> stage.database.execute(TO_BROADCAST))
        .hasMessageContaining("still holds 1")
        .hasMessageContaining("dead letters");
  }

  /** Whoever finds them looks into the log for why. */
  @Test
  void ops_theLogSaysHowManyDeadLettersAChangeOfTheModeHasMade() throws Exception {
    var begun =
        "insert into pgonce.scheduled (subscription_id, id, due_at, attempts, created_at, payload, token)"
            + " select s.id, g, now() + interval '1 hour', 1, now(), '{}', %s from pgonce.subscription s, generate_series(%d, %d) g where s.of_channel = 'orders'";
    stage.database.execute(begun.formatted("null", 1, 2));
    stage.database.execute("select pgonce.change_mode('orders', 'AT_MOST_ONCE')");
    stage.database.execute(begun.formatted("gen_random_uuid()", 3, 5));
    stage.database.execute("select pgonce.change_mode('orders', 'AT_LEAST_ONCE')");
    stage.database.execute("select pgonce.change_mode('orders', 'EXACTLY_ONCE')");
    assertThat(stage.deadLetters()).isEqualTo(5);
    assertThat(
            stage.database.queryString(
                "select string_agg(concat_ws(' ', concerned, detail), E'\\n' order by id) from pgonce.operation_log where what = 'CHANGE_MODE'"))
        .isEqualTo(
            """
            2 EXACTLY_ONCE to AT_MOST_ONCE, which made 2 dead letters of what had begun
            3 AT_MOST_ONCE to AT_LEAST_ONCE, which made 3 dead letters of what had begun
            0 AT_LEAST_ONCE to EXACTLY_ONCE""");
  }

  private Connection transaction() throws SQLException {
    var connection = stage.database.dataSource().getConnection();
    connection.setAutoCommit(false);
    return connection;
  }

  private static void execute(Connection connection, String sql) throws SQLException {
    try (var statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }

  /** Completes with the message of its failure, or with nothing. */
  private CompletableFuture<String> inBackground(String sql) {
    return CompletableFuture.supplyAsync(
        () -> {
          try {
            stage.database.execute(sql);
            return "";
          } catch (SQLException e) {
            return e.getMessage();
          }
        });
  }

  private void awaitALockWait() {
    await()
        .atMost(Stage.SOON)
        .until(
            () ->
                stage.database.queryLong(
                        "select count(*) from pg_locks where not granted and database = (select oid from pg_database where datname = current_database())")
                    > 0);
  }
}
