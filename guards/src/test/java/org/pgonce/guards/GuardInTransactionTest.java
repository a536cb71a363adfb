package org.pgonce.guards;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import javax.sql.DataSource;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** S6 in the caller's transaction, and what each form costs. */
@PgTest(GuardsInstalled.class)
@Tag("drivers")
class GuardInTransactionTest {

  static final Guard<Long, Long> BONUS =
      Guard.of("bonus", Long.class, Long.class)
          .withOptions(GuardOptions.DEFAULT.withLongestWait(Duration.ofMillis(200)));

  private TestDatabase database;
  private Guards guards;

  @BeforeEach
  void setUp(TestDatabase database) throws Exception {
    this.database = database;
    database.execute("create table booking (cents bigint)");
    guards = Guards.using(database.unpooled());
  }

  private Connection transaction() throws SQLException {
    var connection = database.unpooled().getConnection();
    connection.setAutoCommit(false);
    return connection;
  }

  private GuardResult<Long> book(Connection transaction, String key) throws Exception {
    return guards.inTransaction(transaction, BONUS, key, 500L, () -> insert(transaction, 500));
  }

  private static long insert(Connection transaction, long cents) throws SQLException {
    try (var statement = transaction.prepareStatement("insert into booking values (?)")) {
      statement.setLong(1, cents);
      statement.executeUpdate();
      return cents;
    }
  }

  private long bookings() throws SQLException {
    return database.queryLong("select count(*) from booking");
  }

  @Test
  void example_aBusinessStepTakesEffectOnceWithItsTransaction() throws Exception {
    for (var attempt = 1; attempt <= 3; attempt++) {
      try (var transaction = transaction()) {
        var booked =
            guards.inTransaction(
                transaction, BONUS, "customer-7", 500L, () -> insert(transaction, 500));
        assertThat(booked.orElseThrow()).isEqualTo(500);
        transaction.commit();
      }
    }
    assertThat(bookings()).isEqualTo(1);
  }

  @Test
  void s6_rolledBackItHasNotHappenedAndMayBeBegunAgain() throws Exception {
    try (var transaction = transaction()) {
      book(transaction, "k").orElseThrow();
      transaction.rollback();
      assertThat(guards.find(BONUS.key("k"))).isEmpty();
      var again = (GuardResult.Succeeded<Long>) book(transaction, "k");
      assertThat(again.stored()).isFalse();
      transaction.commit();
    }
    assertThat(bookings()).isEqualTo(1);
  }

  @Test
  void s6_aStepThatThrowsIsRolledBackOrKeptAsTheRuleSaysAsTheCallerDecides() throws Exception {
    Callable<Long> failing =
        () -> {
          throw new IllegalStateException("no");
        };
    try (var transaction = transaction()) {
      for (var commits : List.of(false, true)) {
        assertThatThrownBy(() -> guards.inTransaction(transaction, BONUS, "k", 1L, failing))
            .isInstanceOf(IllegalStateException.class)
            .hasMessage("no");
        if (commits) {
          transaction.commit();
        } else {
          transaction.rollback();
        }
        assertThat(guards.find(BONUS.key("k")).isPresent()).isEqualTo(commits);
      }
      // The caller has committed what the step may have written before it threw.
      assertThat(guards.find(BONUS.key("k")).orElseThrow().outcome())
          .isEqualTo(GuardOutcome.UNKNOWN);
    }
  }

  @Test
  void h43_aStepThatSwallowsAnSqlErrorIsNotTakenForDone() throws Exception {
    try (var transaction = transaction()) {
      assertThatThrownBy(
              () ->
                  guards.inTransaction(
                      transaction,
                      BONUS,
                      "k",
                      1L,
                      () -> {
                        try (var statement = transaction.createStatement()) {
                          statement.execute("select 1/0");
                        } catch (SQLException swallowed) {
                          return 1L;
                        }
                        return 2L;
                      }))
          .isInstanceOf(SQLException.class);
      transaction.rollback();
    }
    assertThat(guards.find(BONUS.key("k"))).isEmpty();
  }

  @Test
  void s6_whoFindsTheKeyInAnOpenTransactionWaitsItsBoundAndCanGoOn() throws Exception {
    try (var first = transaction();
        var second = transaction()) {
      book(first, "k").orElseThrow();
      insert(second, 1);
      var busy = (GuardResult.InProgress<Long>) book(second, "k");
      assertThat(busy.state()).isNull();
      assertThatThrownBy(busy::orElseThrow)
          .hasMessageContaining("is in progress elsewhere, in an open transaction");
      insert(second, 2);
      second.commit(); // what it had done before and after is kept
      first.commit();
      assertThat(bookings()).isEqualTo(3);
      assertThat(((GuardResult.Succeeded<Long>) book(second, "k")).stored()).isTrue();
      second.rollback();
    }
  }

  @Test
  void s6_ofManyTransactionsAtOnceOneTakesEffect() throws Exception {
    var patient = BONUS.withOptions(GuardOptions.DEFAULT.withLongestWait(Duration.ofSeconds(30)));
    var threads = Executors.newFixedThreadPool(16);
    try {
      var together = new CountDownLatch(16);
      var results = new CopyOnWriteArrayList<GuardResult<Long>>();
      for (var i = 0; i < 16; i++) {
        var rollsBack = i % 2 == 0;
        var unused =
            threads.submit(
                () -> {
                  try (var transaction = transaction()) {
                    together.countDown();
                    together.await();
                    var result =
                        guards.inTransaction(
                            transaction, patient, "k", 1L, () -> insert(transaction, 1));
                    if (rollsBack) {
                      transaction.rollback();
                    } else {
                      transaction.commit();
                    }
                    results.add(result);
                  }
                  return true;
                });
      }
      threads.shutdown();
      assertThat(threads.awaitTermination(60, TimeUnit.SECONDS)).isTrue();
      assertThat(results).hasSize(16).allMatch(GuardResult.Succeeded.class::isInstance);
      assertThat(bookings()).isEqualTo(1);
    } finally {
      threads.shutdownNow();
    }
  }

  @Test
  void s6_autocommitIsRefused() throws Exception {
    try (var connection = database.unpooled().getConnection()) {
      assertThatThrownBy(() -> book(connection, "k"))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("autocommit on");
    }
  }

  @Test
  void h33_aSearchPathThatShadowsOursHasNoEffect() throws Exception {
    database.execute(
        """
        create schema evil;
        create function evil.encode(bytea, text) returns text language sql as $$ select 'evil'::text $$;
        create function evil.clock_timestamp() returns timestamptz language sql as $$ select 'infinity'::timestamptz $$;
        create function evil.times(numeric, numeric) returns numeric language sql as $$ select 0::numeric $$;
        create operator evil.* (leftarg = numeric, rightarg = numeric, function = evil.times);
        create function evil.minus(timestamptz, timestamptz) returns interval language sql as $$ select interval '9 years' $$;
        create operator evil.- (leftarg = timestamptz, rightarg = timestamptz, function = evil.minus);
        create function evil.eq(text, text) returns boolean language sql as $$ select false $$;
        create operator evil.= (leftarg = text, rightarg = text, function = evil.eq)
        """);
    try (var transaction = transaction();
        var statement = transaction.createStatement()) {
      statement.execute("set search_path = pg_temp, evil, pg_catalog");
      guards.inTransaction(transaction, BONUS, "k", 1L, () -> 1L).orElseThrow();
      assertThat(
              ((GuardResult.Succeeded<Long>)
                      guards.inTransaction(transaction, BONUS, "k", 1L, () -> 2L))
                  .response())
          .isEqualTo(1);
      transaction.commit();
    }
  }

  @Test
  void s6_whatItCosts() throws Exception {
    var sent = new ArrayList<String>();
    var counted = Guards.using(counting(database.pooled(2), sent));
    counted.once(BONUS, "k", 1L, () -> 1L).orElseThrow();
    sent.removeIf(one -> one.startsWith("BEGIN")); // pgjdbc-ng: a message of its own
    assertThat(sent)
        .containsExactly("bounds", "guard_begin", "commit", "bounds", "guard_finish", "commit");
    sent.clear();
    counted.once(BONUS, "k", 1L, () -> 1L).orElseThrow();
    sent.removeIf(one -> one.startsWith("BEGIN"));
    assertThat(sent).containsExactly("bounds", "guard_begin", "commit");
    sent.clear();
    var steps = Guard.of("steps", Long.class, Long.class);
    counted
        .run(
            steps,
            "k",
            1L,
            run -> run.repeatable("a", Long.class, () -> 1L) + run.once("b", Long.class, () -> 1L))
        .orElseThrow();
    sent.removeIf(one -> one.startsWith("BEGIN") || one.equals("bounds") || one.equals("commit"));
    assertThat(sent)
        .containsExactly(
            "guard_begin",
            "sequence_steps",
            "step_done",
            "step_begin",
            "guard_finish",
            "guard_finish");
    sent.clear();
    try (var transaction = counting(database.unpooled(), sent).getConnection()) {
      transaction.setAutoCommit(false);
      counted.inTransaction(transaction, BONUS, "other", 1L, () -> 1L).orElseThrow();
      assertThat(sent).containsExactly("guard_enter", "guard_finish");
      transaction.rollback();
    }
  }

  /** Notes each statement that is run, and each commit. */
  private static DataSource counting(DataSource real, List<String> sent) {
    return proxy(
        DataSource.class,
        real,
        (name, arguments, result) ->
            result instanceof Connection connection ? counting(connection, sent) : result);
  }

  private static Connection counting(Connection real, List<String> sent) {
    return proxy(
        Connection.class,
        real,
        (name, arguments, result) -> {
          if (name.equals("commit") || name.equals("rollback")) {
            sent.add(name);
          }
          return result instanceof PreparedStatement statement
              ? counting(statement, (String) arguments[0], sent)
              : result;
        });
  }

  private static PreparedStatement counting(PreparedStatement real, String sql, List<String> sent) {
    return proxy(
        PreparedStatement.class,
        real,
        (name, arguments, result) -> {
          if (name.startsWith("execute")) {
            // The first of each transaction bounds how long it may idle.
            sent.add(
                sql.contains("idle_in_transaction")
                    ? "bounds"
                    : sql.replaceAll("(?s).*pgonce_guards\\.(\\w+)\\(.*", "$1"));
          }
          return result;
        });
  }

  private interface After {
    Object seen(String method, Object[] arguments, Object result);
  }

  private static <T> T proxy(Class<T> type, T real, After after) {
    return type.cast(
        Proxy.newProxyInstance(
            GuardInTransactionTest.class.getClassLoader(),
            new Class<?>[] {type},
            (proxy, method, arguments) -> {
              try {
                return after.seen(method.getName(), arguments, method.invoke(real, arguments));
              } catch (InvocationTargetException e) {
                throw e.getCause();
              }
            }));
  }
}
