package org.pgonce.operations;

import static org.assertj.core.api.Assertions.assertThat;
import static org.pgonce.operations.Stage.ORDERS;
import static org.pgonce.operations.Stage.QUICK;

import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.PgOnce;
import org.pgonce.operations.Explanation.Cause;
import org.pgonce.testkit.PgTest;

/** What waits its turn: for a worker, a connection, or those before it. */
@PgTest(PgOnceInstalled.class)
@Tag("drivers")
@Tag("versions")
class ExplainWorkersTest extends ExplainStage {

  @Test
  void explain_starvedOfWorkers() throws Exception {
    publish(ORDERS);
    listenAndHold(ORDERS, QUICK.withConcurrency(1)).start();
    begun.await();
    var id = publish(ORDERS);
    var answer = explain(ORDERS, id);
    assertThat(answer.cause()).isEqualTo(Cause.STARVED);
    assertThat(answer.detail())
        .startsWith(
            "1 before it, 1 of 1 workers of 1 listeners at work; notification 1 is in the session of server process ")
        .contains("; process ");
    assertThat(answer.advice()).contains("All workers are busy");
  }

  @Tag("all")
  @Test
  void explain_starvedOfConnections() throws Exception {
    try (var pool = stage.database.pooled(2);
        var pgonce = PgOnce.builder(pool).stopTimeout(Duration.ofSeconds(1)).build()) {
      pgonce.listen(ORDERS, QUICK, Stage::effect).start();
      stage.awaitSoon(
          () -> stage.database.queryLong("select count(*) from pgonce.listener_status") == 1);
      // Now the application keeps all connections.
      try (var one = pool.getConnection();
          var two = pool.getConnection()) {
        var id = publish(ORDERS);
        awaitCause(ORDERS, id, Cause.STARVED);
        assertThat(explain(ORDERS, id).advice()).contains("no connection to give");
        assertThat(one.isValid(1) && two.isValid(1)).isTrue();
      }
      stage.awaitSoon(() -> stage.waiting() == 0);
    }
  }

  @Test
  void explain_waitingBehindOthers() throws Exception {
    stage.database.execute(REGISTER.formatted("orders", 4));
    stage.publish(2);
    var id = publish(ORDERS);
    var answer = explain(ORDERS, id);
    assertThat(answer.cause()).isEqualTo(Cause.WAITING);
    assertThat(answer.detail()).isEqualTo("2 before it, 0 of 4 workers of 1 listeners at work");
  }
}
