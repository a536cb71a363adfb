package org.pgonce;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.pgonce.Stage.Order;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** H14: handlers whose notifications lead to themselves again come to an end. */
@PgTest
@Tag("drivers")
class LoopGuardTest {

  private static final Channel<Order> ECHO =
      Channel.of("echo", Order.class, Mode.EXACTLY_ONCE, ChannelOptions.DEFAULT.withMaxDepth(5));

  private Stage stage;

  @BeforeEach
  void setUp(TestDatabase database) throws SQLException {
    stage = new Stage(database);
    PgOnce.using(stage.dataSource).install(ECHO);
  }

  @AfterEach
  void tearDown() {
    stage.close();
  }

  private void begin() throws SQLException {
    try (var connection = stage.dataSource.getConnection()) {
      Publisher.standard().publish(connection, ECHO, new Order(1, "hello"));
    }
  }

  private void awaitTheEnd(AtomicInteger handled) throws SQLException {
    stage.awaitSoon(() -> stage.deadLetters() == 1);
    stage.awaitNothingWaits();
    assertThat(handled).hasValue(6); // the first, and five that it led to
    assertThat(
            stage.database.queryString(
                "select concat_ws(' ', reason, attempts, stamp, error) from pgonce.dead_letter"))
        .startsWith("TOO_DEEP 0 6 it was published at depth 6")
        .contains("the channel allows a depth of 5");
  }

  @Test
  void h14_aHandlerThatPublishesToItsOwnChannelIsCutAtTheDepthOfTheChannel() throws Exception {
    var handled = new AtomicInteger();
    var pgonce = stage.pgonce();
    pgonce
        .listen(
            ECHO,
            (order, tx) -> {
              handled.incrementAndGet();
              tx.publish(ECHO, order.payload());
            })
        .start();
    begin();
    awaitTheEnd(handled);
    assertThat(pgonce.deadLetters().of(ECHO, 10))
        .singleElement()
        .extracting(DeadLetters.DeadLetter::reason)
        .isEqualTo("TOO_DEEP");
  }

  @Test
  void h14_neitherADelayNorADeliveryKeyBreaksTheCount() throws Exception {
    var handled = new AtomicInteger();
    stage
        .pgonce()
        .listen(
            ECHO,
            (order, tx) -> {
              handled.incrementAndGet();
              tx.publish(
                  ECHO,
                  order.payload(),
                  PublishOptions.DEFAULT
                      .withDelay(Duration.ofMillis(order.id() % 2 == 0 ? 0 : 20))
                      .withDeliveryKey("echo " + order.id()));
            })
        .start();
    begin();
    awaitTheEnd(handled);
    assertThat(stage.database.queryLong("select sum(waiting) from pgonce.delivery_key"))
        .isEqualTo(1);
  }

  @Test
  void h14_anAttemptThatIsRepeatedIsNotDeeper() throws Exception {
    var handled = new AtomicInteger();
    stage
        .pgonce()
        .listen(
            ECHO,
            Stage.QUICK,
            (order, tx) -> {
              if (order.attempt() < 3) {
                throw new IllegalStateException("not yet");
              }
              handled.incrementAndGet();
              tx.publish(ECHO, order.payload());
            })
        .start();
    begin();
    awaitTheEnd(handled);
  }

  /** A lease is no transaction that could tell: the handler's own one does. */
  @ParameterizedTest
  @EnumSource(
      value = Mode.class,
      names = {"AT_LEAST_ONCE", "AT_MOST_ONCE"})
  void h14_aLeasedOneIsCutAtTheDepthOfItsChannel(Mode mode) throws Exception {
    var echo = Channel.of("leased", Order.class, mode, ChannelOptions.DEFAULT.withMaxDepth(5));
    var handled = new AtomicInteger();
    stage
        .pgonce()
        .install(echo)
        .listen(
            echo,
            (order, tx) -> {
              handled.incrementAndGet();
              tx.publish(echo, order.payload());
            })
        .start();
    try (var connection = stage.dataSource.getConnection()) {
      Publisher.standard().publish(connection, echo, new Order(1, "hello"));
    }
    awaitTheEnd(handled);
  }
}
