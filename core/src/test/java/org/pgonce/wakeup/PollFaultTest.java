package org.pgonce.wakeup;

import static org.assertj.core.api.Assertions.assertThat;
import static org.pgonce.stage.Stage.ORDERS;
import static org.pgonce.stage.Stage.QUICK;

import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.pgonce.PgOnce;
import org.pgonce.spi.Event;
import org.pgonce.stage.Events;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TappedSource;
import org.pgonce.testkit.TestDatabase;

@PgTest(PgOnceInstalled.class)
class PollFaultTest {

  /** As pgjdbc-ng throws where its connection has ended. */
  @Test
  void h60_aPollThatFailsByAnUncheckedExceptionIsToldOfAndTriedAgain(TestDatabase database)
      throws Exception {
    var polls = new AtomicInteger();
    TappedSource.Tap breaks =
        (sql, real) -> {
          if (sql.contains("FROM pgonce.poll(") && polls.getAndIncrement() == 0) {
            throw new IllegalStateException("the driver broke");
          }
          return sql;
        };
    var events = new Events();
    try (var stage = new Stage(database);
        var pgonce =
            PgOnce.builder(TappedSource.over(stage.dataSource, breaks))
                .wakeUpBy()
                .observer(events)
                .build()) {
      pgonce.listen(ORDERS, QUICK, Stage::effect).start();
      stage.publish(1);
      stage.awaitSoon(() -> stage.effects() == 1);
      assertThat(events.of(Event.DatabaseTrouble.class))
          .anySatisfy(trouble -> assertThat(trouble.toString()).contains("the driver broke"));
    }
  }
}
