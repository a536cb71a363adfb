package org.pgonce.operations;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.pgonce.operations.Stage.ORDERS;

import java.sql.SQLException;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.pgonce.PgOnceException;
import org.pgonce.testkit.Login;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** What a login with {@code pgonce_monitor} may see, and that it may do nothing. */
@PgTest(PgOnceInstalled.class)
@Tag("versions")
class MonitorRoleTest {

  private Stage stage;
  private Login monitor;

  @BeforeEach
  void open(TestDatabase database) throws SQLException {
    stage = new Stage(database);
    stage.publish(1);
    monitor = database.loginRole("looks", "pgonce_monitor");
  }

  @AfterEach
  void close() {
    stage.close();
  }

  private void run(String sql) throws SQLException {
    try (var connection = monitor.unpooled().getConnection();
        var statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "select * from pgonce.channel_settings",
        "select * from pgonce.channel_status",
        "select * from pgonce.at_work",
        "select * from pgonce.retry_status",
        "select * from pgonce.dead_letter_status",
        "select * from pgonce.listener_status",
        "select * from pgonce.former_listener_status",
        "select * from pgonce.operation_log",
        "select * from pgonce.schema_version",
        "select * from pgonce.explain('orders')",
        "select * from pgonce.explain('orders', 1, 'default')",
        "select * from pgonce.peek('orders')",
        "select * from pgonce.history",
        "select * from pgonce.history_of('orders')"
      })
  void h34_aMonitorMayLook(String sql) throws Exception {
    run(sql);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "select * from pgonce.peek('orders', with_payload => true)",
        "select * from pgonce.history_of('orders', with_payload => true)",
        "select * from pgonce.handled",
        "select * from pgonce.notification",
        "select * from pgonce.scheduled",
        "select * from pgonce.dead_letter",
        "select * from pgonce.listener",
        "select * from pgonce.former_listener",
        "select pgonce.pause('orders', 'x')",
        "select pgonce.resume('orders', 'x')",
        "select pgonce.cancel('orders', 1)",
        "select pgonce.cancel('orders', array[1])",
        "select pgonce.redrive('orders')",
        "select pgonce.redrive('orders', 1)",
        "select pgonce.discard('orders')",
        "select pgonce.discard('orders', 1)",
        "select pgonce.retry_now('orders', 1)",
        "select pgonce.retry_now('orders', array[1])",
        "select pgonce.publish('orders', '1')",
        "select pgonce.adopt('x')",
        "select pgonce.drop_channel('orders', 'x')",
        "select pgonce.install_channel('other', 'EXACTLY_ONCE', 'published')",
        "select pgonce.change_mode('orders', 'AT_LEAST_ONCE')",
        "select pgonce.listener_starts(gen_random_uuid(), 'x', '{}', 'polling', 1000)",
        "select pgonce.take_rate_permits(4097, 1)",
        "insert into pgonce.into_orders (subscription_id, payload) values (4097, '1')",
        "update pgonce.subscription set paused_at = now()",
        "delete from pgonce.operation_log",
        "select pgonce_private.listeners_of(4097)"
      })
  void h34_aMonitorMayDoNothingAndSeesNoPayload(String sql) {
    assertThatThrownBy(() -> run(sql))
        .isInstanceOfSatisfying(
            SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("42501"));
  }

  @Test
  void h34_aMonitorAsksInJavaAndSeesOthersSqlOnlyIfTheServerLetsIt() throws Exception {
    var operations = Operations.over(monitor.unpooled());
    try (var somebody = stage.dataSource.getConnection()) {
      somebody.setAutoCommit(false);
      somebody
          .createStatement()
          .execute("select from pgonce.notification where subscription_id > 0 for update");
      var answer = operations.explain(ORDERS, 1).get(0);
      assertThat(answer.cause()).isEqualTo(Explanation.Cause.AT_WORK);
      assertThat(answer.backendPid()).isNotNull();
      assertThat(answer.lastSql()).isEqualTo("<insufficient privilege>");
      assertThat(answer.detail()).endsWith("may not see without pg_read_all_stats");
      stage.database.execute("grant pg_read_all_stats to \"" + monitor.user() + "\"");
      var allowed = operations.explain(ORDERS, 1).get(0);
      assertThat(allowed.lastSql()).contains("for update");
      assertThat(allowed.since()).isNotNull();
      assertThat(allowed.detail())
          .containsPattern("idle in transaction since 2[^,]*, in its transaction since 2")
          .doesNotContain("last SQL");
      somebody.rollback();
    }
    assertThat(operations.peek(ORDERS, 1)).hasSize(1);
    assertThatThrownBy(() -> operations.peekWithPayloads(ORDERS, 1))
        .isInstanceOf(PgOnceException.class)
        .hasMessageContaining("may not see payloads of channel \"orders\"")
        .hasMessageContaining("GRANT it pgonce_admin");
    assertThatThrownBy(() -> operations.retryNow(ORDERS, List.of(1L), "x"))
        .hasMessageContaining("42501");
  }
}
