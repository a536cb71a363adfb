package org.pgonce.wakeup;

import static org.assertj.core.api.Assertions.assertThat;
import static org.pgonce.stage.Stage.ORDERS;
import static org.pgonce.stage.Stage.QUICK;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.pgonce.Channel;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.PublishOptions;
import org.pgonce.Publisher;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.stage.Stage.Order;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** A process that polls rarely polls each second while something waits, as its holder may die. */
@PgTest(PgOnceInstalled.class)
class RarePollTest {

  private static final Duration RARELY = Duration.ofMinutes(10);

  private TestDatabase database;
  private Stage stage;

  @BeforeEach
  void open(TestDatabase opened) throws SQLException {
    database = opened;
    stage = new Stage(opened);
  }

  @AfterEach
  void close() {
    stage.close();
  }

  private PgOnce listen() {
    return listen(ORDERS);
  }

  private PgOnce listen(Channel<Order> channel) {
    var pgonce = stage.pgonce(PgOnce.builder(stage.dataSource), RARELY);
    pgonce.listen(channel, QUICK, Stage::effect).start();
    // Behind its poll right after LISTEN, of which the first heartbeat tells.
    stage.awaitSoon(
        () ->
            database.queryLong(
                    "select count(*) from pgonce.listener where backend is not null and seen_at > started_at")
                == 1);
    return pgonce;
  }

  private static void execute(Connection connection, String sql) throws SQLException {
    try (var statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }

  /** Those before it are frozen, or busy for long. */
  @Test
  void h88_whatTheFirstTwoDoNotHandleTheThirdFinds() throws Exception {
    stage.aLostOneIsTheFirst(ORDERS);
    stage.aLostOneIsTheFirst(ORDERS);
    listen();
    stage.publish(1);
    stage.awaitSoon(() -> stage.effects() == 1);
  }

  @Test
  void h88_whatTheFirstLetsGoTheSecondFinds() throws Exception {
    stage.aLostOneIsTheFirst(ORDERS);
    isFoundWhenItsHolderLetsItGo(listen(), PublishOptions.DEFAULT, "notification");
  }

  @Test
  void h88_whatWasDueAndIsLetGoIsFound() throws Exception {
    var inASecond = PublishOptions.DEFAULT.withDelay(Duration.ofSeconds(1));
    isFoundWhenItsHolderLetsItGo(listen(), inASecond, "scheduled");
  }

  private void isFoundWhenItsHolderLetsItGo(PgOnce pgonce, PublishOptions options, String table)
      throws Exception {
    try (var holder = database.unpooled().getConnection()) {
      holder.setAutoCommit(false);
      Publisher.standard().publish(holder, ORDERS, new Order(1, "x"), options);
      // In one message, so that nobody comes between.
      execute(
          holder,
          "commit; begin; select from pgonce.%s where subscription_id > 0 for update"
              .formatted(table));
      stage.awaitSoon(() -> pgonce.status().channels().get(0).emptyClaims() > 0);
      assertThat(stage.effects()).isZero();
      holder.rollback();
    }
    stage.awaitSoon(() -> stage.effects() == 1);
  }

  @Test
  void h88_whatTheFirstHasLeasedAndDoesNotRenewTheSecondFinds() throws Exception {
    var calls = Channel.of("calls", Order.class, Mode.AT_LEAST_ONCE);
    PgOnce.using(stage.dataSource).install(calls);
    stage.aLostOneIsTheFirst(calls);
    listen(calls);
    try (var first = database.unpooled().getConnection()) {
      first.setAutoCommit(false);
      Publisher.standard().publish(first, calls, new Order(1, "x"));
      execute(
          first,
          "select pgonce.lease(s.id, false, gen_random_uuid(), 2000, 3, 'NONE', 'AT_LEAST_ONCE') from pgonce.subscription s where s.of_channel = 'calls'");
      first.commit();
    }
    stage.awaitSoon(() -> stage.effects() == 1);
  }
}
