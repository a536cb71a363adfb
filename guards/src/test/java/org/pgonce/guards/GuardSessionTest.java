package org.pgonce.guards;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.pgonce.guards.GuardTest.CHARGE;
import static org.pgonce.guards.GuardTest.PAYMENT;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
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
