package org.pgonce.handler;

import static org.assertj.core.api.Assertions.assertThat;
import static org.pgonce.stage.Stage.QUICK;
import static org.pgonce.stage.Stage.SOON;

import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.Publisher;
import org.pgonce.spi.ListenAddress;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.stage.Stage.Order;
import org.pgonce.testkit.FaultProxy;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TappedSource;
import org.pgonce.testkit.TestDatabase;
import org.pgonce.testkit.Trap;

/** Where the answer to the commit is lost, nobody may say that it is committed, or is not. */
@PgTest(PgOnceInstalled.class)
@Tag("drivers")
class AfterLostCommitTest {

  private final List<String> ends = new CopyOnWriteArrayList<>();

  @ParameterizedTest
  @EnumSource(Mode.class)
  void acknowledgedAndLostItIsUnknown(Mode mode, TestDatabase database) throws Exception {
    lost(mode, database, true);
    // It took effect, so no further run follows.
    assertThat(ends).containsExactly("1 UNKNOWN");
  }

  @ParameterizedTest
  @EnumSource(
      mode = EnumSource.Mode.EXCLUDE,
      names = {"BROADCAST", "AT_MOST_ONCE"})
  void neverSentAndLostItIsUnknownToo(Mode mode, TestDatabase database) throws Exception {
    lost(mode, database, false);
    assertThat(ends).containsExactly("1 UNKNOWN", "2 commit", "2 COMMITTED");
  }

  /** An Error of the driver tells as little of the commit as a lost connection does. */
  @ParameterizedTest
  @EnumSource(names = {"EXACTLY_ONCE", "AT_LEAST_ONCE"})
  void whereTheCommitThrowsAnErrorItIsUnknownToo(Mode mode, TestDatabase database)
      throws Exception {
    var thrown = new AtomicBoolean();
    try (var stage = new Stage(database)) {
      var source =
          TappedSource.over(
              stage.dataSource,
              (sql, real) -> {
                if (sql.contains("DELETE FROM pgonce.") && !thrown.getAndSet(true)) {
                  throw new LinkageError("as if");
                }
                return sql;
              });
      var channel = Stage.wokenAlways("lost", mode);
      stage
          .pgonce(PgOnce.builder(source).wakeUpBy())
          .install(channel)
          .listen(
              channel,
              QUICK.withConcurrency(1),
              (order, tx) -> {
                tx.afterCompletion(outcome -> ends.add(order.attempt() + " " + outcome));
                Stage.effect(order, tx);
              })
          .start();
      try (var connection = stage.dataSource.getConnection()) {
        Publisher.standard().publish(connection, channel, new Order(1, "item"));
      }
      stage.awaitSoon(() -> ends.size() == 2);
      assertThat(ends).containsExactly("1 UNKNOWN", "2 COMMITTED");
    }
  }

  private void lost(Mode mode, TestDatabase database, boolean arrives) throws Exception {
    try (var stage = new Stage(database);
        var proxy = FaultProxy.to(database);
        var pool = database.login().through(proxy).pooled(2)) {
      var channel = Stage.wokenAlways("lost", mode);
      var direct =
          new ListenAddress(
              database.host(), database.port(), database.name(), database.user(), null, Map.of());
      stage
          .pgonce(PgOnce.builder(pool).listenAddress(direct))
          .install(channel)
          .listen(
              channel,
              QUICK.withConcurrency(1),
              (order, tx) -> {
                tx.afterCompletion(outcome -> ends.add(order.attempt() + " " + outcome));
                tx.afterCommit(() -> ends.add(order.attempt() + " commit"));
                Stage.effect(order, tx);
              })
          .start();
      var commit = trap(mode, proxy, arrives);
      try (var connection = stage.dataSource.getConnection()) {
        Publisher.standard().publish(connection, channel, new Order(1, "item"));
      }
      commit.awaitSprung(SOON);
      stage.awaitSoon(() -> stage.effects() == 1 && ends.size() == (arrives ? 1 : 3));
      stage.awaitNothingWaits();
    }
  }

  private static Trap trap(Mode mode, FaultProxy proxy, boolean arrives) {
    var before =
        proxy.after(
            switch (mode) {
              case EXACTLY_ONCE -> "DELETE FROM pgonce.notification";
              case BROADCAST -> "pgonce.depth";
              default -> "DELETE FROM pgonce.scheduled";
            });
    return arrives ? before.cutAfterForwarding("COMMIT") : before.cutBeforeForwarding("COMMIT");
  }
}
