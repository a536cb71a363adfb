package org.pgonce.pools;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;
import static org.pgonce.stage.Stage.ORDERS;
import static org.pgonce.stage.Stage.QUICK;

import com.mchange.v2.c3p0.ComboPooledDataSource;
import io.agroal.api.AgroalDataSource;
import io.agroal.api.configuration.supplier.AgroalDataSourceConfigurationSupplier;
import io.agroal.api.exceptionsorter.PostgreSQLExceptionSorter;
import io.agroal.api.security.NamePrincipal;
import io.agroal.api.security.SimplePassword;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import javax.sql.DataSource;
import org.apache.commons.dbcp2.BasicDataSource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.pgonce.Channel;
import org.pgonce.Mode;
import org.pgonce.internal.handle.GuardedConnection;
import org.pgonce.internal.jdbc.Borrowed;
import org.pgonce.stage.Headers;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** A handler that is cut off gives its place of the pool back, whatever pool it is. */
@PgTest(PgOnceInstalled.class)
class CutOffPoolsTest {

  private static final int SIZE = 4;
  private static final long WAIT_MILLIS = 10_000;

  private static final Channel<Stage.Order> LEASED =
      Channel.of("leased", Stage.Order.class, Mode.AT_LEAST_ONCE);
  private static final Channel<Stage.Order> NEWS =
      Channel.of("news", Stage.Order.class, Mode.BROADCAST);

  private Stage stage;

  enum Pool {
    HIKARI {
      @Override
      DataSource of(TestDatabase database) {
        var pool = database.pooled(SIZE);
        pool.setConnectionTimeout(WAIT_MILLIS);
        return pool;
      }
    },
    DBCP2 {
      @Override
      DataSource of(TestDatabase database) {
        var pool = new BasicDataSource();
        pool.setUrl(database.jdbcUrl());
        pool.setUsername(database.user());
        pool.setPassword(database.password());
        pool.setMaxTotal(SIZE);
        pool.setMaxWait(Duration.ofMillis(WAIT_MILLIS));
        return pool;
      }
    },
    TOMCAT {
      @Override
      DataSource of(TestDatabase database) {
        var pool = new org.apache.tomcat.jdbc.pool.DataSource();
        pool.setDriverClassName("org.postgresql.Driver");
        pool.setUrl(database.jdbcUrl());
        pool.setUsername(database.user());
        pool.setPassword(database.password());
        pool.setMaxActive(SIZE);
        pool.setInitialSize(1);
        pool.setMaxWait((int) WAIT_MILLIS);
        return pool;
      }
    },
    C3P0 {
      @Override
      DataSource of(TestDatabase database) {
        var pool = new ComboPooledDataSource();
        pool.setJdbcUrl(database.jdbcUrl());
        pool.setUser(database.user());
        pool.setPassword(database.password());
        pool.setMaxPoolSize(SIZE);
        pool.setMinPoolSize(1);
        pool.setInitialPoolSize(1);
        pool.setCheckoutTimeout((int) WAIT_MILLIS);
        return pool;
      }
    },
    AGROAL {
      @Override
      DataSource of(TestDatabase database) throws SQLException {
        return AgroalDataSource.from(
            new AgroalDataSourceConfigurationSupplier()
                .connectionPoolConfiguration(
                    pool ->
                        pool.maxSize(SIZE)
                            .acquisitionTimeout(Duration.ofMillis(WAIT_MILLIS))
                            // Without it Agroal keeps whatever is lost, by a restart too.
                            .exceptionSorter(new PostgreSQLExceptionSorter())
                            .connectionFactoryConfiguration(
                                factory ->
                                    factory
                                        .jdbcUrl(database.jdbcUrl())
                                        .principal(new NamePrincipal(database.user()))
                                        .credential(new SimplePassword(database.password())))));
      }
    };

    abstract DataSource of(TestDatabase database) throws SQLException;
  }

  @BeforeEach
  void setUp(TestDatabase database) throws SQLException {
    stage = new Stage(database);
  }

  @AfterEach
  void tearDown() {
    stage.close();
  }

  private static void assertAllCanBeTaken(DataSource pool) throws SQLException {
    var taken = new ArrayList<Connection>();
    try {
      for (var n = 0; n < SIZE; n++) {
        taken.add(pool.getConnection());
      }
      assertThat(taken).hasSize(SIZE);
    } finally {
      for (var one : taken) {
        one.close();
      }
    }
  }

  private static void close(DataSource pool) throws Exception {
    if (pool instanceof AutoCloseable closeable) {
      closeable.close();
    } else if (pool instanceof org.apache.tomcat.jdbc.pool.DataSource tomcat) {
      tomcat.close(true);
    }
  }

  @ParameterizedTest
  @EnumSource
  void h45_handlersThatAreCutOffCostNoPlaceOfThePool(Pool kind) throws Exception {
    var pool = kind.of(stage.database);
    try {
      var brief =
          QUICK.withConcurrency(1).withMaxAttempts(1).withHandlerTimeout(Duration.ofMillis(100));
      var pgonce = stage.pgonce(pool).install(LEASED, NEWS);
      var begun = new CountDownLatch(3 * SIZE);
      for (var channel : List.of(ORDERS, LEASED, NEWS)) {
        pgonce.listen(
            channel,
            brief,
            (order, tx) -> {
              begun.countDown();
              tx.connection().createStatement().execute("select 1");
              if (order.payload().id() % 2 == 0) {
                tx.connection().createStatement().execute("select pg_sleep(60)");
              } else {
                new CountDownLatch(1).await();
              }
            });
      }
      pgonce.start();
      stage.publish(2 * SIZE);
      try (var connection = stage.dataSource.getConnection()) {
        for (var n = 0; n < SIZE; n++) {
          pgonce.publisher().publish(connection, LEASED, new Stage.Order(n, "pen"));
          pgonce.publisher().publish(connection, NEWS, new Stage.Order(n, "pen"));
        }
      }
      stage.awaitSoon(() -> stage.deadLetters() == 3 * SIZE);
      Stage.awaitSoon(begun);
      assertThat(pgonce.stop(Duration.ofSeconds(10))).isTrue();
      assertAllCanBeTaken(pool);
    } finally {
      close(pool);
    }
  }

  /** By a thread of the handler's own. */
  @ParameterizedTest
  @EnumSource
  void h45_aCallThatIsLeftBehindCostsNoPlaceOfThePool(Pool kind) throws Exception {
    var pool = kind.of(stage.database);
    try {
      for (var n = 0; n < SIZE; n++) {
        var real = pool.getConnection();
        real.setAutoCommit(false);
        var guard =
            new GuardedConnection(real, Headers.PLAIN, null, "a test", Duration.ofMillis(100));
        var statement = guard.connection().createStatement();
        var calling =
            CompletableFuture.supplyAsync(
                () -> {
                  try {
                    return statement.execute("select pg_sleep(60)");
                  } catch (SQLException e) {
                    throw new IllegalStateException(e);
                  }
                });
        await()
            .atMost(Stage.SOON)
            .until(() -> !stage.database.backends().running("pg_sleep").isEmpty());
        assertThatThrownBy(guard::revoke).isInstanceOf(SQLException.class);
        assertThatThrownBy(calling::join).isNotNull();
        new Borrowed(real).closeLost();
      }
      assertAllCanBeTaken(pool);
    } finally {
      close(pool);
    }
  }
}
