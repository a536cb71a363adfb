package org.pgonce.operations;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.pgonce.operations.Stage.ORDERS;

import java.sql.SQLException;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.PgOnceException;
import org.pgonce.Publisher;
import org.pgonce.RejectedException;
import org.pgonce.operations.DeadLetters.DeadLetter;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** Dead letters are listed, redriven and discarded. */
@PgTest(PgOnceInstalled.class)
@Tag("drivers")
class DeadLettersTest {

  private static final Channel<Stage.Order> PLACED =
      Channel.of(
          "order.placed",
          Stage.Order.class,
          Mode.EXACTLY_ONCE,
          ChannelOptions.DEFAULT.withSubscriptions("billing", "stock"));

  private static final String LOG =
      "select string_agg(concat_ws(' ', what, channel, subscription, operator, reason, concerned), e'\\n' order by id)"
          + " from pgonce.operation_log where what <> 'INSTALL'";

  private Stage stage;
  private DeadLetters letters;

  @BeforeEach
  void open(TestDatabase database) throws SQLException {
    stage = new Stage(database);
    letters = Operations.over(stage.dataSource).by("Anna").deadLetters();
  }

  @AfterEach
  void close() {
    stage.close();
  }

  private void bury(long id) throws SQLException {
    stage.database.execute(
        """
        insert into pgonce.dead_letter (subscription_id, id, attempts, created_at, reason, error, payload)
        select s.id, %d, 1, now(), 'REJECTED', 'x', '{}' from pgonce.subscription s where s.of_channel = 'orders'
        """
            .formatted(id));
  }

  /** Three notifications that both subscriptions have given up. */
  private List<Long> giveUpForEach() throws SQLException {
    PgOnce.using(stage.dataSource).install(PLACED);
    try (var connection = stage.dataSource.getConnection()) {
      Publisher.standard()
          .publishAll(
              connection,
              PLACED,
              List.of(new Stage.Order(1, "a"), new Stage.Order(2, "b"), new Stage.Order(3, "c")));
    }
    stage.database.execute(
        "select pgonce.bury(n.subscription_id, n.id, 0, null, 1, 'REJECTED', 'not wanted')"
            + " from pgonce.notification n where n.subscription_id > 0");
    return letters.of(PLACED, 10).stream().map(DeadLetter::id).distinct().toList();
  }

  private long waitingFor(String subscription) throws SQLException {
    return stage.database.queryLong(
        "select count(*) from pgonce.peek('order.placed', 100, '%s', false)"
            .formatted(subscription));
  }

  @Test
  void example_whatCouldNotBeHandledIsHandledAfterARedrive() throws Exception {
    var mended = new AtomicBoolean();
    stage
        .pgonce()
        .listen(
            ORDERS,
            Stage.QUICK,
            (order, tx) -> {
              if (!mended.get()) {
                throw new RejectedException("no such item");
              }
              Stage.effect(order, tx);
            })
        .start();
    stage.publish(3);
    stage.awaitSoon(() -> stage.deadLetters() == 3);

    var all = letters.of(ORDERS, 10);
    assertThat(letters.of(ORDERS, 1)).containsExactly(all.get(0));
    assertThat(all).extracting(DeadLetter::reason).containsOnly("REJECTED");
    assertThat(all).allMatch(one -> one.error().contains("no such item") && one.attempts() == 1);
    assertThat(all).allMatch(one -> one.subscription().equals("default") && one.version() == 1);
    assertThat(
            stage.database.queryLong(
                "select count(*) from pgonce.dead_letter where died_at = '%s'"
                    .formatted(all.get(0).diedAt())))
        .isPositive();

    assertThat(letters.discard(ORDERS, List.of(all.get(0).id(), 999L))).isEqualTo(1);
    mended.set(true);
    assertThat(letters.redrive(ORDERS)).isEqualTo(2);
    stage.awaitSoon(() -> stage.eachOnce(2) && stage.waiting() == 0);
    assertThat(letters.of(ORDERS, 10)).isEmpty();
    assertThat(letters.redrive(ORDERS)).isZero();
  }

  @Test
  void example_aSubscriptionsDeadLettersAreRedrivenWithoutThoseOfTheOther() throws Exception {
    giveUpForEach();

    // The account is there by now, the article never will be.
    letters.because("account opened").redrive(PLACED, "billing");
    letters.because("out of print").discard(PLACED, "stock");

    assertThat(waitingFor("billing")).isEqualTo(3);
    assertThat(waitingFor("stock")).isZero();
    assertThat(letters.of(PLACED, 10)).isEmpty();
    assertThat(stage.database.queryString(LOG))
        .isEqualTo(
            """
            REDRIVE order.placed billing Anna account opened 3
            DISCARD order.placed stock Anna out of print 3""");
  }

  @Test
  void h52_ofTheSubscriptionsDeadLettersOnlyThoseWithTheIdsAreTaken() throws Exception {
    var ids = giveUpForEach();
    assertThat(letters.redrive(PLACED, "stock", List.of(ids.get(0), 999_999L))).isEqualTo(1);
    assertThat(letters.discard(PLACED, "stock", List.of(ids.get(1)))).isEqualTo(1);
    assertThat(letters.redrive(PLACED, "billing", List.of())).isZero();
    assertThat(letters.of(PLACED, 10))
        .extracting(letter -> letter.subscription() + " " + letter.id())
        .containsExactly(
            "billing " + ids.get(0),
            "billing " + ids.get(1),
            "billing " + ids.get(2),
            "stock " + ids.get(2));
    assertThat(letters.redrive(PLACED, List.of(ids.get(2)))).isEqualTo(2);
    assertThat(letters.discard(PLACED)).isEqualTo(2);
    assertThat(waitingFor("stock")).isEqualTo(2);
    assertThat(waitingFor("billing")).isEqualTo(1);
  }

  @Test
  void ops_howManyAreListedHasBounds() {
    for (var limit : List.of(0, 100_001)) {
      assertThatThrownBy(() -> letters.of(ORDERS, limit))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessage("limit " + limit + " is not between 1 and 100,000");
    }
    assertThat(letters.of(Channel.of("unheard.of", String.class), 100_000)).isEmpty();
  }

  @Test
  void h87_redriveAndDiscardOfAnUnknownChannelAreErrors() {
    var unknown = Channel.of("unheard.of", String.class);
    assertThatThrownBy(() -> letters.redrive(unknown))
        .isInstanceOf(PgOnceException.class)
        .hasMessageContaining("cannot redrive")
        .hasMessageContaining("channel \"unheard.of\" is not installed");
    assertThatThrownBy(() -> letters.discard(unknown, List.of(1L)))
        .isInstanceOf(PgOnceException.class)
        .hasMessageContaining("cannot discard")
        .hasMessageContaining("channel \"unheard.of\" is not installed");
  }

  @Test
  void h87_redriveAndDiscardForAnUnknownSubscriptionAreErrors() throws Exception {
    bury(1000);
    assertThatThrownBy(() -> letters.redrive(ORDERS, "audit"))
        .isInstanceOf(PgOnceException.class)
        .hasMessageContaining("cannot redrive")
        .hasMessageContaining("with a subscription \"audit\"");
    assertThatThrownBy(() -> letters.discard(ORDERS, "audit", List.of(1000L)))
        .isInstanceOf(PgOnceException.class)
        .hasMessageContaining("cannot discard")
        .hasMessageContaining("with a subscription \"audit\"");
    assertThatThrownBy(() -> letters.discard(ORDERS, "Not A Name"))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("subscription name \"Not A Name\"");
    assertThat(stage.deadLetters()).isEqualTo(1);
  }

  @Test
  void h34_theAdminRoleDiscardsAndTheListenerRoleDoesNot() throws Exception {
    bury(1000);
    var listener = stage.database.loginRole("worker", "pgonce_listener").unpooled();
    assertThatThrownBy(() -> Operations.over(listener).deadLetters().discard(ORDERS))
        .isInstanceOf(PgOnceException.class)
        .hasMessageContaining("permission denied");
    var admin = stage.database.loginRole("oncall", "pgonce_admin").unpooled();
    assertThat(Operations.over(admin).deadLetters().discard(ORDERS)).isEqualTo(1);
  }
}
