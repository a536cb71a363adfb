package org.pgonce.lifecycle;

import static org.assertj.core.api.Assertions.as;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.InstanceOfAssertFactories.LIST;
import static org.awaitility.Awaitility.await;
import static org.pgonce.stage.Stage.ORDERS;
import static org.pgonce.stage.Stage.QUICK;
import static org.pgonce.stage.Stage.SOON;

import com.zaxxer.hikari.HikariDataSource;
import java.sql.SQLException;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.Channel;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.PgOnceException;
import org.pgonce.Publisher;
import org.pgonce.Status;
import org.pgonce.spi.Event;
import org.pgonce.spi.ListenAddress;
import org.pgonce.spi.Observer;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.testkit.FaultProxy;
import org.pgonce.testkit.Login;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** What a listener says at its start, what it finds there, and how it ends. */
@PgTest(PgOnceInstalled.class)
@Tag("drivers")
class StartTest {

  private Stage stage;

  @BeforeEach
  void setUp(TestDatabase database) throws SQLException {
    stage = new Stage(database);
  }

  @AfterEach
  void tearDown() {
    stage.close();
  }

  @Test
  void s03_whatWasStoredWhileNobodyListenedIsHandledAfterTheStart() throws Exception {
    stage.publish(500);
    stage.pgonce().listen(ORDERS, Stage::effect).start();
    stage.awaitNothingWaits();
    assertThat(stage.eachOnce(500)).isTrue();
  }

  @Test
  void s03_pollingAloneFindsEverything() throws Exception {
    var pgonce = stage.pgonce(PgOnce.builder(stage.dataSource).wakeUpBy());
    pgonce.listen(ORDERS, Stage::effect).start();
    assertThat(pgonce.status().listensBy()).isEqualTo("polling");
    stage.publish(20);
    stage.awaitNothingWaits();
    assertThat(stage.eachOnce(20)).isTrue();
  }

  @Test
  void example_severalListenersShareTheWork() throws Exception {
    for (var i = 0; i < 4; i++) {
      stage.pgonce().listen(ORDERS, Stage::effect).start();
    }
    stage.publish(1_000);
    stage.awaitNothingWaits();
    assertThat(stage.eachOnce(1_000)).isTrue();
    assertThat(stage.database.queryLong("select listeners from pgonce.channel_status"))
        .isEqualTo(4);
  }

  @Test
  void h34_aMissingRightIsNamedAtTheStart() throws Exception {
    var role = stage.database.loginRole("worker");
    var pgonce = stage.pgonce(role.unpooled());
    pgonce.listen(ORDERS, Stage::effect);
    assertThatThrownBy(pgonce::start)
        .isInstanceOf(PgOnceException.class)
        .hasMessageContaining(
            "role "
                + role.user()
                + " may not use the schema pgonce: GRANT pgonce_listener TO "
                + role.user())
        .hasMessageContaining("may not claim from pgonce.notification and pgonce.scheduled: GRANT")
        .extracting(failure -> failure.getMessage().lines().toList(), as(LIST))
        .hasSize(6);
  }

  @Test
  void h34_aRightThatTheListenerRoleHasLostIsNoReasonToGrantTheRoleAgain() throws Exception {
    var role = stage.database.loginRole("worker", "pgonce_listener");
    stage.database.execute(
        "revoke execute on all functions in schema pgonce from pgonce_listener; revoke select on pgonce.schema_version from pgonce_listener");
    var pgonce = stage.pgonce(role.unpooled());
    pgonce.listen(ORDERS, Stage::effect);
    assertThatThrownBy(pgonce::start)
        .isInstanceOf(PgOnceException.class)
        .hasMessageContaining("may not execute bound_idle, bury")
        .hasMessageContaining("may not read the version in pgonce.schema_version")
        .hasMessageContaining("has lost this right: call PgOnce.install as a superuser")
        .hasMessageNotContaining("GRANT");
  }

  @Test
  void h34_aFunctionOfPostgresThatTheOwnerMayNotExecuteIsNamedAtTheStart() throws Exception {
    stage.database.execute("revoke execute on function pg_notify(text, text) from public");
    var listens = stage.pgonce();
    listens.listen(ORDERS, Stage::effect);
    for (var pgonce : List.of(listens, stage.pgonce())) {
      assertThatThrownBy(pgonce::start)
          .isInstanceOf(PgOnceException.class)
          .hasMessageContaining(
              "role pgonce_owner may not execute pg_notify(text, text), and those who store notifications need it: GRANT EXECUTE ON FUNCTION pg_catalog.pg_notify(text, text) TO pgonce_owner");
    }
    stage.database.execute("grant execute on function pg_notify(text, text) to pgonce_owner");
    listens.start();
    stage.publish(1);
    stage.awaitNothingWaits();
  }

  @Test
  void h34_aForcedRowLevelPolicyIsNamedAtTheStart() throws Exception {
    stage.database.execute(
        "alter table pgonce.notification enable row level security; alter table pgonce.notification force row level security");
    var pgonce = stage.pgonce();
    pgonce.listen(ORDERS, Stage::effect);
    assertThatThrownBy(pgonce::start)
        .isInstanceOf(PgOnceException.class)
        .hasMessageContaining("row-level security on pgonce.notification would hide its rows");
  }

  @Test
  void h34_theListenerRoleSufficesForEverythingAListenerDoes() throws Exception {
    var role = stage.database.loginRole("worker", "pgonce_listener");
    stage.database.execute("grant insert on effect to \"" + role.user() + "\"");
    var pgonce = stage.pgonce(role.pooled(4));
    pgonce
        .listen(
            ORDERS,
            // Enough for the large one on a busy machine, too.
            QUICK.withMaxAttempts(2).withHandlerTimeout(Duration.ofSeconds(2)),
            (order, tx) -> {
              Stage.effect(order, tx);
              if (order.payload().id() == 1) {
                throw new IllegalStateException("always");
              }
              if (order.payload().id() == 2) {
                tx.query("select pg_sleep(100)", row -> 1);
              }
            })
        .start();
    stage.publish(4);
    try (var connection = stage.dataSource.getConnection()) {
      Publisher.standard()
          .publish(connection, ORDERS, new Stage.Order(5, "x".repeat(6_000_000))); // read in parts
    }
    stage.awaitSoon(() -> stage.waiting() == 0 && stage.deadLetters() == 2);
    assertThat(stage.effects()).isEqualTo(3);
  }

  @Test
  void h64_errorsOfTheDatabaseAreClearAtTheStart() throws Exception {
    var role = stage.database.loginRole("worker", "pgonce_listener");
    var wrongPassword =
        new Login(role.host(), role.port(), role.database(), role.user(), "wrong").unpooled();
    var noSuchDatabase =
        new Login(role.host(), role.port(), "nowhere", role.user(), role.password()).unpooled();
    var nobodyThere =
        new Login("127.0.0.1", 1, role.database(), role.user(), role.password()).unpooled();
    for (var expected :
        Map.of(
                wrongPassword,
                "password authentication failed",
                noSuchDatabase,
                "database \"nowhere\" does not exist",
                nobodyThere,
                "refused")
            .entrySet()) {
      var pgonce =
          stage.pgonce(PgOnce.builder(expected.getKey()).startTimeout(Duration.ofMillis(200)));
      pgonce.listen(ORDERS, Stage::effect);
      assertThatThrownBy(pgonce::start)
          .isInstanceOf(PgOnceException.class)
          .hasMessageContaining("cannot start to listen")
          .hasMessageContaining(expected.getValue());
      assertThatThrownBy(() -> pgonce.install(ORDERS))
          .isInstanceOf(PgOnceException.class)
          .hasMessageContaining(expected.getValue());
    }
  }

  @Test
  void h64_aWrongListenAddressThatWasGivenIsAnErrorAtTheStart() throws Exception {
    var address =
        new ListenAddress(
            stage.database.host(),
            stage.database.port(),
            "nowhere",
            stage.database.user(),
            null,
            Map.of());
    var pgonce = stage.pgonce(PgOnce.builder(stage.dataSource).listenAddress(address));
    pgonce.listen(ORDERS, Stage::effect);
    assertThatThrownBy(pgonce::start)
        .isInstanceOf(PgOnceException.class)
        .hasMessageContaining("nowhere");
  }

  @Test
  void h64_anExhaustedPoolIsSurvived() throws Exception {
    var pool = stage.database.pooled(2);
    pool.setConnectionTimeout(250);
    var pgonce = stage.pgonce(pool);
    pgonce.listen(ORDERS, QUICK.withConcurrency(2), Stage::effect).start();
    try (var one = pool.getConnection();
        var two = pool.getConnection()) {
      assertThat(one).isNotSameAs(two);
      stage.publish(10);
      await()
          .atMost(SOON)
          .until(() -> pool.getHikariPoolMXBean().getThreadsAwaitingConnection() > 0);
    }
    stage.awaitNothingWaits();
    assertThat(stage.eachOnce(10)).isTrue();
  }

  @Test
  void h63_aCommitBetweenListenAndTheFirstPollIsNotLostAndNotLate() throws Exception {
    // Many starts while a writer commits all the time: whatever falls between the two waits no
    // longer
    // than for the next poll.
    for (var round = 0; round < 5; round++) {
      var stop = new CountDownLatch(1);
      var written = new AtomicInteger();
      var writer =
          new Thread(
              () -> {
                try (var connection = stage.dataSource.getConnection()) {
                  while (stop.getCount() > 0) {
                    Publisher.standard()
                        .publish(
                            connection, ORDERS, new Stage.Order(written.incrementAndGet(), "x"));
                  }
                } catch (SQLException e) {
                  throw new IllegalStateException(e);
                }
              });
      writer.start();
      try (var pgonce = PgOnce.using(stage.dataSource)) {
        pgonce.listen(ORDERS, QUICK.withConcurrency(1), Stage::effect).start();
        stop.countDown();
        writer.join();
        stage.awaitNothingWaits();
      }
      assertThat(stage.eachOnce(written.get())).isTrue();
      stage.database.execute("truncate effect");
    }
  }

  @Test
  void h85_stopDrainsTheHandlersThatRunAndTakesNoMore() throws Exception {
    var inside = new CountDownLatch(2);
    var goOn = new CountDownLatch(1);
    // It waits for them until this thread has seen that.
    try (var pgonce = PgOnce.builder(stage.dataSource).stopTimeout(SOON.multipliedBy(2)).build()) {
      pgonce
          .listen(
              ORDERS,
              QUICK.withConcurrency(2),
              (order, tx) -> {
                inside.countDown();
                goOn.await();
                Stage.effect(order, tx);
              })
          .start();
      stage.publish(10);
      Stage.awaitSoon(inside);
      var stopping = new Thread(() -> pgonce.close());
      stopping.start();
      await().atMost(SOON).until(() -> pgonce.status().state() == Status.State.STOPPING);
      goOn.countDown();
      stopping.join(SOON.toMillis());
      assertThat(pgonce.status().state()).isEqualTo(Status.State.STOPPED);
    } finally {
      goOn.countDown();
    }
    assertThat(stage.effects()).isEqualTo(2);
    assertThat(stage.waiting()).isEqualTo(8);
    assertThat(stage.database.queryLong("select count(*) from pgonce.listener")).isZero();
  }

  @Test
  void h85_aStopRightAfterTheStartWaitsForTheScanUnderWay() throws Exception {
    var troubles = new CopyOnWriteArrayList<String>();
    Observer observer =
        event -> {
          if (event instanceof Event.DatabaseTrouble said) {
            troubles.add(said.reason());
          }
        };
    for (var i = 0; i < 20; i++) {
      // The pool is closed at once after it, as a service that ends does.
      try (var pool = stage.database.login().pooled(4);
          var pgonce = PgOnce.builder(pool).observer(observer).build()) {
        pgonce.listen(ORDERS, Stage::effect).start();
      }
    }
    assertThat(troubles).isEmpty();
    assertThat(stage.database.queryLong("select count(*) from pgonce.listener")).isZero();
  }

  @Test
  void h85_handlersThatOverrunTheStopAreReleasedUncounted() throws Exception {
    var inside = new CountDownLatch(1);
    var pgonce = stage.pgonce();
    pgonce
        .listen(
            ORDERS,
            QUICK,
            (order, tx) -> {
              Stage.effect(order, tx);
              inside.countDown();
              new CountDownLatch(1).await();
            })
        .start();
    stage.publish(1);
    Stage.awaitSoon(inside);
    var begun = System.nanoTime();
    assertThat(pgonce.stop(Duration.ofMillis(200))).isFalse();
    assertThat(Duration.ofNanos(System.nanoTime() - begun)).isLessThan(Duration.ofSeconds(15));
    await().atMost(SOON).until(() -> stage.claimable() == 1);
    assertThat(stage.effects()).isZero();
    assertThat(stage.deadLetters()).isZero();
  }

  @Tag("all")
  @Test
  void scan_wakesOnlyWhereThereIsWork() throws Exception {
    var pgonce = stage.pgonce(PgOnce.builder(stage.dataSource), Duration.ofMillis(100));
    pgonce.listen(ORDERS, Stage::effect).start();
    stage.awaitGateIsClosed();
    awaitScans(2); // who had been called for what was owed has looked by then
    var claims = pgonce.status().channels().get(0).claims();
    awaitScans(3);
    assertThat(pgonce.status().channels().get(0).claims()).isEqualTo(claims);
    stage.publish(1);
    stage.awaitNothingWaits();
    // One or two more by each scan that finds it at work still.
    assertThat(pgonce.status().channels().get(0).claims()).isBetween(1L, 100L);
  }

  private void awaitScans(int count) {
    var scans = new HashSet<String>();
    stage.awaitSoon(
        () ->
            scans.add(stage.database.queryString("select max(seen_at)::text from pgonce.listener"))
                && scans.size() > count);
  }

  @Test
  void h87_listeningToAnUnknownChannelSaysSo() {
    var pgonce = stage.pgonce();
    pgonce.listen(Channel.of("unheard.of", String.class), (order, tx) -> {});
    assertThatThrownBy(pgonce::start)
        .isInstanceOf(PgOnceException.class)
        .hasMessageContaining("channel unheard.of is not installed: call PgOnce.install");
  }

  @Test
  void changedMode_isRefusedWithTheMigrationThatMendsIt() throws Exception {
    var changed = Channel.of("orders", Stage.Order.class, Mode.BROADCAST);
    var pgonce = stage.pgonce();
    pgonce.listen(changed, (order, tx) -> {});
    assertThatThrownBy(pgonce::start)
        .isInstanceOf(PgOnceException.class)
        .hasMessageContaining(
            "installed with mode \"EXACTLY_ONCE\", but defined with \"BROADCAST\"")
        .hasMessageContaining("SELECT pgonce.change_mode('orders', 'BROADCAST');");
    assertThatThrownBy(() -> pgonce.install(changed))
        .isInstanceOf(PgOnceException.class)
        .hasMessageContaining("pgonce.change_mode");
    stage.publish(1);
    assertThatThrownBy(
            () -> stage.database.execute("select pgonce.change_mode('orders', 'BROADCAST')"))
        .hasMessageContaining("still holds 1");
    stage.database.execute(
        "delete from pgonce.notification where subscription_id > 0; select pgonce.change_mode('orders', 'BROADCAST')");
    pgonce.install(changed).start();
  }

  @Test
  void h31_aFloodOfForgedNotifyIsOnlyAWakeUp() throws Exception {
    var pgonce = stage.pgonce().listen(ORDERS, Stage::effect).start();
    try (var connection = stage.dataSource.getConnection();
        var statement = connection.prepareStatement("select pg_notify('pgonce_orders', ?)")) {
      // All at once: one by one, a listener that is quicker than this thread would look as often.
      connection.setAutoCommit(false);
      for (var i = 0; i < 5_000; i++) {
        statement.setString(1, "forged " + i);
        statement.execute();
      }
      connection.commit();
    }
    assertThat(stage.effects()).isZero();
    stage.publish(10);
    stage.awaitNothingWaits();
    assertThat(stage.eachOnce(10)).isTrue();
    // Far fewer claims than wake-ups.
    assertThat(pgonce.status().channels().get(0).claims()).isLessThan(2_500);
  }

  @Test
  void h42_whateverThePoolHandsOutIsMadeFitAndGivenBackAsItWas() throws Exception {
    for (var setting :
        new String[] {
          "read-only", "repeatable read", "autocommit off", "binary", "search_path and role"
        }) {
      stage.database.execute("truncate effect");
      var pool = new HikariDataSource();
      pool.setDataSource(stage.database.unpooled());
      pool.setMaximumPoolSize(3);
      switch (setting) {
        case "read-only" -> pool.setReadOnly(true);
        case "repeatable read" -> pool.setTransactionIsolation("TRANSACTION_REPEATABLE_READ");
        case "autocommit off" -> pool.setAutoCommit(false);
        case "binary" -> {
          var source = stage.database.dataSource();
          source.setPrepareThreshold(-1);
          pool.setDataSource(source);
        }
        default -> {
          stage.database.execute(
              "create schema elsewhere; create table elsewhere.effect (id bigint, note text)");
          pool.setConnectionInitSql(
              "set search_path = elsewhere, public; set role pgonce_listener");
          stage.database.execute(
              "grant usage on schema elsewhere to pgonce_listener; grant all on elsewhere.effect to pgonce_listener");
        }
      }
      try (var pgonce = PgOnce.builder(pool).pollInterval(Duration.ofMillis(500)).build()) {
        pgonce.listen(ORDERS, QUICK, Stage::effect).start();
        stage.publish(20);
        stage.awaitNothingWaits();
      }
      var table = setting.startsWith("search_path") ? "elsewhere.effect" : "effect";
      assertThat(stage.database.queryLong("select count(distinct id) from " + table))
          .as(setting)
          .isEqualTo(20);
      try (var connection = pool.getConnection()) {
        assertThat(connection.isReadOnly()).isEqualTo(setting.equals("read-only"));
        assertThat(connection.getAutoCommit()).isEqualTo(!setting.equals("autocommit off"));
      }
      pool.close();
    }
  }

  @Test
  void h60_whileNothingIsHeardPollingGoesOnAndItHearsAgain() throws Exception {
    try (var proxy = FaultProxy.to(stage.database)) {
      var address =
          new ListenAddress(
              proxy.host(),
              proxy.port(),
              stage.database.name(),
              stage.database.user(),
              null,
              Map.of());
      var pgonce = stage.pgonce(PgOnce.builder(stage.dataSource).listenAddress(address));
      pgonce.listen(ORDERS, Stage::effect).start();
      // On a busy machine it may be taken for deaf now and then.
      stage.awaitSoon(() -> pgonce.status().listensBy().equals("pgjdbc"));
      proxy.silence();
      stage.publish(5);
      stage.awaitNothingWaits();
      await().atMost(SOON).until(() -> pgonce.status().listenFailure() != null);
      proxy.pass();
      await().atMost(SOON).until(() -> pgonce.status().listenFailure() == null);
      assertThat(pgonce.status().reconnects()).isGreaterThanOrEqualTo(1);
      assertThat(stage.eachOnce(5)).isTrue();
    }
  }
}
