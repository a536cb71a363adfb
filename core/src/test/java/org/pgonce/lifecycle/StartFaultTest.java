package org.pgonce.lifecycle;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.pgonce.stage.Stage.ORDERS;

import com.zaxxer.hikari.HikariDataSource;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import javax.sql.DataSource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.pgonce.Channel;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.UnreachableException;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.testkit.FaultProxy;
import org.pgonce.testkit.Login;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import org.pgonce.testkit.TestServer;

/** A start whose connection ends in its middle: nobody may be there to start it again. */
@PgTest(PgOnceInstalled.class)
@Tag("drivers")
class StartFaultTest {

  // What each step of a start asks, in their order.
  private static final String SESSION = "pg_backend_pid()";
  private static final String RIGHTS = "has_schema_privilege";
  private static final String COPY = "pgonce.copy_of_another()";
  private static final String INSTALLED = "pgonce.installed(";
  private static final String LISTEN = "LISTEN \"pgonce_orders";
  private static final String REGISTER = "pgonce.listener_starts(";
  private static final String SCAN = "pgonce.poll(";

  private Stage stage;
  private FaultProxy proxy;
  private HikariDataSource pool;

  @BeforeEach
  void setUp(TestDatabase database) throws SQLException {
    stage = new Stage(database);
    proxy = FaultProxy.to(database);
    pool = database.login().through(proxy).pooled(4);
  }

  @AfterEach
  void tearDown() {
    stage.close();
    pool.close();
    proxy.close();
  }

  private PgOnce listening(DataSource dataSource) {
    return stage.pgonce(dataSource).listen(ORDERS, Stage::effect);
  }

  private void assertItHandles() throws SQLException {
    stage.publish(5);
    stage.awaitNothingWaits();
    assertThat(stage.eachOnce(5)).isTrue();
  }

  @ParameterizedTest
  @ValueSource(strings = {SESSION, RIGHTS, COPY, INSTALLED, LISTEN, REGISTER, SCAN})
  void h68_aConnectionThatIsCutBeforeAStepIsRiddenOut(String step) throws Exception {
    var cut = proxy.cutBeforeForwarding(step);
    listening(pool).start();
    cut.awaitSprung(Stage.SOON);
    assertItHandles();
  }

  @ParameterizedTest
  @ValueSource(strings = {SESSION, RIGHTS, COPY, INSTALLED, LISTEN, REGISTER, SCAN})
  void h68_aConnectionThatIsCutAfterAStepIsRiddenOut(String step) throws Exception {
    var cut = proxy.cutAfterForwarding(step);
    listening(pool).start();
    cut.awaitSprung(Stage.SOON);
    assertItHandles();
  }

  @ParameterizedTest
  @ValueSource(strings = {SESSION, RIGHTS, COPY, INSTALLED})
  void h68_aSessionThatIsTerminatedAtAStepIsRiddenOut(String step) throws Exception {
    var held = proxy.holdAnswerTo(step);
    var starting = starting(listening(pool));
    held.awaitSprung(Stage.SOON);
    for (var session : stage.database.backends().running(step)) {
      stage.database.backends().terminate(session);
    }
    held.release();
    starting.get(Stage.SOON.toSeconds(), TimeUnit.SECONDS);
    assertItHandles();
  }

  private static CompletableFuture<PgOnce> starting(PgOnce pgonce) {
    return CompletableFuture.supplyAsync(pgonce::start);
  }

  @Test
  @Tag("all")
  void h68_aServerThatRestartsAtAStepIsRiddenOut() throws Exception {
    for (var step : new String[] {RIGHTS, INSTALLED}) {
      try (var server = TestServer.start(Map.of());
          var database = server.createDatabase();
          var itsProxy = FaultProxy.to(database);
          var itsPool = database.login().through(itsProxy).pooled(2)) {
        stage.close();
        stage = new Stage(database);
        var held = itsProxy.holdAnswerTo(step);
        var starting = starting(listening(itsPool));
        held.awaitSprung(Stage.SOON);
        server.stopImmediately();
        held.release();
        server.restart();
        starting.get(Stage.SOON.toSeconds(), TimeUnit.SECONDS);
        stage.dataSource.getHikariPoolMXBean().softEvictConnections(); // they are from before
        assertItHandles();
        stage.close();
      }
    }
  }

  @Test
  void h68_aServerThatIsNotUpYetIsWaitedFor() throws Exception {
    proxy.refuseConnections();
    var starting = starting(listening(stage.database.login().through(proxy).unpooled()));
    assertThat(starting).isNotDone();
    proxy.acceptConnections();
    starting.get(Stage.SOON.toSeconds(), TimeUnit.SECONDS);
    assertItHandles();
  }

  @Test
  void h68_whatSomebodyHasToMendIsAnErrorAtOnce() throws Exception {
    var role = stage.database.loginRole("worker");
    var wrongPassword = new Login(role.host(), role.port(), role.database(), role.user(), "wrong");
    assertFailsAtOnce(wrongPassword.unpooled(), ORDERS, "password authentication failed");
    assertFailsAtOnce(role.unpooled(), ORDERS, "may not use the schema pgonce");
    assertFailsAtOnce(
        stage.dataSource, Channel.of("unheard.of", Stage.Order.class), "is not installed");
    assertFailsAtOnce(
        stage.dataSource,
        Channel.of("orders", Stage.Order.class, Mode.AT_LEAST_ONCE),
        "installed with mode");
  }

  /** A pool that is asked for a connection says that it has none, and keeps why as the cause. */
  @Test
  void h68_aPoolDoesNotHideWhatSomebodyHasToMend() throws Exception {
    var role = stage.database.loginRole("worker");
    try (var lazy = new HikariDataSource()) {
      lazy.setJdbcUrl(role.jdbcUrl());
      lazy.setUsername(role.user());
      lazy.setPassword("wrong");
      lazy.setInitializationFailTimeout(-1);
      lazy.setConnectionTimeout(1000);
      assertFailsAtOnce(lazy, ORDERS, "password authentication failed");
    }
  }

  @Test
  void h68_aStartThatMeetsALockedTableSaysSoAndLeavesNoSession() throws Exception {
    var pgonce = stage.pgonce(PgOnce.builder(stage.dataSource).startTimeout(Duration.ZERO));
    pgonce.listen(ORDERS, Stage::effect);
    try (var other = stage.database.dataSource().getConnection();
        var statement = other.createStatement()) {
      other.setAutoCommit(false);
      statement.execute("lock table pgonce.schema_version in access exclusive mode");
      assertThatThrownBy(pgonce::start)
          .isInstanceOf(UnreachableException.class)
          .hasMessageContaining("who locks tables of schema pgonce");
      assertThat(
              stage.database.queryLong(
                  "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"))
          .isZero();
    }
    pgonce.start();
    assertItHandles();
  }

  /** By a time for the start that no test waits for. */
  private void assertFailsAtOnce(DataSource dataSource, Channel<Stage.Order> channel, String why) {
    var pgonce = stage.pgonce(PgOnce.builder(dataSource).startTimeout(Duration.ofHours(1)));
    pgonce.listen(channel, (order, tx) -> {});
    assertThatThrownBy(() -> starting(pgonce).get(Stage.SOON.toSeconds(), TimeUnit.SECONDS))
        .hasMessageContaining(why);
  }

  @Test
  void h68_aStartThatIsTriedAgainEndsWithTheStop() throws Exception {
    proxy.refuseConnections();
    var pgonce =
        stage.pgonce(
            PgOnce.builder(stage.database.login().through(proxy).unpooled())
                .startTimeout(Duration.ofHours(1)));
    pgonce.listen(ORDERS, Stage::effect);
    var starting = starting(pgonce);
    // Again and again: the first may come before the start does.
    stage.awaitSoon(() -> pgonce.stop(Duration.ZERO) && starting.isDone());
    assertThatThrownBy(() -> starting.get(Stage.SOON.toSeconds(), TimeUnit.SECONDS))
        .isInstanceOf(Exception.class);
  }

  /** As when a synchronous standby was away, and the listener had given up its first try. */
  @Test
  void h68_anEntryThatIsCommittedAfterItWasGivenUpIsNoObstacle() throws Exception {
    var id = "00000000-0000-0000-0000-000000000001";
    var enter = "select pgonce.listener_starts('" + id + "', 'me', '{}', 'polling', 5000)";
    try (var first = stage.dataSource.getConnection();
        var statement = first.createStatement()) {
      first.setAutoCommit(false);
      statement.execute(enter);
      var second =
          CompletableFuture.runAsync(
              () -> assertThatCode(() -> stage.database.execute(enter)).doesNotThrowAnyException());
      stage.awaitSoon(
          () ->
              stage.database.queryLong(
                      "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'")
                  == 1);
      first.commit();
      second.get(20, TimeUnit.SECONDS);
    }
    assertThat(
            stage.database.queryLong(
                "select count(*) from pgonce.listener where id = '" + id + "'"))
        .isEqualTo(1);
  }
}
