package org.pgonce.operations;

import static org.assertj.core.api.Assertions.assertThat;
import static org.pgonce.operations.Stage.ORDERS;
import static org.pgonce.operations.Stage.QUICK;

import java.time.Instant;
import java.util.ArrayList;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.ChannelOptions;
import org.pgonce.Mode;
import org.pgonce.operations.Explanation.Cause;
import org.pgonce.testkit.PgTest;

/** What a person or a definition holds back: pause, rate, a copy of a database. */
@PgTest(PgOnceInstalled.class)
@Tag("drivers")
@Tag("versions")
class ExplainHeldBackTest extends ExplainStage {

  @Test
  void explain_pausedByWhomAndWhy() throws Exception {
    var id = publish(ORDERS);
    operations.pause(ORDERS, "the warehouse moves");
    var answer = explain(ORDERS, id);
    assertThat(answer.cause()).isEqualTo(Cause.PAUSED);
    assertThat(answer.detail()).isEqualTo("paused by Anna: the warehouse moves");
    assertThat(answer.since()).isNotNull();
  }

  @Test
  void explain_throttledUntil() throws Exception {
    var slow = install("slow", Mode.EXACTLY_ONCE, ChannelOptions.DEFAULT.withMaxRate(1));
    var ids = new ArrayList<Long>();
    for (var i = 0; i < 60; i++) {
      ids.add(publish(slow));
    }
    stage.pgonce().listen(slow, QUICK, Stage::effect).start();
    var last = ids.get(59);
    awaitCause(slow, last, Cause.THROTTLED);
    stage.awaitSoon(
        () -> {
          var answer = explain(slow, last);
          return answer.cause() == Cause.THROTTLED
              && answer.detail().startsWith("1 a second begin")
              && answer.detail().contains(" wait in all, which takes 00:00:")
              && answer.detail().contains(" at that rate, installed so at 2")
              && answer.until().isAfter(answer.createdAt().plusSeconds(10));
        });
    // Of the first in line: until all are through.
    assertThat(operations.explain(slow).get(0).until()).isAfter(Instant.now().plusSeconds(10));
  }

  @Test
  void explain_copyNotAdopted() throws Exception {
    var id = publish(ORDERS);
    stage.database.execute("update pgonce.installation set home = '1 elsewhere'");
    var answer = explain(ORDERS, id);
    assertThat(answer.cause()).isEqualTo(Cause.COPY_NOT_ADOPTED);
    assertThat(answer.detail()).contains("is a copy");
    operations.adopt("for a test");
    assertThat(explain(ORDERS, id).cause()).isEqualTo(Cause.NO_LISTENER);
  }
}
