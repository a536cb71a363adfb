package org.pgonce.handler;

import static org.assertj.core.api.Assertions.assertThat;
import static org.pgonce.stage.Stage.ORDERS;
import static org.pgonce.stage.Stage.QUICK;

import java.sql.SQLException;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.Channel;
import org.pgonce.Condition;
import org.pgonce.Handler;
import org.pgonce.Mode;
import org.pgonce.Notification;
import org.pgonce.PgOnce;
import org.pgonce.Tx;
import org.pgonce.spi.Event;
import org.pgonce.spi.Observer;
import org.pgonce.spi.PayloadCodec;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** S14: who opts out during the run gets nothing more. */
@PgTest(PgOnceInstalled.class)
@Tag("drivers")
class ConditionTest {

  private final List<Long> skipped = new CopyOnWriteArrayList<>();
  private final Observer observer =
      event -> {
        if (event instanceof Event.Skipped said) {
          skipped.add(said.about().id());
        }
      };
  private Stage stage;

  @BeforeEach
  void open(TestDatabase database) throws SQLException {
    stage = new Stage(database);
    database.execute("create table opted_out (id bigint)");
  }

  @AfterEach
  void close() {
    stage.close();
  }

  private static boolean wanted(Notification<Stage.Order> order, Tx tx) throws SQLException {
    return tx.query("select 1 from opted_out where id = ?", row -> true, order.payload().id())
        .isEmpty();
  }

  @Test
  void example_whoOptsOutWhileItIsQueuedGetsNothing() throws Exception {
    stage.publish(3);
    stage.database.execute("insert into opted_out values (2)");
    stage
        .pgonce(PgOnce.builder(stage.dataSource).observer(observer))
        .listen(
            ORDERS,
            QUICK,
            Handler.onlyIf(
                (order, tx) ->
                    tx.query("select 1 from opted_out where id = ?", row -> 1, order.payload().id())
                        .isEmpty(),
                (order, tx) -> Stage.effect(order, tx)))
        .start();
    stage.awaitSoon(() -> stage.waiting() == 0 && skipped.size() == 1);
    assertThat(
            stage.database.queryString("select string_agg(id::text, ' ' order by id) from effect"))
        .isEqualTo("1 3");
    assertThat(stage.deadLetters()).isZero();
  }

  @Test
  void s14_whoOptsOutBetweenClaimAndCheckGetsNothing() throws Exception {
    // The payload is read when the row is claimed: so this is the moment in between.
    var codec = new OptingOut();
    stage
        .pgonce(PgOnce.builder(stage.dataSource).observer(observer).codec(codec))
        .listen(ORDERS, QUICK, Handler.onlyIf(ConditionTest::wanted, Stage::effect))
        .start();
    stage.publish(1);
    stage.awaitSoon(() -> stage.waiting() == 0 && skipped.size() == 1);
    assertThat(stage.effects()).isZero();
  }

  private final class OptingOut implements PayloadCodec {

    private final PayloadCodec json = PayloadCodec.standard();

    @Override
    public <T> String encode(T payload, Class<T> type) {
      return json.encode(payload, type);
    }

    @Override
    public <T> T decode(String payload, Class<T> type) throws UnreadablePayloadException {
      try {
        stage.database.execute("insert into opted_out values (1)");
      } catch (SQLException e) {
        throw new IllegalStateException(e);
      }
      return json.decode(payload, type);
    }
  }

  @Test
  void s14_aConditionThatThrowsIsAFailedAttempt() throws Exception {
    stage
        .pgonce(PgOnce.builder(stage.dataSource).observer(observer))
        .listen(
            ORDERS,
            QUICK,
            Handler.onlyIf(
                (order, tx) -> tx.query("select 1/0", row -> 1).isEmpty(), Stage::effect))
        .start();
    stage.publish(1);
    stage.awaitSoon(() -> stage.deadLetters() == 1);
    assertThat(skipped).isEmpty();
  }

  @Test
  void h43_aConditionThatSwallowsAnSqlErrorHasFailedAndSkipsNothing() throws Exception {
    stage
        .pgonce(PgOnce.builder(stage.dataSource).observer(observer))
        .listen(
            ORDERS,
            QUICK,
            Handler.onlyIf(
                (order, tx) -> {
                  try {
                    return tx.query("select 1/0", row -> 1).isEmpty();
                  } catch (SQLException swallowed) {
                    return false;
                  }
                },
                Stage::effect))
        .start();
    stage.publish(1);
    stage.awaitSoon(() -> stage.deadLetters() == 1);
    assertThat(skipped).isEmpty();
  }

  @Test
  void s14_eachOfSeveralConditionsMustHold() throws Exception {
    Condition<Stage.Order> even = (order, tx) -> order.payload().id() % 2 == 0;
    Condition<Stage.Order> third = (order, tx) -> order.payload().id() % 3 == 0;
    stage
        .pgonce(PgOnce.builder(stage.dataSource).observer(observer))
        .listen(ORDERS, QUICK, Handler.onlyIf(even, Handler.onlyIf(third, Stage::effect)))
        .start();
    stage.publish(12);
    stage.awaitSoon(() -> stage.waiting() == 0 && skipped.size() == 10);
    assertThat(
            stage.database.queryString("select string_agg(id::text, ' ' order by id) from effect"))
        .isEqualTo("6 12");
  }

  @Test
  void s14_aBroadcastIsSkippedAlike() throws Exception {
    var news = Channel.of("news", Integer.class, Mode.BROADCAST);
    var seen = new CopyOnWriteArrayList<Integer>();
    var pgonce =
        stage
            .pgonce(PgOnce.builder(stage.dataSource).observer(observer))
            .install(news)
            .listen(
                news,
                Handler.onlyIf(
                    (number, tx) -> number.payload() > 1,
                    (number, tx) -> seen.add(number.payload())))
            .start();
    try (var connection = stage.dataSource.getConnection()) {
      pgonce.publisher().publishAll(connection, news, List.of(1, 2));
    }
    stage.awaitSoon(() -> skipped.size() == 1 && seen.size() == 1);
    assertThat(seen).containsExactly(2);
  }
}
