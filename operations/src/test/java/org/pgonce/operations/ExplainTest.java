package org.pgonce.operations;

import static org.assertj.core.api.Assertions.assertThat;
import static org.pgonce.operations.Stage.ORDERS;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.PublishOptions;
import org.pgonce.operations.Explanation.Cause;
import org.pgonce.testkit.PgTest;

/**
 * What a question for the cause is like, and what it costs. The causes are in the tests beside
 * this.
 */
@PgTest(PgOnceInstalled.class)
@Tag("drivers")
@Tag("versions")
class ExplainTest extends ExplainStage {

  @Test
  void example_askWhyAndDoWhatTheAnswerSays() throws Exception {
    var id = publish(ORDERS, PublishOptions.DEFAULT.withDelay(Duration.ofHours(6)));
    operations.pause(ORDERS, "mail server is down");

    var paused = operations.explain(ORDERS, id).get(0);
    assertThat(paused.cause()).isEqualTo(Cause.PAUSED);
    assertThat(paused.detail()).isEqualTo("paused by Anna: mail server is down");
    assertThat(paused.advice()).contains("pgonce.resume('orders'");
    operations.resume(ORDERS, "it is back");

    var scheduled = operations.explain(ORDERS, id).get(0);
    assertThat(scheduled.cause()).isEqualTo(Cause.SCHEDULED);
    assertThat(scheduled.until()).isAfter(Instant.now().plus(Duration.ofHours(5)));
    assertThat(operations.retryNow(ORDERS, List.of(id, 999_999L), "they call")).isEqualTo(1);

    assertThat(operations.explain(ORDERS, id).get(0).cause()).isEqualTo(Cause.NO_LISTENER);
    assertThat(
            stage.database.queryString(
                "select concat_ws(' ', what, operator, reason, concerned) from pgonce.operation_log order by id desc limit 1"))
        .isEqualTo("RETRY_NOW Anna they call 1");
  }

  @Test
  void explain_whatNoTimeEndsHasNoEnd() throws Exception {
    var id = publish(ORDERS);
    assertThat(explain(ORDERS, id).cause()).isEqualTo(Cause.NO_LISTENER);
    assertThat(explain(ORDERS, id).until()).isNull();
    assertThat(explain(ORDERS, id + 1).until()).isNull();
  }

  /** It reads beside whatever is locked, and in a transaction that may only read. */
  @Test
  void explain_waitsForNobodyAndWritesNothing() throws Exception {
    var id = publish(ORDERS);
    try (var somebody = stage.dataSource.getConnection();
        var reader = stage.dataSource.getConnection()) {
      hold(
          somebody,
          "lock table pgonce.notification, pgonce.scheduled, pgonce.subscription in exclusive mode");
      reader.setAutoCommit(false);
      try (var statement = reader.createStatement()) {
        statement.execute("set transaction read only; set local lock_timeout = '1s'");
        try (var row =
            statement.executeQuery("select cause from pgonce.explain('orders', " + id + ")")) {
          row.next();
          assertThat(row.getString(1)).isEqualTo("NO_LISTENER");
        }
        try (var row = statement.executeQuery("select count(*) from pgonce.at_work")) {
          row.next();
          assertThat(row.getLong(1)).isZero();
        }
      }
      reader.rollback();
      somebody.rollback();
    }
  }

  /** Ten thousand wait, and some are held: it answers in a moment all the same. */
  @Test
  void explain_isCheapAmidABacklog() throws Exception {
    stage.database.execute(
        "insert into pgonce.notification (subscription_id, payload) select s.id, '1' from pgonce.subscription s, generate_series(1, 100000) where s.of_channel = 'orders'");
    stage.database.execute(REGISTER.formatted("orders", 4));
    var last =
        stage.database.queryLong(
            "select max(id) from pgonce.notification where subscription_id > 0");
    assertThat(explain(ORDERS, last).detail()).startsWith("at least 10000 before it");
    var best = Long.MAX_VALUE;
    for (var i = 0; i < 5; i++) {
      var from = System.nanoTime();
      explain(ORDERS, last);
      best = Math.min(best, System.nanoTime() - from);
    }
    assertThat(Duration.ofNanos(best)).isLessThan(Duration.ofMillis(500));
  }
}
