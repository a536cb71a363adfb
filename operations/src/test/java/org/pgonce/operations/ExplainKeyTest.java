package org.pgonce.operations;

import static org.assertj.core.api.Assertions.assertThat;
import static org.pgonce.operations.Stage.QUICK;

import java.sql.SQLException;
import java.util.List;
import java.util.Locale;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.ChannelOptions;
import org.pgonce.KeyOrder;
import org.pgonce.Mode;
import org.pgonce.PublishOptions;
import org.pgonce.operations.Explanation.Cause;
import org.pgonce.testkit.PgTest;

/** What others of the same key hold up. */
@PgTest(PgOnceInstalled.class)
@Tag("drivers")
@Tag("versions")
class ExplainKeyTest extends ExplainStage {

  @Test
  void explain_blockedByADeadLetterOfItsKey() throws Exception {
    var ordered =
        install(
            "ordered",
            Mode.EXACTLY_ONCE,
            ChannelOptions.DEFAULT.withOrder(KeyOrder.DEAD_LETTER_BLOCKS));
    var first = publish(ordered, PublishOptions.DEFAULT.withOrderKey("a"));
    var second = publish(ordered, PublishOptions.DEFAULT.withOrderKey("a"));
    var other = publish(ordered, PublishOptions.DEFAULT.withOrderKey("b"));
    assertThat(explain(ordered, second).blockedBy()).isEqualTo(first);
    assertThat(explain(ordered, first).cause()).isEqualTo(Cause.NO_LISTENER);
    bury(first);
    var answer = explain(ordered, second);
    assertThat(answer.cause()).isEqualTo(Cause.BLOCKED_BY_DEAD);
    assertThat(answer.blockedBy()).isEqualTo(first);
    assertThat(answer.detail())
        .contains("the same order key, \"a\",")
        .contains("a dead letter since")
        .contains("REJECTED: not wanted")
        .endsWith("; 1 wait behind it");
    assertThat(answer.since()).isEqualTo(operations.deadLetters().of(ordered, 1).get(0).diedAt());
    assertThat(answer.advice())
        .startsWith("When what failed is mended: SELECT pgonce.redrive('ordered', " + first);
    assertThat(stage.database.queryString("select order_key from pgonce.dead_letter_status"))
        .isEqualTo("a");
    // The one that is named already is not counted again.
    var asked = operations.explain(ordered).get(0);
    assertThat(asked.cause()).isEqualTo(Cause.BLOCKED_BY_DEAD);
    assertThat(asked.detail()).doesNotContain("besides, dead letters");
    assertThat(explain(ordered, other).cause()).isEqualTo(Cause.NO_LISTENER);
  }

  private void bury(long id) throws SQLException {
    stage.database.execute(
        "select pgonce.bury(n.subscription_id, n.id, 0, null, 1, 'REJECTED', 'not wanted') from pgonce.notification n where n.subscription_id > 0 and n.id = "
            + id);
  }

  @Test
  void explain_blockedByOneOfItsKeyThatIsAtWork() throws Exception {
    var ordered =
        install(
            "ordered",
            Mode.EXACTLY_ONCE,
            ChannelOptions.DEFAULT.withOrder(KeyOrder.DEAD_LETTER_BLOCKS));
    var first = publish(ordered, PublishOptions.DEFAULT.withOrderKey("a"));
    var second = publish(ordered, PublishOptions.DEFAULT.withOrderKey("a"));
    listenAndHold(ordered, QUICK).start();
    begun.await();
    assertThat(explain(ordered, first).cause()).isEqualTo(Cause.AT_WORK);
    var answer = explain(ordered, second);
    assertThat(answer.cause()).isEqualTo(Cause.BLOCKED_BY);
    assertThat(answer.blockedBy()).isEqualTo(first);
  }

  @Test
  void explain_limitedByOthersOfItsKey() throws Exception {
    for (var mode : List.of(Mode.EXACTLY_ONCE, Mode.AT_LEAST_ONCE)) {
      var name = "limited." + mode.name().toLowerCase(Locale.ROOT);
      var limited = install(name, mode, ChannelOptions.DEFAULT.withMaxPerKey(1));
      var keyed = PublishOptions.DEFAULT.withOrderKey("tenant 1");
      var first = publish(limited, keyed);
      var second = publish(limited, keyed);
      listenAndHold(limited, QUICK.withConcurrency(2)).start();
      awaitCause(limited, first, Cause.AT_WORK);
      awaitCause(limited, second, Cause.LIMITED);
      var answer = explain(limited, second);
      assertThat(answer.detail()).startsWith("1 of its key are at work").endsWith(": " + first);
    }
  }
}
