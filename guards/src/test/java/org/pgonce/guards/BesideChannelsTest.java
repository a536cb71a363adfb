package org.pgonce.guards;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.pgonce.Channel;
import org.pgonce.PgOnce;
import org.pgonce.Publisher;
import org.pgonce.internal.store.Schema;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** Guards in a database that has channels: in handlers, and each without the other. */
@PgTest
class BesideChannelsTest {

  private static final Channel<Integer> ORDERS = Channel.of("orders", Integer.class);
  private static final Guard<Integer, String> PAYMENT =
      Guard.of("payment", Integer.class, String.class);
  private static final Guard<Integer, Integer> BONUS =
      Guard.of("bonus", Integer.class, Integer.class);

  private static void install(TestDatabase database) {
    PgOnce.using(database.dataSource()).install(ORDERS);
    Guards.using(database.dataSource()).install();
  }

  /** A listener's login has what a handler needs for both forms. */
  @Test
  void s6_aHandlerUsesGuards(TestDatabase database) throws Exception {
    install(database);
    database.execute("create table booking (id int)");
    var listener = database.loginRole("listener", "pgonce_listener");
    database.execute("grant insert on booking to " + listener.user());
    var paid = new AtomicInteger();
    var attempts = new AtomicInteger();
    try (var pool = listener.pooled(6);
        var pgonce = PgOnce.using(pool)) {
      var guards = Guards.using(pool);
      pgonce.listen(
          ORDERS,
          (order, tx) -> {
            guards.once(PAYMENT, "order", order.payload(), () -> "paid " + paid.incrementAndGet());
            guards
                .inTransaction(
                    tx.connection(),
                    BONUS,
                    "order",
                    order.payload(),
                    () -> tx.update("insert into booking values (?)", order.payload()))
                .orElseThrow();
            if (attempts.incrementAndGet() == 1) {
              throw new IllegalStateException("the outcome of the call stays, the bonus goes");
            }
          });
      pgonce.start();
      try (var connection = database.dataSource().getConnection()) {
        Publisher.standard().publish(connection, ORDERS, 7);
      }
      await()
          .atMost(Duration.ofSeconds(60))
          .until(() -> database.queryLong("select count(*) from booking") == 1);
      assertThat(attempts).hasValue(2);
      assertThat(paid).hasValue(1);
      assertThat(guards.once(PAYMENT, "order", 7, () -> "again").orElseThrow()).isEqualTo("paid 1");
    }
  }

  @Test
  void h36_aRoleOfTheOneMayNothingOfTheOther(TestDatabase database) throws Exception {
    install(database);
    var shop = database.loginRole("shop", "pgonce_guard");
    var publisher = database.loginRole("publisher", "pgonce_publisher");
    try (var connection = shop.dataSource().getConnection()) {
      assertThatThrownBy(() -> Publisher.standard().publish(connection, ORDERS, 7))
          .hasMessageContaining("permission denied");
    }
    assertThatThrownBy(
            () -> Guards.using(publisher.dataSource()).once(PAYMENT, "k", 7, () -> "done"))
        .hasMessageContaining("the call was not made")
        .hasMessageContaining("permission denied");
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void h74_eachGoesWithoutTheOther(boolean guardsFirst, TestDatabase database) throws Exception {
    Guards.using(database.dataSource()).install();
    PgOnce.using(database.dataSource()).install(ORDERS);
    var ways = List.of(InstallTest.uninstallScript(), Schema.uninstallScript());
    database.execute(ways.get(guardsFirst ? 0 : 1));
    if (guardsFirst) {
      try (var connection = database.dataSource().getConnection()) {
        Publisher.standard().publish(connection, ORDERS, 7);
      }
    } else {
      var shop = Guards.using(database.loginRole("shop", "pgonce_guard").dataSource());
      assertThat(shop.once(PAYMENT, "k", 7, () -> "done").orElseThrow()).isEqualTo("done");
    }
    database.execute(ways.get(guardsFirst ? 1 : 0));
    assertThat(database.queryLong("select count(*) from pg_namespace where nspname ~ '^pgonce'"))
        .isZero();
  }
}
