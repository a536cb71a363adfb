package org.pgonce.operations;

import static org.assertj.core.api.Assertions.assertThat;
import static org.pgonce.operations.Stage.ORDERS;

import java.sql.SQLException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.ChannelOptions;
import org.pgonce.KeyOrder;
import org.pgonce.Mode;
import org.pgonce.PublishOptions;
import org.pgonce.Publisher;
import org.pgonce.operations.Explanation.Cause;
import org.pgonce.operations.Stage.Order;
import org.pgonce.testkit.PgTest;

/** When a cause needs a person that time ends in other cases: a failure, a writer, a rate. */
@PgTest(PgOnceInstalled.class)
@Tag("versions")
class ExplainNeedsPersonTest extends ExplainStage {

  /** As if an attempt of it had failed, with an hour until the next one. */
  private void fail(long id, int attempts, String error) throws SQLException {
    stage.database.execute(
        "with n as (delete from pgonce.notification where subscription_id > 0 and id = %d returning *)"
                .formatted(id)
            + " insert into pgonce.scheduled (subscription_id, id, due_at, attempts, created_at, last_error, payload, order_key)"
            + " select subscription_id, id, now() + interval '1 hour', %d, created_at, '%s', payload, order_key from n"
                .formatted(attempts, error));
  }

  private Explanation first() {
    return operations.explain(ORDERS).get(0);
  }

  @Test
  void aFailureThatComesAgainNeedsAPerson() throws Exception {
    stage.database.execute(REGISTER.formatted("orders", 4));
    var once = publish(ORDERS);
    fail(once, 1, "421");
    assertThat(explain(ORDERS, once).cause()).isEqualTo(Cause.RETRYING);
    assertThat(explain(ORDERS, once).needsPerson()).isFalse();
    assertThat(first().needsPerson()).isFalse();
    var twice = publish(ORDERS);
    fail(twice, 2, "422");
    assertThat(explain(ORDERS, twice).needsPerson()).isTrue();
    assertThat(first().needsPerson()).isTrue();
    assertThat(explain(ORDERS, once).needsPerson()).isFalse();
  }

  @Test
  void anErrorThatSeveralHaveNeedsAPerson() throws Exception {
    stage.database.execute(REGISTER.formatted("orders", 4));
    fail(publish(ORDERS), 1, "421");
    fail(publish(ORDERS), 1, "421");
    assertThat(first().cause()).isEqualTo(Cause.RETRYING);
    assertThat(first().needsPerson()).isTrue();
    // Beside those, something new waits; that alone would need nobody.
    var fresh = publish(ORDERS);
    assertThat(first().cause()).isEqualTo(Cause.WAITING);
    assertThat(first().needsPerson()).isTrue();
    assertThat(first().detail())
        .contains("; besides, 2 have failed and wait for their next attempt, 2 of them with: 421");
    assertThat(explain(ORDERS, fresh).needsPerson()).isFalse();
  }

  @Test
  void whatWaitsBehindAFailureThatComesAgainNeedsAPerson() throws Exception {
    var ordered =
        install(
            "ordered",
            Mode.EXACTLY_ONCE,
            ChannelOptions.DEFAULT.withOrder(KeyOrder.DEAD_LETTER_BLOCKS));
    stage.database.execute(REGISTER.formatted("ordered", 4));
    var keyed = PublishOptions.DEFAULT.withOrderKey("a");
    var first = publish(ordered, keyed);
    var behind = publish(ordered, keyed);
    fail(first, 1, "421");
    assertThat(explain(ordered, behind).cause()).isEqualTo(Cause.BLOCKED_BY);
    assertThat(explain(ordered, behind).detail()).contains("after 1 attempts: 421");
    assertThat(explain(ordered, behind).needsPerson()).isFalse();
    stage.database.execute("update pgonce.scheduled set attempts = 2 where id = " + first);
    assertThat(explain(ordered, behind).needsPerson()).isTrue();
  }

  @Test
  void aWriterThatIsOpenForMoreThanAMinuteNeedsAPerson() throws Exception {
    try (var writer = stage.dataSource.getConnection()) {
      writer.setAutoCommit(false);
      Publisher.standard().publish(writer, ORDERS, new Order(1, "item"));
      assertThat(first().cause()).isEqualTo(Cause.NOT_COMMITTED_YET);
      assertThat(first().needsPerson()).isFalse();
      // In place of the minute: a bound that has passed.
      stage.database.execute(
          "do $$ begin execute replace(pg_get_functiondef('pgonce.explain(text,bigint,text)'::regprocedure), 'interval ''1 minute''', 'interval ''0'''); end $$");
      assertThat(first().needsPerson()).isTrue();
      writer.rollback();
    }
  }

  @Test
  void aRateThatNeedsMoreThanTenMinutesNeedsAPerson() throws Exception {
    var slow = install("slow", Mode.EXACTLY_ONCE, ChannelOptions.DEFAULT.withMaxRate(1));
    stage.database.execute(REGISTER.formatted("slow", 4));
    stage.database.execute(
        "select count(pgonce.publish('slow', '1')) from generate_series(1, 500);"
            + " insert into pgonce.rate_limit select id, clock_timestamp() + interval '1 minute' from pgonce.subscription where of_channel = 'slow'");
    assertThat(operations.explain(slow).get(0).cause()).isEqualTo(Cause.THROTTLED);
    assertThat(operations.explain(slow).get(0).needsPerson()).isFalse();
    stage.database.execute(
        "select count(pgonce.publish('slow', '1')) from generate_series(1, 200)");
    assertThat(operations.explain(slow).get(0).needsPerson()).isTrue();
    // The first of them is through in a minute.
    assertThat(explain(slow, 1).needsPerson()).isFalse();
  }

  @Test
  void whatIsAsItIsDefinedNeedsNobody() {
    var news = install("news", Mode.BROADCAST, ChannelOptions.DEFAULT);
    assertThat(operations.explain(news).get(0).cause()).isEqualTo(Cause.NOT_STORED);
    assertThat(operations.explain(news).get(0).needsPerson()).isFalse();
    assertThat(first().cause()).isEqualTo(Cause.DONE_OR_NEVER);
    assertThat(first().needsPerson()).isFalse();
  }
}
