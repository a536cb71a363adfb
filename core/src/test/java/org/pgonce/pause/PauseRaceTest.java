package org.pgonce.pause;

import static org.assertj.core.api.Assertions.assertThat;
import static org.pgonce.stage.Stage.ORDERS;
import static org.pgonce.stage.Stage.QUICK;
import static org.pgonce.stage.Stage.SOON;

import com.zaxxer.hikari.HikariDataSource;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.Channel;
import org.pgonce.ListenOptions;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.Publisher;
import org.pgonce.spi.ListenAddress;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.testkit.FaultProxy;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** H86: a pause, or its end, in the middle of a claim or a scan that the server has answered. */
@PgTest(PgOnceInstalled.class)
@Tag("drivers")
class PauseRaceTest {

  /** Of the same listener, and never paused: what is published here last is heard last. */
  private static final Channel<Integer> WITNESS = Channel.of("witness", Integer.class);

  private final List<Integer> witnessed = new CopyOnWriteArrayList<>();
  private Stage stage;
  private FaultProxy proxy;
  private HikariDataSource pool;

  @BeforeEach
  void open(TestDatabase database) throws SQLException {
    stage = new Stage(database);
    PgOnce.using(stage.dataSource).install(WITNESS);
    proxy = FaultProxy.to(database);
    pool = database.login().through(proxy).pooled(6);
  }

  @AfterEach
  void close() {
    stage.close();
    pool.close();
    proxy.close();
  }

  /** Its pool goes by way of the proxy, its ears do not; and no scan comes by itself. */
  private PgOnce listener() throws SQLException {
    var address =
        new ListenAddress(
            stage.database.host(),
            stage.database.port(),
            stage.database.name(),
            stage.database.user(),
            null,
            Map.of());
    return PgOnce.builder(pool)
        .listenAddress(address)
        .pollInterval(Duration.ofHours(1))
        .stopTimeout(Duration.ofSeconds(2))
        .build()
        .listen(WITNESS, (number, tx) -> witnessed.add(number.payload()));
  }

  private void awaitWitness(int number) throws SQLException {
    stage.database.execute("select pgonce.publish('witness', '%d')".formatted(number));
    stage.awaitSoon(() -> witnessed.contains(number));
  }

  private static boolean isPaused(PgOnce listener) {
    return listener.status().channels().stream().anyMatch(one -> one.paused() != null);
  }

  private static boolean isIdle(PgOnce listener) {
    return listener.status().channels().stream().allMatch(one -> one.working() == 0);
  }

  private void claimedWhilePaused(Channel<Stage.Order> channel, ListenOptions options, String claim)
      throws Exception {
    try (var listener = listener().install(channel)) {
      listener.listen(channel, options, Stage::effect).start();
      awaitWitness(1);
      stage.awaitSoon(() -> isIdle(listener));
      var held = proxy.holdAnswerTo(claim);
      try (var connection = stage.dataSource.getConnection()) {
        for (var id = 1L; id <= 3; id++) {
          Publisher.standard().publish(connection, channel, new Stage.Order(id, "item"));
        }
      }
      held.awaitSprung(SOON);
      stage.onCall().pause(channel, "in the middle of a claim");
      stage.awaitSoon(() -> isPaused(listener));
      held.release();
      stage.awaitSoon(() -> isIdle(listener));
      assertThat(stage.effects()).isZero();
      assertThat(stage.waiting()).isEqualTo(3);
      assertThat(
              stage.database.queryLong(
                  "select count(*) from pgonce.scheduled where subscription_id > 0 and (token is not null or attempts > 0)"))
          .isZero();
      stage.onCall().resume(channel, "go on");
      stage.awaitSoon(() -> stage.eachOnce(3));
    }
  }

  @Test
  void h86_whatIsClaimedWhileItIsPausedGoesBack() throws Exception {
    claimedWhilePaused(ORDERS, QUICK.withConcurrency(1), "FROM pgonce.notification AS n");
  }

  @Test
  void h86_aBatchThatIsClaimedWhileItIsPausedGoesBack() throws Exception {
    claimedWhilePaused(
        ORDERS, QUICK.withConcurrency(1).withBatch(20), "FROM pgonce.notification AS n");
  }

  @Test
  void h86_whatIsLeasedWhileItIsPausedGoesBackUncounted() throws Exception {
    claimedWhilePaused(
        Channel.of("mails", Stage.Order.class, Mode.AT_LEAST_ONCE),
        QUICK.withConcurrency(1),
        "pgonce.lease(");
  }

  /** The scan that lifts a pause has not seen it, and its wake-up came too early. */
  @Test
  void h86_whatIsHeardWhileAPauseIsLookedIntoIsHandledRightAfterIt() throws Exception {
    try (var listener = listener()) {
      listener.listen(ORDERS, QUICK, Stage::effect).start();
      awaitWitness(1);
      stage.awaitSoon(() -> isIdle(listener));
      var scan = proxy.holdAnswerTo("pgonce.poll(");
      stage.database.execute("notify pgonce_orders, 'pause'");
      scan.awaitSprung(SOON);
      stage.publish(1);
      awaitWitness(2);
      assertThat(stage.effects()).isZero();
      scan.release();
      stage.awaitSoon(() -> stage.eachOnce(1));
    }
  }
}
