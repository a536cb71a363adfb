package org.pgonce.lifecycle;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.Connection;
import java.time.Duration;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.Publisher;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TappedSource;
import org.pgonce.testkit.TestDatabase;

/** The worker of a handler that is cut off, and who cuts it off, have the same connection. */
@PgTest(PgOnceInstalled.class)
class StopGivesBackTest {

  /** By which threads each was closed. */
  private final Map<Connection, Set<String>> closedBy = new ConcurrentHashMap<>();

  @ParameterizedTest
  @EnumSource(names = {"EXACTLY_ONCE", "AT_LEAST_ONCE"})
  void h85_eachConnectionGoesBackOnceThoughItsHandlerIsCutOff(Mode mode, TestDatabase database)
      throws Exception {
    var stage = new Stage(database);
    var channel = Stage.wokenAlways("cut_off", mode);
    PgOnce.using(stage.dataSource).install(channel);
    var inside = new CountDownLatch(1);
    var pgonce =
        stage.pgonce(
            PgOnce.builder(TappedSource.over(stage.dataSource, new Counting())).wakeUpBy());
    pgonce
        .listen(
            channel,
            Stage.QUICK,
            (order, tx) -> {
              tx.query("select 1", row -> 1);
              inside.countDown();
              new CountDownLatch(1).await();
            })
        .start();
    try (var connection = stage.dataSource.getConnection()) {
      Publisher.standard().publish(connection, channel, new Stage.Order(1, "item"));
    }
    Stage.awaitSoon(inside);
    assertThat(pgonce.stop(Duration.ZERO)).isFalse();
    stage.awaitSoon(
        () ->
            Thread.getAllStackTraces().keySet().stream()
                .noneMatch(thread -> thread.getName().startsWith("pgonce-worker")));
    assertThat(closedBy.values()).isNotEmpty().allMatch(threads -> threads.size() == 1);
    assertThat(stage.waiting()).isEqualTo(1);
  }

  private final class Counting implements TappedSource.Tap {

    @Override
    public String passes(String sql, Connection real) {
      return sql;
    }

    @Override
    public void closes(Connection real) {
      closedBy
          .computeIfAbsent(real, closed -> ConcurrentHashMap.newKeySet())
          .add(Thread.currentThread().getName());
    }
  }
}
