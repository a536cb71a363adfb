package org.pgonce.operations;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.pgonce.operations.Stage.ORDERS;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.Mode;
import org.pgonce.PgOnceException;
import org.pgonce.Publisher;
import org.pgonce.operations.Explanation.Cause;
import org.pgonce.operations.Stage.Order;
import org.pgonce.testkit.PgTest;

/** Why a notification is not there. */
@PgTest(PgOnceInstalled.class)
@Tag("drivers")
@Tag("versions")
class ExplainAbsenceTest extends ExplainStage {

  @Test
  void explain_doneOrNever() throws Exception {
    var id = publish(ORDERS);
    operations.cancel(ORDERS, List.of(id), "for a test");
    assertThat(explain(ORDERS, id).cause()).isEqualTo(Cause.DONE_OR_NEVER);
    assertThat(explain(ORDERS, id).detail()).contains("it was handled, discarded or cancelled");
    var never = explain(ORDERS, id + 1_000_000);
    assertThat(never.cause()).isEqualTo(Cause.DONE_OR_NEVER);
    assertThat(never.detail()).isEqualTo("no notification has this id yet");
    var nothing = operations.explain(ORDERS).get(0);
    assertThat(nothing.cause()).isEqualTo(Cause.DONE_OR_NEVER);
    assertThat(nothing.id()).isNull();
    assertThat(nothing.detail())
        .isEqualTo(
            "nothing waits; no process listens to the subscription; when one was last stored or handled is not known,"
                + " as the channel keeps no history; the last id that any channel was given is "
                + id);
    assertThat(nothing.advice()).contains("pgonce.process").contains("pgonce.operation_log");
  }

  @Test
  void explain_notCommittedYet() throws Exception {
    try (var writer = stage.dataSource.getConnection()) {
      writer.setAutoCommit(false);
      try (var statement = writer.createStatement()) {
        statement.execute("set local application_name = 'import-job'");
      }
      var id = Publisher.standard().publish(writer, ORDERS, new Order(1, "item"));
      var answer = explain(ORDERS, id);
      assertThat(answer.cause()).isEqualTo(Cause.NOT_COMMITTED_YET);
      try (var statement = writer.createStatement();
          var pid = statement.executeQuery("select pg_backend_pid()")) {
        pid.next();
        assertThat(answer.detail())
            .contains(
                "server processes %1$d; process %1$d is import-job, role".formatted(pid.getInt(1)))
            .containsPattern("idle in transaction since 2[^,]*, in its transaction since 2")
            .doesNotContain("last SQL");
        assertThat(answer.advice())
            .contains("pg_terminate_backend(" + pid.getInt(1) + ")")
            .doesNotContain("PREPARED");
        assertThat(
                stage.database.queryString(
                    "select (e.since = a.xact_start)::text from pgonce.explain('orders') e, pg_stat_activity a where a.pid = "
                        + pid.getInt(1)))
            .isEqualTo("true");
      }
      assertThat(operations.explain(ORDERS).get(0).cause()).isEqualTo(Cause.NOT_COMMITTED_YET);
      writer.rollback();
      assertThat(explain(ORDERS, id).cause()).isEqualTo(Cause.DONE_OR_NEVER);
    }
  }

  @Test
  void explain_notCommittedYetAsItIsPrepared() throws Exception {
    var name = "writer of " + stage.database.name();
    try (var writer = stage.dataSource.getConnection()) {
      // Nobody listens, so it does not notify, and may be prepared.
      writer.setAutoCommit(false);
      Publisher.standard().publish(writer, ORDERS, new Order(1, "item"));
      try (var statement = writer.createStatement()) {
        statement.execute("prepare transaction '" + name + "'");
      }
    }
    var answer = operations.explain(ORDERS).get(0);
    assertThat(answer.cause()).isEqualTo(Cause.NOT_COMMITTED_YET);
    assertThat(answer.since()).isNotNull();
    assertThat(answer.detail()).contains("prepared transaction: \"" + name + "\" of role ");
    assertThat(answer.advice())
        .contains("ROLLBACK PREPARED")
        .doesNotContain("pg_terminate_backend");
    stage.database.execute("rollback prepared '" + name + "'");
  }

  /** On a busy channel some listener has always just deleted something. */
  @Test
  void explain_aTransactionThatOnlySettlesHidesNothing() throws Exception {
    var done = publish(ORDERS);
    operations.cancel(ORDERS, List.of(done), "for a test");
    publish(ORDERS);
    try (var settles = stage.dataSource.getConnection()) {
      settles.setAutoCommit(false);
      try (var statement = settles.createStatement()) {
        statement.execute("delete from pgonce.notification where subscription_id > 0");
        assertThat(explain(ORDERS, done).cause()).isEqualTo(Cause.DONE_OR_NEVER);
        // A handler that publishes may hold it, as any writer may.
        Publisher.standard().publish(settles, ORDERS, new Order(2, "item"));
        assertThat(explain(ORDERS, done).cause()).isEqualTo(Cause.NOT_COMMITTED_YET);
      }
      settles.rollback();
    }
  }

  @Test
  void explain_notStoredForAFilter() throws Exception {
    var placed =
        install(
            "placed",
            Mode.EXACTLY_ONCE,
            ChannelOptions.DEFAULT
                .withSubscriptions("all")
                .withSubscription("vip", Map.of("tenant", "vip")));
    var id = publish(placed);
    var answers = operations.explain(placed, id);
    assertThat(answers).extracting(Explanation::subscription).containsExactly("all", "vip");
    assertThat(answers)
        .extracting(Explanation::cause)
        .containsExactly(Cause.NO_LISTENER, Cause.NOT_STORED);
    assertThat(answers.get(1).detail()).contains("{\"tenant\": \"vip\"}").contains("\"all\"");
  }

  @Test
  void explain_notStoredByABroadcast() {
    var news = install("news", Mode.BROADCAST, ChannelOptions.DEFAULT);
    assertThat(operations.explain(news).get(0).cause()).isEqualTo(Cause.NOT_STORED);
    assertThat(operations.explain(news).get(0).detail()).contains("is a BROADCAST");
  }

  @Test
  void explain_anUnknownChannelIsAnError() {
    assertThatThrownBy(() -> operations.explain(Channel.of("nowhere", String.class), 1))
        .isInstanceOf(PgOnceException.class)
        .hasMessageContaining("cannot explain channel nowhere")
        .hasMessageContaining("not installed");
  }
}
