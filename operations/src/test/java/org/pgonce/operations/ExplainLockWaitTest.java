package org.pgonce.operations;

import static org.assertj.core.api.Assertions.assertThat;
import static org.pgonce.operations.Stage.ORDERS;
import static org.pgonce.operations.Stage.QUICK;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.operations.Explanation.Cause;
import org.pgonce.testkit.PgTest;

/** A handler waits for a lock: who holds it, and what waits behind the handler. */
@PgTest(PgOnceInstalled.class)
@Tag("drivers")
@Tag("versions")
class ExplainLockWaitTest extends ExplainStage {

  /** The handler is the victim: to end it does not help. */
  @Test
  void explain_lockWaitNamesWhoHoldsTheLockAndNotTheVictim() throws Exception {
    try (var nightly = stage.dataSource.getConnection()) {
      var holder = lockEffects(nightly);
      var first = publish(ORDERS);
      var second = publish(ORDERS);
      listenAndHold(ORDERS, QUICK.withConcurrency(1)).start();
      awaitCause(ORDERS, first, Cause.LOCK_WAIT);
      var answer = explain(ORDERS, first);
      assertThat(answer.since()).isBefore(Instant.now());
      assertThat(answer.detail())
          .contains(
              "for a lock on table public.effect, held by server process "
                  + holder
                  + " in mode ShareLock (1 wait behind it); ")
          .contains("process " + holder + " is nightly-report, role ")
          .containsPattern(
              "idle in transaction since 2[^,]*, in its transaction since 2[^,]*, its last SQL: select pg_backend_pid\\(\\)$");
      assertThat(answer.advice())
          .contains("pg_terminate_backend(" + holder + ")")
          .contains("To end " + answer.backendPid() + " does not help");
      assertThat(
              stage.database.queryString(
                  "select concat_ws(' ', wait_event_type, waits_for, blocked_by_pid) from pgonce.at_work"))
          .isEqualTo("Lock a lock on table public.effect " + holder);
      // What waits behind it is told the same, and its own last error.
      stage.database.execute(
          "with n as (delete from pgonce.notification where subscription_id > 0 and id = %d returning *)"
                  .formatted(second)
              + " insert into pgonce.scheduled (subscription_id, id, due_at, attempts, created_at, last_error, payload)"
              + " select subscription_id, id, now(), 1, created_at, 'canceled', payload from n");
      var behind = explain(ORDERS, second);
      assertThat(behind.cause()).isEqualTo(Cause.STARVED);
      assertThat(behind.detail())
          .contains("notification " + first + " is in the session of server process ")
          .contains("held by server process " + holder)
          .contains("its last attempt failed: canceled")
          .contains("nightly-report");
      assertThat(behind.advice()).contains("pg_terminate_backend(" + holder + ")");
      nightly.rollback();
    }
  }

  /** Some wait for the lock itself, and others for those. */
  @Test
  void explain_lockWaitSaysHowManyWaitBehindIt() throws Exception {
    var threads = Executors.newCachedThreadPool();
    try (var nightly = stage.dataSource.getConnection()) {
      var holder = lockEffects(nightly);
      var id = publish(ORDERS);
      listenAndHold(ORDERS, QUICK.withConcurrency(1)).start();
      awaitCause(ORDERS, id, Cause.LOCK_WAIT);
      var behindTheHandler = "select from pgonce.notification where id = %d for update";
      for (var sql :
          List.of("truncate effect", "truncate effect", behindTheHandler.formatted(id))) {
        var unused =
            threads.submit(
                () -> {
                  stage.database.execute(sql);
                  return null;
                });
      }
      stage.awaitSoon(
          () ->
              explain(ORDERS, id)
                  .detail()
                  .contains(holder + " in mode ShareLock (4 wait behind it)"));
      nightly.rollback();
      stage.awaitSoon(() -> explain(ORDERS, id).cause() == Cause.AT_WORK);
    } finally {
      threads.shutdownNow();
    }
  }

  private static int lockEffects(Connection nightly) throws SQLException {
    hold(nightly, "set local application_name = 'nightly-report'; lock table effect in share mode");
    return pidOf(nightly);
  }

  private static int pidOf(Connection connection) throws SQLException {
    try (var statement = connection.createStatement();
        var row = statement.executeQuery("select pg_backend_pid()")) {
      row.next();
      return row.getInt(1);
    }
  }
}
