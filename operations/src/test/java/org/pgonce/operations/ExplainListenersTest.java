package org.pgonce.operations;

import static org.assertj.core.api.Assertions.assertThat;
import static org.pgonce.operations.Stage.ORDERS;
import static org.pgonce.operations.Stage.QUICK;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.ChannelOptions;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.operations.Explanation.Cause;
import org.pgonce.testkit.PgTest;

/** Nobody listens, or only with an older definition. */
@PgTest(PgOnceInstalled.class)
@Tag("drivers")
@Tag("versions")
class ExplainListenersTest extends ExplainStage {

  @Test
  void explain_outdatedListenersAndInWhat() throws Exception {
    listenAndHold(ORDERS, QUICK).start();
    stage.awaitSoon(() -> stage.database.queryLong("select count(*) from pgonce.listener") == 1);
    install("orders", Mode.EXACTLY_ONCE, ChannelOptions.DEFAULT.withMaxDepth(7));
    var id = publish(ORDERS);
    awaitCause(ORDERS, id, Cause.OUTDATED_LISTENERS);
    assertThat(explain(ORDERS, id).detail())
        .startsWith("installed so at 2")
        .contains("; instance 'pid " + ProcessHandle.current().pid() + "', started at 2")
        .contains(", before that: ")
        .endsWith("maximum depth \"7\", but defined with \"100\"")
        .doesNotContain("\n");
    assertThat(explain(ORDERS, id).advice())
        .contains("or run this:\nSELECT pgonce.install_channel('orders'");
    assertThat(
            stage.database.queryLong(
                "select outdated_listeners from pgonce.channel_status where channel = 'orders'"))
        .isEqualTo(1);
    assertThat(stage.database.queryString("select outdated from pgonce.listener_status"))
        .startsWith("default of orders: ")
        .contains("maximum depth")
        .contains(", installed so at 2");
    stage.database.execute("update pgonce.listener set started_at = now()");
    assertThat(explain(ORDERS, id).detail()).contains(", after that: ");
    PgOnce.using(stage.dataSource).install(ORDERS);
    awaitCause(ORDERS, id, Cause.AT_WORK);
    stage.awaitSoon(
        () ->
            stage.database.queryLong(
                    "select outdated_listeners from pgonce.channel_status where channel = 'orders'")
                == 0);
  }

  @Test
  void explain_outdatedListenersWhereNothingWaits() throws Exception {
    listenAndHold(ORDERS, QUICK).start();
    stage.awaitSoon(() -> stage.database.queryLong("select count(*) from pgonce.listener") == 1);
    install("orders", Mode.EXACTLY_ONCE, ChannelOptions.DEFAULT.withMaxDepth(7));
    stage.awaitSoon(
        () ->
            stage
                .database
                .queryString("select cause from pgonce.explain('orders')")
                .equals("OUTDATED_LISTENERS"));
    var answer = operations.explain(ORDERS).get(0);
    assertThat(answer.needsPerson()).isTrue();
    assertThat(answer.detail()).startsWith("nothing waits; installed so at 2");
    assertThat(answer.advice()).contains("deploy it to these listeners");
  }

  @Test
  void explain_noListenerAndWhoWasHeardFromLast() throws Exception {
    var id = publish(ORDERS);
    assertThat(explain(ORDERS, id).detail()).isEqualTo("no process listens to the subscription");
    stage.database.execute(REGISTER.formatted("orders", 4));
    assertThat(explain(ORDERS, id).cause()).isNotEqualTo(Cause.NO_LISTENER);
    // Its session is gone, and it missed a heartbeat: its silence, of 10 min, is not waited for.
    stage.database.execute(
        "update pgonce.listener set backend = 2147483647, seen_at = now() - interval '4 minutes'");
    var answer = explain(ORDERS, id);
    assertThat(answer.cause()).isEqualTo(Cause.NO_LISTENER);
    assertThat(answer.detail()).contains("instance 'host-7' was heard from last at");
    // Housekeeping takes it off the list, and keeps for a day that it was there.
    stage.database.execute(
        "update pgonce.listener set seen_at = now() - interval '11 minutes';"
            + " select pgonce.keep_house('list of listeners', gen_random_uuid())");
    assertThat(explain(ORDERS, id).detail())
        .contains("; instance 'host-7' from ")
        .contains("heard from last at");
    assertThat(stage.database.queryLong("select count(*) from pgonce.listener_status")).isZero();
    stage.database.execute(
        "update pgonce.former_listener set left_at = now() - interval '25 hours';"
            + " select pgonce.keep_house('list of listeners', gen_random_uuid())");
    assertThat(explain(ORDERS, id).detail()).isEqualTo("no process listens to the subscription");
  }

  /** It misses its heartbeats, and the server has not ended its session. */
  @Test
  void h49_aFrozenListenerIsNotTakenForOneThatIsGone() throws Exception {
    var id = publish(ORDERS);
    stage.database.execute(REGISTER.formatted("orders", 4));
    try (var session = stage.dataSource.getConnection();
        var statement = session.createStatement()) {
      statement.execute(
          "update pgonce.listener set backend = pg_backend_pid(), silence = interval '1 ms'");
      awaitCause(ORDERS, id, Cause.NO_LISTENER);
      var answer = explain(ORDERS, id);
      assertThat(answer.detail()).contains("its LISTEN session is there: it may be frozen");
      assertThat(answer.advice()).startsWith("Look at that process: ");
    }
  }

  @Test
  void explain_noInstancesNameMakesItLookFrozen() throws Exception {
    var id = publish(ORDERS);
    stage.database.execute(
        REGISTER.formatted("orders", 4).replace("host-7", "its LISTEN session is there"));
    stage.database.execute(
        "update pgonce.listener set backend = 2147483647, seen_at = now() - interval '4 minutes'");
    var answer = explain(ORDERS, id);
    assertThat(answer.cause()).isEqualTo(Cause.NO_LISTENER);
    assertThat(answer.advice()).startsWith("Start the service");
  }

  @Test
  void explain_noListenerAndWhoStoppedLast() throws Exception {
    try (var pgonce = PgOnce.builder(stage.dataSource).instance("web-1").build()) {
      pgonce.listen(ORDERS, QUICK, Stage::effect).start();
      stage.awaitSoon(
          () -> stage.database.queryLong("select count(*) from pgonce.listener_status") == 1);
    }
    assertThat(stage.database.queryLong("select count(*) from pgonce.listener_status")).isZero();
    var id = publish(ORDERS);
    assertThat(explain(ORDERS, id).detail())
        .startsWith("no process listens to the subscription; instance 'web-1'")
        .contains(" stopped at 2");
    assertThat(
            stage.database.queryString(
                "select concat_ws(' ', instance, stopped, channels) from pgonce.former_listener_status"))
        .isEqualTo("web-1 t {orders}");
  }

  /** Its LISTEN session stays, and so does its last heartbeat, for a while. */
  @Test
  void explain_aListenerWhoseRoleLostItsRightsIsSaidToHave() throws Exception {
    var id = publish(ORDERS);
    stage.database.execute(
        "update pgonce.notification set created_at = now() - interval '10 s' where subscription_id > 0");
    stage.database.execute(REGISTER.formatted("orders", 4));
    assertThat(explain(ORDERS, id).cause()).isEqualTo(Cause.STARVED);
    assertThat(explain(ORDERS, id).detail()).doesNotContain("rights");
    // A role that is there everywhere, and listens nowhere.
    stage.database.execute("update pgonce.listener set role = 'pg_monitor'");
    var words =
        "; role pg_monitor of instance 'host-7' has not the rights of a listener: GRANT pgonce_listener TO pg_monitor";
    assertThat(explain(ORDERS, id).detail()).endsWith(words);
    stage.database.execute("update pgonce.listener set seen_at = now() - interval '1 hour'");
    assertThat(explain(ORDERS, id).cause()).isEqualTo(Cause.NO_LISTENER);
    assertThat(explain(ORDERS, id).detail()).endsWith(words);
  }

  /** Its attempts may be what ends each process that takes it. */
  @Test
  void explain_whereNobodyListensItsFailuresAreTold() throws Exception {
    var id = publish(ORDERS);
    stage.database.execute(
        """
        insert into pgonce.scheduled (subscription_id, id, due_at, attempts, created_at, payload, token, last_error)
        select subscription_id, id, now(), 3, created_at, payload, gen_random_uuid(), 'it ended' from pgonce.notification where subscription_id > 0;
        delete from pgonce.notification where subscription_id > 0
        """);
    assertThat(explain(ORDERS, id).cause()).isEqualTo(Cause.NO_LISTENER);
    assertThat(explain(ORDERS, id).detail())
        .isEqualTo("no process listens to the subscription; its attempt 3 failed: it ended");
  }
}
