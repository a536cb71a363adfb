package org.pgonce.internal.listen;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariDataSource;
import java.io.IOException;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.pgonce.Backoff;
import org.pgonce.Channel;
import org.pgonce.ListenOptions;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.PgOnceException;
import org.pgonce.Publisher;
import org.pgonce.internal.jdbc.NamedStatements;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.testkit.Login;
import org.pgonce.testkit.PgBouncer;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/**
 * Statements that a driver names, with a pooler before the data source that knows nothing of names:
 * PgBouncer before 1.21, or with max_prepared_statements = 0.
 */
@PgTest(PgOnceInstalled.class)
class PooledStatementsTest {

  private static final int COUNT = 200;
  private static final Duration SOON = Duration.ofSeconds(45);
  private static final String DEFAULT = "";
  private static final String NAMES_NONE = "?prepareThreshold=0";
  private static final ListenOptions QUICK =
      ListenOptions.DEFAULT
          .withMaxAttempts(1_000)
          .withBackoff(new Backoff(Duration.ofMillis(5), Duration.ofMillis(10)));

  private final List<AutoCloseable> opened = new ArrayList<>();
  private TestDatabase database;

  @BeforeEach
  void open(TestDatabase database) throws SQLException {
    this.database = database;
    database.execute(
        "create table effect (id int); create table app (id int primary key, n int); insert into app values (1, 0)");
  }

  @AfterEach
  void close() throws Exception {
    for (var i = opened.size() - 1; i >= 0; i--) {
      opened.get(i).close();
    }
  }

  private <T extends AutoCloseable> T closing(T one) {
    opened.add(one);
    return one;
  }

  private PgBouncer pooler(String mode) throws IOException {
    var pooler = PgBouncer.start(database, mode);
    opened.add(pooler);
    return pooler;
  }

  private HikariDataSource pool(Login login, String settings, int size) {
    var pool = closing(new HikariDataSource());
    pool.setJdbcUrl(login.jdbcUrl() + settings);
    pool.setUsername(login.user());
    pool.setPassword(login.password());
    pool.setMaximumPoolSize(size);
    pool.setConnectionTimeout(SOON.toMillis());
    return pool;
  }

  private Channel<Integer> installed(Mode mode) {
    var channel = Channel.of("numbers", Integer.class, mode);
    PgOnce.using(database.dataSource()).install(channel);
    return channel;
  }

  /** Transactions of an application, which shares the pooler's sessions. */
  private AppTraffic traffic(HikariDataSource pool) {
    return closing(new AppTraffic(pool));
  }

  private static String problem(HikariDataSource pool) throws SQLException {
    return new NamedStatements().problem(pool);
  }

  @Test
  void h67_aTransactionModePoolerIsSeenEachTime() throws Exception {
    var pooler = pooler("transaction");
    for (var round = 0; round < 20; round++) {
      assertThat(problem(pool(pooler.login(database), DEFAULT, 2)))
          .as("with nobody else there")
          .contains("transaction-mode pooler");
    }
    traffic(pool(pooler.login(database), NAMES_NONE, 8));
    for (var round = 0; round < 20; round++) {
      assertThat(problem(pool(pooler.login(database), DEFAULT, 2)))
          .as("amid the transactions of others")
          .contains("transaction-mode pooler");
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"server_round_robin = 1", "default_pool_size = 1"})
  void h67_soItIsHoweverItHandsItsSessionsOut(String setting) throws Exception {
    var pooler = PgBouncer.start(database, "transaction\n" + setting);
    opened.add(pooler);
    for (var round = 0; round < 5; round++) {
      assertThat(problem(pool(pooler.login(database), DEFAULT, 2)))
          .contains("transaction-mode pooler");
    }
  }

  /** Handlers began twice there, and in EXACTLY_ONCE notifications ended without their effect. */
  @ParameterizedTest
  @EnumSource(Mode.class)
  void h67_thereEachModeIsRefusedAndTheErrorSaysWhatToSet(Mode mode) throws Exception {
    var channel = installed(mode);
    var pool = pool(pooler("transaction").login(database), DEFAULT, 4);
    var pgonce = closing(PgOnce.builder(pool).wakeUpBy().build());
    pgonce.listen(channel, (number, tx) -> {});

    assertThatThrownBy(pgonce::start)
        .isInstanceOf(PgOnceException.class)
        .hasMessageContaining("a transaction-mode pooler such as PgBouncer stands before")
        .hasMessageContaining("prepareThreshold=0")
        .hasMessageContaining("max_prepared_statements > 0")
        .hasMessageContaining("pool_mode=session");
  }

  @ParameterizedTest
  @EnumSource(
      value = Mode.class,
      names = {"EXACTLY_ONCE", "AT_MOST_ONCE"})
  void h67_withADriverThatNamesNothingEachBeginsOnceAndHasItsEffect(Mode mode) throws Exception {
    var channel = installed(mode);
    publish(channel);
    var pooler = pooler("transaction");
    traffic(pool(pooler.login(database), NAMES_NONE, 4));
    var begun = new ConcurrentHashMap<Integer, AtomicInteger>();
    for (var listener = 0; listener < 2; listener++) {
      listening(channel, pool(pooler.login(database), NAMES_NONE, 5), begun);
    }
    awaitNothingWaits();
    assertThat(begun).hasSize(COUNT);
    assertThat(begun.values()).allMatch(times -> times.get() == 1);
    assertThat(database.queryLong("select count(*) from effect")).isEqualTo(COUNT);
  }

  @Test
  void h67_aSessionModePoolerIsNoReason() throws Exception {
    var pooler = pooler("session");
    traffic(pool(pooler.login(database), DEFAULT, 4));
    for (var round = 0; round < 20; round++) {
      try (var pool = pool(pooler.login(database), DEFAULT, 2)) {
        assertThat(problem(pool)).isNull();
      }
    }
  }

  @Test
  void h67_whereTheModeCannotBeToldTheErrorSaysWhy() throws Exception {
    var pool = pool(pooler("session").login(database), DEFAULT, 1);
    pool.setConnectionTimeout(250);
    assertThatThrownBy(() -> problem(pool))
        .isInstanceOf(SQLException.class)
        .hasMessageContaining("it gave one")
        .hasMessageContaining("prepareThreshold=0");
    // One connection is enough where nothing is named.
    var unnamed = pool(pooler("session").login(database), NAMES_NONE, 1);
    assertThat(problem(unnamed)).isNull();
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2})
  void h67_withoutAPoolerOneConnectionIsEnough(int size) throws Exception {
    var pool = pool(database.login(), DEFAULT, size);
    traffic(pool(database.login(), DEFAULT, 4));
    for (var round = 0; round < 20; round++) {
      assertThat(problem(pool)).isNull();
    }
    pool.close();
    var manual = pool(database.login(), DEFAULT, size);
    manual.setAutoCommit(false);
    assertThat(problem(manual)).isNull();
    assertThat(new NamedStatements().problem(database.dataSource())).isNull();
    assertThat(new NamedStatements().problem(database.ngDataSource())).isNull();
  }

  @Test
  void h67_onceItIsToldNoConnectionIsTakenForIt() throws Exception {
    var pool = pool(database.login(), DEFAULT, 1);
    var statements = new NamedStatements();
    assertThat(statements.problem(pool)).isNull();
    try (var taken = pool.getConnection()) {
      assertThat(taken.isValid(1)).isTrue();
      assertThatCode(() -> statements.problem(pool)).doesNotThrowAnyException();
    }
  }

  private void publish(Channel<Integer> channel) throws SQLException {
    try (var connection = database.dataSource().getConnection()) {
      connection.setAutoCommit(false);
      for (var number = 1; number <= COUNT; number++) {
        Publisher.standard().publish(connection, channel, number);
      }
      connection.commit();
    }
  }

  private void listening(
      Channel<Integer> channel, HikariDataSource pool, Map<Integer, AtomicInteger> begun) {
    var pgonce =
        closing(
            PgOnce.builder(pool)
                .wakeUpBy()
                .pollInterval(Duration.ofMillis(200))
                .stopTimeout(Duration.ofSeconds(2))
                .build());
    pgonce
        .listen(
            channel,
            QUICK,
            (number, tx) -> {
              begun
                  .computeIfAbsent(number.payload(), first -> new AtomicInteger())
                  .incrementAndGet();
              tx.update("insert into effect values (?)", number.payload());
            })
        .start();
  }

  private void awaitNothingWaits() {
    await("nothing waits")
        .atMost(SOON.multipliedBy(2))
        .until(
            () ->
                database.queryLong(
                        "select (select count(*) from pgonce.notification where subscription_id > 0) + (select count(*) from pgonce.scheduled where subscription_id > 0)")
                    == 0);
  }
}
