package org.pgonce.pools;

import static org.assertj.core.api.Assertions.assertThat;
import static org.pgonce.stage.Stage.ORDERS;
import static org.pgonce.stage.Stage.QUICK;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import javax.sql.DataSource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.pgonce.Channel;
import org.pgonce.Mode;
import org.pgonce.stage.Logged;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** H57: a pool that is too small, and handlers that take a second connection from it. */
@PgTest(PgOnceInstalled.class)
class SecondConnectionTest {

  private static final String WARNED = "a handler takes a second connection while";
  private static final String TOO_SMALL = "the pool has at most 10 connections, and 12 are needed";

  private Stage stage;

  @BeforeEach
  void setUp(TestDatabase database) throws SQLException {
    stage = new Stage(database);
  }

  @AfterEach
  void tearDown() {
    stage.close();
  }

  private static void callAService(DataSource dataSource, long id) throws SQLException {
    try (var connection = dataSource.getConnection()) {
      note(connection, id);
    }
  }

  private static void note(Connection connection, long id) throws SQLException {
    try (var statement = connection.prepareStatement("insert into effect values (?, 'second')")) {
      statement.setLong(1, id);
      statement.execute();
    }
  }

  @Test
  void h57_aPoolThatIsTooSmallAndHandlersThatTakeASecondConnectionAreToldOf() throws Exception {
    try (var pool = stage.database.pooled(10);
        var logged = new Logged()) {
      pool.setConnectionTimeout(5_000); // 30 s in production
      var dataSource = new WatchedDataSource(pool);
      var pgonce = stage.pgonce(dataSource);
      var gaveUp = new AtomicInteger();
      pgonce.listen(
          ORDERS,
          QUICK.withConcurrency(10),
          (order, tx) -> {
            try {
              callAService(dataSource, order.payload().id());
            } catch (SQLException e) {
              gaveUp.incrementAndGet();
              throw e;
            }
          });
      pgonce.start();
      assertThat(logged.count(TOO_SMALL)).isEqualTo(1);
      assertThat(logged.text()).contains("10 for handlers (orders 10)", "Give the pool 12 or more");
      stage.publish(40);
      stage.awaitSoon(() -> logged.count(WARNED) > 0);
      assertThat(gaveUp).as("handlers that waited for nothing before it was said").hasValue(0);
      pool.setConnectionTimeout(1_000);
      stage.awaitNothingWaits(); // handled, or dead letters
      assertThat(pgonce.stop(Duration.ofSeconds(20))).isTrue();
      assertThat(logged.count(WARNED)).isEqualTo(1);
      assertThat(logged.text())
          .contains("at org.pgonce.pools.SecondConnectionTest.callAService", "tx.connection()");
    }
  }

  @Test
  void h57_whoHoldsOneConnectionAtATimeIsNotWarnedOf() throws Exception {
    var longer = Channel.of("longer", Stage.Order.class, Mode.AT_LEAST_ONCE);
    try (var pool = stage.database.pooled(10);
        var logged = new Logged()) {
      var dataSource = new WatchedDataSource(pool);
      var pgonce = stage.pgonce(dataSource).install(longer);
      pgonce
          .listen(ORDERS, QUICK, Stage::effect)
          .listen(
              longer,
              QUICK,
              (order, tx) -> {
                callAService(dataSource, order.payload().id());
                callAService(dataSource, order.payload().id()); // one after the other
                Stage.effect(order, tx);
              })
          .start();
      assertThat(pgonce.status().listensBy()).isNotEqualTo("polling"); // its address is seen
      stage.publish(20);
      try (var connection = dataSource.getConnection()) {
        pgonce.publisher().publish(connection, longer, new Stage.Order(1, "pen"));
      }
      stage.awaitSoon(() -> stage.effects() == 23);
      assertThat(logged.count(WARNED)).isZero();
      assertThat(logged.count("the pool has at most")).isZero();
    }
  }

  @Test
  void h57_aTransactionThatBeginsBesideAnotherConnectionIsASecondOne() throws Exception {
    var longer = Channel.of("longer", Stage.Order.class, Mode.AT_LEAST_ONCE);
    try (var pool = stage.database.pooled(10);
        var logged = new Logged()) {
      var dataSource = new WatchedDataSource(pool);
      var pgonce = stage.pgonce(dataSource).install(longer);
      pgonce
          .listen(
              longer,
              QUICK,
              (order, tx) -> {
                try (var own = dataSource.getConnection()) {
                  note(own, 1);
                  Stage.effect(order, tx);
                }
              })
          .start();
      try (var connection = dataSource.getConnection()) {
        pgonce.publisher().publish(connection, longer, new Stage.Order(1, "pen"));
      }
      stage.awaitSoon(() -> stage.effects() == 2);
      assertThat(logged.count(WARNED)).isEqualTo(1);
    }
  }
}
