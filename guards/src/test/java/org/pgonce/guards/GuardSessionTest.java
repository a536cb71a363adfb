package org.pgonce.guards;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.pgonce.guards.GuardTest.CHARGE;
import static org.pgonce.guards.GuardTest.PAYMENT;

import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.pgonce.PgOnceException;
import org.pgonce.guards.GuardTest.Receipt;
import org.pgonce.testkit.LoggedPlans;
import org.pgonce.testkit.PackagedServer;
import org.pgonce.testkit.PgBouncer;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TappedSource;
import org.pgonce.testkit.TestDatabase;

/** What the sessions that guards work in are given, and what is asked of them. */
@PgTest(GuardsInstalled.class)
class GuardSessionTest {

  private static GuardResult<Receipt> pay(Guards guards) {
    return guards.once(PAYMENT, "order-1", CHARGE, () -> new Receipt("done"));
  }

  private static String one(Connection connection, String sql) throws SQLException {
    try (var statement = connection.createStatement();
        var row = statement.executeQuery(sql)) {
      row.next();
      return String.valueOf(row.getString(1));
    }
  }

  /** As Spring's TransactionAwareDataSourceProxy does it within a transaction. */
  @Test
  void s6_aDataSourceThatGivesTheCallersTransactionIsRefusedAndThatGoesOn(TestDatabase database)
      throws Exception {
    database.execute("create table booking (cents bigint)");
    try (var transaction = database.dataSource().getConnection();
        var statement = transaction.createStatement()) {
      transaction.setAutoCommit(false);
      statement.execute("insert into booking values (1)");
      var guards = Guards.using(handingOut(transaction));
      assertThatThrownBy(() -> pay(guards))
          .isInstanceOf(PgOnceException.class)
          .hasMessageContaining("the call was not made")
          .hasMessageContaining("amid a transaction of others");
      assertThat(one(transaction, "select count(*) from booking")).isEqualTo("1");
      assertThat(database.queryLong("select count(*) from booking")).isZero();
      transaction.rollback();
      assertThat(pay(guards).orElseThrow()).isEqualTo(new Receipt("done"));
      statement.execute("insert into booking values (2)");
      assertThatThrownBy(() -> guards.purge(10)).hasMessageContaining("amid a transaction");
      assertThatThrownBy(() -> pay(guards)).hasMessageContaining("amid a transaction");
      assertThat(database.queryLong("select count(*) from booking")).isZero();
      assertThat(one(transaction, "select count(*) from booking")).isEqualTo("1");
    }
  }

  private static DataSource handingOut(Connection transaction) {
    var open =
        proxy(
            Connection.class,
            (method, arguments) ->
                method.getName().equals("close") ? null : method.invoke(transaction, arguments));
    return proxy(DataSource.class, (method, arguments) -> open);
  }

  private interface Answer {
    @Nullable Object to(Method method, Object[] arguments) throws Throwable;
  }

  private static <T> T proxy(Class<T> type, Answer answer) {
    return type.cast(
        Proxy.newProxyInstance(
            GuardSessionTest.class.getClassLoader(),
            new Class<?>[] {type},
            (proxy, method, arguments) -> answer.to(method, arguments)));
  }

  @Test
  void h49_eachTransactionThatIsCommittedHasABound(TestDatabase database) {
    var bounds = new CopyOnWriteArrayList<String>();
    TappedSource.Tap tap =
        (sql, real) -> {
          if (sql.equals("COMMIT")) {
            bounds.add(one(real, "select current_setting('idle_in_transaction_session_timeout')"));
          }
          return sql;
        };
    var guards = Guards.using(TappedSource.over(database.dataSource(), tap));
    assertThat(pay(guards).orElseThrow()).isEqualTo(new Receipt("done"));
    assertThat(bounds).containsExactly("30s", "30s");
  }

  /** As on Windows, whose server refuses the setting, as this one does the value. */
  @Test
  void h55_whereThePlatformHasNoCheckAllGoesOnWithoutIt(TestDatabase database) {
    var told = new AtomicInteger();
    TappedSource.Tap tap =
        (sql, real) -> {
          if (sql.contains("pg_catalog.version()")) {
            told.incrementAndGet();
          }
          return sql.replace(
                  "pg_catalog.version()", "'PostgreSQL 18.0 on x86_64-windows'::pg_catalog.text")
              .replace("ELSE '1s' END", "ELSE '-1' END");
        };
    var guards = Guards.using(TappedSource.over(database.dataSource(), tap));
    assertThat(pay(guards).orElseThrow()).isEqualTo(new Receipt("done"));
    assertThat(told).hasPositiveValue();
  }

  @Test
  void h67_behindATransactionModePoolerACallIsNotMade(TestDatabase database) throws Exception {
    var calls = new AtomicInteger();
    try (var pooler = PgBouncer.start(database, "transaction");
        var pool = pooler.login(database).pooled(4)) {
      var guards = Guards.using(pool);
      assertThatThrownBy(
              () ->
                  guards.once(
                      Guard.of("payment", String.class, Integer.class),
                      "1",
                      "request",
                      calls::incrementAndGet))
          .isInstanceOf(PgOnceException.class)
          .hasMessageContaining("the call was not made")
          .hasMessageContaining("prepareThreshold=0");
    }
    assertThat(calls).hasValue(0);
  }

  @Test
  void h89_noStatementIsCompiled() throws Exception {
    try (var server = PackagedServer.start(LoggedPlans.SETTINGS);
        var database = LoggedPlans.database(server)) {
      everything(Guards.using(database.pooled(2)).install());
      var plans = LoggedPlans.of(server);
      assertThat(plans.has("pgonce_guards.guard ")).isTrue();
      assertThat(plans.disabled()).as("plans that use what is disabled").isEmpty();
      assertThat(plans.compiled()).as("statements that were compiled").isEmpty();
    }
  }

  private static void everything(Guards guards) {
    var guard =
        Guard.of("payment", String.class, String.class)
            .withOptions(GuardOptions.DEFAULT.withRetention(Duration.ZERO));
    for (var n = 0; n < 8; n++) {
      guards.once(guard, "order " + n / 2, "request", () -> "done");
    }
    guards.run(
        Guard.of("fulfilment", String.class, String.class),
        "order",
        "request",
        steps ->
            steps.once("charge", String.class, () -> "charged")
                + steps.repeatable("label", String.class, () -> "printed"));
    assertThat(guards.open(10)).isEmpty();
    assertThat(guards.purge(100)).isPositive();
  }
}
