package org.pgonce.operations;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.pgonce.operations.Stage.ORDERS;

import java.sql.SQLException;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.pgonce.operations.Operations.Waiting;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** What an operator does in SQL to one id, or to the dead letters that fit. */
@PgTest(PgOnceInstalled.class)
class RetryAndFilterTest {

  private static final String LAST_LOGGED =
      "select concat_ws(' ', what, subscription, reason, concerned, detail) from pgonce.operation_log order by id desc limit 1";
  private static final String LEFT =
      "select string_agg(id::text, ' ' order by id) from pgonce.dead_letter";

  private Stage stage;
  private TestDatabase database;

  @BeforeEach
  void open(TestDatabase database) throws SQLException {
    this.database = database;
    this.stage = new Stage(database);
  }

  @AfterEach
  void close() {
    stage.close();
  }

  /** Ids 1 to 6: each second one was rejected; one died each day, the last one now. */
  private void bury() throws SQLException {
    database.execute(
        """
        insert into pgonce.dead_letter (subscription_id, id, died_at, attempts, created_at, reason, error, payload)
        select s.id, n, now() - (6 - n) * interval '1 day', 1, now(), case when n % 2 = 0 then 'REJECTED' else 'ATTEMPTS_USED_UP' end,
               'mail server says 42' || n, '{}'
          from pgonce.subscription s, generate_series(1, 6) n where s.of_channel = 'orders'
        """);
  }

  @Test
  void example_redriveAndDiscardByReasonErrorAndTime() throws Exception {
    bury();
    assertThat(
            database.queryLong(
                "select pgonce.redrive('orders', reason => 'it is back', died_of => 'REJECTED', died_before => now() - interval '36 hours')"))
        .isEqualTo(2);
    assertThat(database.queryString(LEFT)).isEqualTo("1 3 5 6");
    assertThat(database.queryString(LAST_LOGGED))
        .startsWith("REDRIVE it is back 2 died of REJECTED, died before ");

    assertThat(
            database.queryLong(
                "select pgonce.discard('orders', reason => 'no such mailbox', error_like => '%425')"))
        .isEqualTo(1);
    assertThat(database.queryString(LEFT)).isEqualTo("1 3 6");
    assertThat(database.queryString(LAST_LOGGED))
        .isEqualTo("DISCARD no such mailbox 1 error like '%425'");

    assertThat(
            database.queryLong(
                "select pgonce.discard('orders', array[3, 6], died_from => now() - interval '36 hours')"))
        .isEqualTo(1);
    assertThat(database.queryString(LEFT)).isEqualTo("1 3");
    assertThatThrownBy(
            () -> database.execute("select pgonce.redrive('orders', died_of => 'BAD LUCK')"))
        .hasMessageContaining("no dead letter of channel \"orders\" has the reason \"BAD LUCK\"");
  }

  @Test
  void ops_oneIdIsRedrivenDiscardedAndCancelled() throws Exception {
    bury();
    assertThat(database.queryLong("select pgonce.redrive('orders', 1, 'why')")).isEqualTo(1);
    assertThat(database.queryLong("select pgonce.discard('orders', 2, 'why', 'default')"))
        .isEqualTo(1);
    assertThat(database.queryString(LEFT)).isEqualTo("3 4 5 6");
    assertThat(database.queryLong("select cancelled from pgonce.cancel('orders', 1, 'why')"))
        .isEqualTo(1);
    assertThat(stage.waiting()).isZero();
    for (var call :
        List.of(
            "redrive('orders', null::bigint)",
            "discard('orders', null::bigint)",
            "cancel('orders', null::bigint)",
            "retry_now('orders', null::bigint)")) {
      assertThatThrownBy(() -> database.execute("select pgonce." + call))
          .hasMessageContaining("the id is null");
    }
    assertThat(database.queryString(LEFT)).isEqualTo("3 4 5 6");
  }

  @Test
  void ops_whatWaitsForItsTimeIsDueNowAndWhatIsHeldIsPassedOver() throws Exception {
    stage.publish(4);
    var operations = Operations.over(stage.dataSource).by("Anna");
    var ids = operations.peek(ORDERS, 10).stream().map(Waiting::id).toList();
    var later =
        "select pgonce.schedule((select id from pgonce.subscription), %d, 0, null, %d, null, 3600000, 'x')";
    database.execute(later.formatted(ids.get(0), 1));
    database.execute(later.formatted(ids.get(1), 0));
    database.execute(later.formatted(ids.get(2), 1));
    try (var holder = stage.dataSource.getConnection()) {
      holder.setAutoCommit(false);
      holder
          .createStatement()
          .execute("select from pgonce.scheduled where id = %d for update".formatted(ids.get(2)));
      assertThat(operations.retryNow(ORDERS, ids, "now")).isEqualTo(2);
      holder.rollback();
    }
    assertThat(database.queryString(LAST_LOGGED)).isEqualTo("RETRY_NOW now 2");
    assertThat(
            database.queryLong(
                "select count(*) from pgonce.scheduled where subscription_id > 0 and due_at <= now() and xmax = '0'"))
        .isEqualTo(2);
    // Nor is what an attempt has that was counted, and is about to begin.
    database.execute(
        "select pgonce.schedule((select id from pgonce.subscription), %d, 0, null, 1, gen_random_uuid(), 3600000, 'x')"
            .formatted(ids.get(3)));
    assertThat(operations.retryNow(ORDERS, List.of(ids.get(3)), "now")).isZero();
    // A lease is nobody's to shorten.
    database.execute("select pgonce.change_mode('orders', 'AT_LEAST_ONCE')");
    database.execute(
        "update pgonce.scheduled set token = gen_random_uuid() where id = " + ids.get(2));
    assertThat(
            database.queryLong(
                "select pgonce.retry_now('orders', %d, 'now')".formatted(ids.get(2))))
        .isZero();
    assertThat(
            database.queryLong(
                "select pgonce.retry_now('orders', %d, 'now', 'default')".formatted(ids.get(3))))
        .isZero();
    assertThatThrownBy(() -> database.execute("select pgonce.retry_now('orders', null::bigint[])"))
        .hasMessageContaining("Give ids");
  }
}
