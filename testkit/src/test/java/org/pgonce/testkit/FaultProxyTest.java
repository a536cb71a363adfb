package org.pgonce.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import java.net.Socket;
import java.nio.ByteBuffer;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@PgTest
class FaultProxyTest {

  private static final Duration BOUND = Duration.ofSeconds(10);

  private TestDatabase database;
  private FaultProxy proxy;

  @BeforeEach
  void start(TestDatabase database) throws Exception {
    this.database = database;
    proxy = FaultProxy.to(database);
    database.execute("CREATE TABLE t (id int)");
  }

  @AfterEach
  void stop() {
    proxy.close();
  }

  private Connection connect() throws SQLException {
    return connect("pgjdbc");
  }

  private Connection connect(String driver) throws SQLException {
    var login = database.login().through(proxy);
    return driver.equals("pgjdbc")
        ? login.dataSource().getConnection()
        : login.ngDataSource().getConnection();
  }

  private static void insert(Connection connection) throws SQLException {
    try (var statement = connection.createStatement()) {
      statement.execute("INSERT INTO t VALUES (1)");
    }
  }

  private long rows() throws SQLException {
    return database.queryLong("SELECT count(*) FROM t");
  }

  private static CompletableFuture<Void> inBackground(Action action) {
    return CompletableFuture.runAsync(
        () -> {
          try {
            action.run();
          } catch (SQLException e) {
            throw new IllegalStateException(e);
          }
        });
  }

  private interface Action {
    void run() throws SQLException;
  }

  @Test
  void passesUntilToldOtherwise() throws Exception {
    try (var connection = connect()) {
      insert(connection);
    }
    assertThat(rows()).isEqualTo(1);
  }

  @Test
  void tricklingIsSlowButRight() throws Exception {
    proxy.trickle();
    try (var connection = connect();
        var statement = connection.createStatement();
        var row = statement.executeQuery("SELECT repeat('x', 20000)")) {
      row.next();
      assertThat(row.getString(1)).hasSize(20_000);
    }
  }

  @Test
  void delayHoldsEachChunkBack() throws Exception {
    try (var connection = connect()) {
      proxy.delay(Duration.ofMillis(150));
      var began = System.nanoTime();
      insert(connection);
      assertThat(Duration.ofNanos(System.nanoTime() - began))
          .isGreaterThanOrEqualTo(Duration.ofMillis(300));
    }
  }

  @Test
  void refusedConnectionsLeaveOpenOnesAlone() throws Exception {
    try (var connection = connect()) {
      proxy.refuseConnections();
      assertThatThrownBy(this::connect).hasMessageContaining("refused");
      insert(connection);
      proxy.pass();
      connect().close();
    }
  }

  @Test
  void cutAllResetsEveryConnection() throws Exception {
    try (var one = connect();
        var two = connect()) {
      proxy.cutAll();
      assertThatThrownBy(() -> insert(one)).isInstanceOf(SQLException.class);
      assertThatThrownBy(() -> insert(two)).isInstanceOf(SQLException.class);
      connect().close();
    }
  }

  @Test
  void endAllEndsEveryConnectionInGoodOrder() throws Exception {
    try (var socket = new Socket(proxy.host(), proxy.port())) {
      socket.setSoTimeout(10_000);
      var sslRequest = ByteBuffer.allocate(8).putInt(8).putInt(80_877_103).array();
      socket.getOutputStream().write(sslRequest);
      assertThat(socket.getInputStream().read()).as("the server's answer").isEqualTo('N');
      proxy.endAll();
      assertThat(socket.getInputStream().read()).as("the end, and no reset").isEqualTo(-1);
      connect().close();
    }
  }

  @Test
  void silenceClosesNothingAndAConnectionThatLostBytesStaysSilent() throws Exception {
    try (var connection = connect()) {
      connection.setNetworkTimeout(Runnable::run, 300);
      proxy.silence(Direction.TO_CLIENT);
      assertThatThrownBy(() -> insert(connection))
          .hasRootCauseInstanceOf(java.net.SocketTimeoutException.class);
      await().atMost(BOUND).until(() -> rows() == 1); // the server heard it
    }
    proxy.pass();
    connect().close();
  }

  @Test
  void aStalledConnectionGoesOn() throws Exception {
    try (var connection = connect()) {
      proxy.stall();
      var insert = inBackground(() -> insert(connection));
      assertThatThrownBy(() -> insert.get(300, TimeUnit.MILLISECONDS))
          .isInstanceOf(java.util.concurrent.TimeoutException.class);
      assertThat(rows()).isZero();
      proxy.pass();
      insert.get(10, TimeUnit.SECONDS);
      assertThat(rows()).isEqualTo(1);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"pgjdbc", "pgjdbc-ng"})
  void cutBeforeForwardingLosesTheCommit(String driver) throws Exception {
    try (var connection = connect(driver)) {
      connection.setAutoCommit(false);
      insert(connection);
      var cut = proxy.cutBeforeForwarding("COMMIT");
      assertThatThrownBy(connection::commit).isInstanceOf(SQLException.class);
      cut.awaitSprung(BOUND);
    }
    assertThat(rows()).isZero();
  }

  @ParameterizedTest
  @ValueSource(strings = {"pgjdbc", "pgjdbc-ng"})
  void cutAfterForwardingCommitsAndTellsNobody(String driver) throws Exception {
    try (var connection = connect(driver)) {
      connection.setAutoCommit(false);
      insert(connection);
      var cut = proxy.cutAfterForwarding("COMMIT");
      assertThatThrownBy(connection::commit).isInstanceOf(SQLException.class);
      cut.awaitSprung(BOUND);
    }
    assertThat(rows()).isEqualTo(1);
  }

  @ParameterizedTest
  @ValueSource(strings = {"pgjdbc", "pgjdbc-ng"})
  void aTrapAfterAStatementIsForThatTransactionOnly(String driver) throws Exception {
    try (var meant = connect(driver);
        var other = connect(driver)) {
      meant.setAutoCommit(false);
      other.setAutoCommit(false);
      insert(meant);
      var cut = proxy.after("INSERT").cutBeforeForwarding("COMMIT");
      try (var statement = other.createStatement()) {
        statement.execute("SELECT 1");
      }
      other.commit();
      assertThat(cut.isSprung()).isFalse();
      assertThatThrownBy(meant::commit).isInstanceOf(SQLException.class);
      cut.awaitSprung(BOUND);
    }
    assertThat(rows()).isZero();
  }

  @ParameterizedTest
  @ValueSource(strings = {"pgjdbc", "pgjdbc-ng"})
  void aHeldAnswerComesWhenReleased(String driver) throws Exception {
    try (var connection = connect(driver)) {
      connection.setAutoCommit(false);
      insert(connection);
      var held = proxy.holdAnswerTo("COMMIT");
      var commit = inBackground(connection::commit);
      held.awaitSprung(BOUND);
      assertThat(rows()).isEqualTo(1);
      assertThat(commit).isNotDone();
      held.release();
      commit.get(10, TimeUnit.SECONDS);
      insert(connection);
    }
  }
}
