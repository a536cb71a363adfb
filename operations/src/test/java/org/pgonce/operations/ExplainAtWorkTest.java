package org.pgonce.operations;

import static org.assertj.core.api.Assertions.assertThat;
import static org.pgonce.operations.Stage.ORDERS;
import static org.pgonce.operations.Stage.QUICK;

import java.sql.SQLException;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.Mode;
import org.pgonce.operations.Explanation.Cause;
import org.pgonce.testkit.PgTest;

/** What is being handled, by whom, and what holds a handler up. */
@PgTest(PgOnceInstalled.class)
@Tag("drivers")
@Tag("versions")
class ExplainAtWorkTest extends ExplainStage {

  @Test
  void explain_atWorkByWhomAndWithWhichSql() throws Exception {
    var id = publish(ORDERS);
    listenAndHold(ORDERS, QUICK).start();
    begun.await();
    var answer = explain(ORDERS, id);
    assertThat(answer.cause()).isEqualTo(Cause.AT_WORK);
    assertThat(answer.since()).isBefore(Instant.now().plusSeconds(60));
    assertThat(answer.lastSql()).contains("insert into effect");
    assertThat(answer.detail())
        .startsWith("attempt 1")
        .contains("server process " + answer.backendPid());
    // The next heartbeat says whose session that is.
    stage.awaitSoon(() -> explain(ORDERS, id).instance() != null);
    assertThat(explain(ORDERS, id).detail())
        .startsWith(
            "attempt 1, by instance 'pid %d', in the session of server process %d"
                .formatted(ProcessHandle.current().pid(), answer.backendPid()));
    assertThat(
            stage.database.queryLong(
                "select count(*) from pgonce.at_work w join pgonce.listener_status l using (instance)"
                    + " where w.channel = 'orders' and w.id = %d and w.attempt = 1 and w.pid = %d and w.last_sql like 'insert into effect%%'"
                        .formatted(id, answer.backendPid())))
        .isEqualTo(1);
    goOn.countDown();
    awaitCause(ORDERS, id, Cause.DONE_OR_NEVER);
    assertThat(stage.database.queryLong("select count(*) from pgonce.at_work")).isZero();
  }

  @Tag("all")
  @Test
  void explain_atWorkOnALeaseUntilWhen() throws Exception {
    var leased = install("leased", Mode.AT_LEAST_ONCE, ChannelOptions.DEFAULT);
    var id = publish(leased);
    listenAndHold(leased, QUICK).start();
    begun.await();
    var answer = explain(leased, id);
    assertThat(answer.cause()).isEqualTo(Cause.AT_WORK);
    assertThat(answer.until()).isNotNull();
    assertThat(answer.lastSql()).contains("insert into effect");
    stage.awaitSoon(() -> explain(leased, id).instance() != null);
    assertThat(
            stage.database.queryLong(
                "select count(*) from pgonce.at_work where id = %d and leased_until > now()"
                    .formatted(id)))
        .isEqualTo(1);
  }

  /** A second run is what the channel's mode is there to prevent. */
  @Test
  void s4_whatMayHaveBeenDoneIsLookedAtBeforeItRunsAgain() throws Exception {
    var payments = install("payments", Mode.AT_MOST_ONCE, ChannelOptions.DEFAULT);
    var id = publish(payments);
    stage
        .pgonce()
        .listen(
            payments,
            QUICK,
            (order, tx) -> {
              begun.countDown();
              goOn.await();
            })
        .start();
    begun.await();
    assertThat(explain(payments, id).advice())
        .isEqualTo(
            "Wait for the handler or for the end of its lease: then it is a dead letter, OUTCOME_UNKNOWN, and runs no more by itself.");
    stage.database.execute(
        """
        insert into pgonce.dead_letter (subscription_id, id, attempts, created_at, reason, error, payload)
        select id, 1000, 1, now(), 'OUTCOME_UNKNOWN', 'its process ended', '1' from pgonce.subscription where of_channel = 'payments'
        """);
    var look =
        "What is OUTCOME_UNKNOWN may have been done: look there first, as a redrive runs it again. ";
    assertThat(explain(payments, 1000).advice()).startsWith(look + "When ").contains("redrive");
    goOn.countDown();
    stage.awaitSoon(() -> operations.explain(payments).get(0).cause() == Cause.DEAD);
    assertThat(operations.explain(payments).get(0).advice()).startsWith(look).contains("redrive");
  }

  /** Its lease is respected to its end, though the channel has none any more. */
  @Test
  void explain_atWorkOnALeaseFromBeforeTheChannelWasExactlyOnce() throws Exception {
    var leased = install("leased", Mode.AT_LEAST_ONCE, ChannelOptions.DEFAULT);
    var id = publish(leased);
    listenAndHold(leased, QUICK).start();
    begun.await();
    stage.database.execute("select pgonce.change_mode('leased', 'EXACTLY_ONCE')");
    var answer = explain(leased, id);
    assertThat(answer.cause()).isEqualTo(Cause.AT_WORK);
    assertThat(answer.until()).isNotNull();
    assertThat(operations.retryNow(leased, List.of(id), "now")).isZero();
    assertThat(operations.cancel(leased, List.of(id), "not wanted"))
        .isEqualTo(new Operations.Cancelled(0, 1));
    assertThat(wouldCancel(leased, id)).isEqualTo(new Operations.Cancelled(0, 1));
  }

  /** A dry run says what the cancel does. */
  @Test
  void explain_anUnknownOutcomeIsNotCancelled() throws Exception {
    var once = install("once", Mode.AT_MOST_ONCE, ChannelOptions.DEFAULT);
    var id = publish(once);
    // Its process was killed, and no other has seen that yet.
    stage.database.execute(
        """
        with begun as (delete from pgonce.notification where subscription_id > 0 returning *)
        insert into pgonce.scheduled (subscription_id, id, due_at, attempts, created_at, payload, token)
        select subscription_id, id, now() - interval '1 s', 1, created_at, payload, gen_random_uuid() from begun
        """);
    assertThat(wouldCancel(once, id)).isEqualTo(new Operations.Cancelled(0, 1));
    assertThat(operations.cancel(once, List.of(id), "not wanted"))
        .isEqualTo(new Operations.Cancelled(0, 1));
  }

  private Operations.Cancelled wouldCancel(Channel<?> channel, long id) throws SQLException {
    try (var connection = stage.dataSource.getConnection();
        var statement =
            connection.prepareStatement(
                "select cancelled, being_handled from pgonce.would_cancel(?::text, array[?::bigint])")) {
      statement.setString(1, channel.name());
      statement.setLong(2, id);
      var row = statement.executeQuery();
      row.next();
      return new Operations.Cancelled(row.getLong(1), row.getLong(2));
    }
  }

  @Test
  void explain_atWorkInATransactionThatIsNoListeners() throws Exception {
    var id = publish(ORDERS);
    try (var somebody = stage.dataSource.getConnection()) {
      hold(somebody, "select from pgonce.notification where id = " + id + " for update");
      var answer = explain(ORDERS, id);
      assertThat(answer.cause()).isEqualTo(Cause.AT_WORK);
      assertThat(answer.instance()).isNull();
      assertThat(answer.advice()).contains("pg_terminate_backend(" + answer.backendPid() + ")");
      somebody.rollback();
    }
    assertThat(explain(ORDERS, id).cause()).isEqualTo(Cause.NO_LISTENER);
    // To ask leaves no mark, by which a claim would take it for a suspect.
    var other = publish(ORDERS);
    assertThat(explain(ORDERS, other).cause()).isEqualTo(Cause.NO_LISTENER);
    assertThat(
            stage.database.queryString(
                "select xmax::text from pgonce.notification where subscription_id > 0 and id = "
                    + other))
        .isEqualTo("0");
  }
}
