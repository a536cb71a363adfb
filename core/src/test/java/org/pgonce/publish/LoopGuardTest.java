package org.pgonce.publish;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.Handler;
import org.pgonce.Mode;
import org.pgonce.PayloadRules;
import org.pgonce.PgOnce;
import org.pgonce.PublishOptions;
import org.pgonce.Publisher;
import org.pgonce.spi.Event;
import org.pgonce.stage.OnCall;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.stage.Stage.Order;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** H14: handlers whose notifications lead to themselves again come to an end. */
@PgTest(PgOnceInstalled.class)
@Tag("drivers")
class LoopGuardTest {

  private static final Channel<Order> ECHO =
      Channel.of("echo", Order.class, Mode.EXACTLY_ONCE, ChannelOptions.DEFAULT.withMaxDepth(5));

  private static final PayloadRules TWO_VERSIONS =
      PayloadRules.DEFAULT.withVersion(2).withUpcaster(1, Object.class, payload -> payload);

  private static final String LISTENERS = "select count(*) from pgonce.listener";

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
        .startsWith("TOO_DEEP 1 6 it was published at depth 6")
        .contains("the channel allows a depth of 5", "raise maxDepth before");
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
    assertThat(stage.onCall().deadLetters(ECHO, 10))
        .singleElement()
        .extracting(OnCall.DeadLetter::reason)
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

  /** It fires at the end of the transaction, and for the handler all the same. */
  @ParameterizedTest
  @EnumSource(
      value = Mode.class,
      names = {"EXACTLY_ONCE", "AT_LEAST_ONCE"})
  void h14_whatADeferredTriggerPublishesIsDeeperToo(Mode mode) throws Exception {
    var echo = Channel.of("deferred", Order.class, mode, ChannelOptions.DEFAULT.withMaxDepth(5));
    stage.database.execute(
        """
        create function publish_again() returns trigger language plpgsql as $$
        begin
          -- else a loop that nobody cuts would go on behind the test
          if (select count(*) from effect) < 20 then
            perform pgonce.publish('deferred', json_build_object('id', new.id + 1, 'item', 'hello'));
          end if;
          return null;
        end
        $$;
        create constraint trigger publish_again after insert on effect deferrable initially deferred
          for each row execute function publish_again()
        """);
    var handled = new AtomicInteger();
    var tenants = new CopyOnWriteArrayList<Map<String, String>>();
    stage
        .pgonce()
        .install(echo)
        .listen(
            echo,
            (order, tx) -> {
              handled.incrementAndGet();
              tenants.add(order.context());
              Stage.effect(order, tx);
            })
        .start();
    try (var connection = stage.dataSource.getConnection()) {
      var options = PublishOptions.DEFAULT.withContext(Map.of("tenant", "acme"));
      Publisher.standard().publish(connection, echo, new Order(1, "hello"), options);
    }
    awaitTheEnd(handled);
    assertThat(tenants).containsOnly(Map.of("tenant", "acme"));
  }

  private static Channel<Order> live(int maxDepth) {
    return Channel.of(
        "live",
        Order.class,
        Mode.BROADCAST,
        ChannelOptions.DEFAULT.withMaxDepth(maxDepth).withPayload(TWO_VERSIONS));
  }

  @Test
  void h14_aBroadcastInTheLoopCountsToo() throws Exception {
    var handled = new AtomicInteger();
    var live = live(100);
    stage
        .pgonce()
        .install(live)
        .listen(
            ECHO,
            (order, tx) -> {
              handled.addAndGet(2);
              tx.publish(live, order.payload());
            })
        .listen(live, (order, tx) -> tx.publish(ECHO, order.payload()))
        .start();
    begin();
    awaitTheEnd(handled); // three times by each
  }

  @Test
  void h14_aBroadcastThatIsTooDeepIsDroppedAndToldAndFailsNobody() throws Exception {
    var handled = new AtomicInteger();
    var dropped = new CopyOnWriteArrayList<String>();
    var live = live(5);
    stage
        .pgonce(
            PgOnce.builder(stage.dataSource)
                .observer(
                    event -> {
                      if (event instanceof Event.BroadcastDropped said) {
                        dropped.add(said.channel() + ": " + said.reason());
                      }
                    }))
        .install(live)
        .listen(
            live,
            (order, tx) -> {
              if (handled.incrementAndGet() % 2 == 0) {
                tx.publish(live, order.payload());
              } else {
                // As a trigger does.
                tx.update(
                    "do $$ begin perform pgonce.broadcast('live', '{\"id\":1,\"item\":\"x\"}', 2); end $$");
              }
            })
        .start();
    stage.awaitSoon(() -> stage.database.queryLong(LISTENERS) == 1);
    try (var connection = stage.dataSource.getConnection()) {
      Publisher.standard().publish(connection, live, new Order(1, "hello"));
    }
    stage.awaitSoon(() -> dropped.size() == 1);
    assertThat(handled).hasValue(6);
    assertThat(dropped.get(0)).startsWith("live: it was published at depth 6").contains("loop");
  }

  /** The handler's thread is known, though not its connection. */
  @ParameterizedTest
  @EnumSource(Mode.class)
  void h14_whatIsPublishedOnAConnectionOfItsOwnCountsToo(Mode mode) throws Exception {
    var own =
        Channel.of(
            "own",
            Order.class,
            mode == Mode.BROADCAST ? Mode.EXACTLY_ONCE : mode,
            ChannelOptions.DEFAULT.withMaxDepth(5));
    var live = live(100);
    var handled = new AtomicInteger();
    Handler<Order> handler =
        (order, tx) -> {
          var publisher = Publisher.standard();
          try (var connection = stage.dataSource.getConnection()) {
            switch (handled.incrementAndGet() % 3) {
              case 0 -> publisher.publish(connection, own, order.payload());
              case 1 -> publisher.publishAll(connection, own, List.of(order.payload()));
              default ->
                  publisher.publish(
                      connection,
                      own,
                      order.payload(),
                      PublishOptions.DEFAULT.withDeliveryKey("key " + handled));
            }
            // Where it was said, it stays for no longer than the transaction.
            try (var row =
                connection
                    .createStatement()
                    .executeQuery("select coalesce(current_setting('pgonce.depth', true), '')")) {
              row.next();
              assertThat(row.getString(1)).isEmpty();
            }
          }
        };
    var pgonce = stage.pgonce().install(own, live);
    if (mode == Mode.BROADCAST) {
      pgonce.listen(live, handler).listen(own, (order, tx) -> tx.publish(live, order.payload()));
    } else {
      pgonce.listen(own, handler);
    }
    pgonce.start();
    try (var connection = stage.dataSource.getConnection()) {
      Publisher.standard().publish(connection, own, new Order(1, "hello"));
    }
    stage.awaitSoon(() -> stage.deadLetters() == 1);
    stage.awaitNothingWaits();
    assertThat(handled).hasValue(mode == Mode.BROADCAST ? 3 : 6);
    assertThat(
            stage.database.queryString(
                "select concat_ws(' ', reason, stamp) from pgonce.dead_letter"))
        .isEqualTo("TOO_DEEP 6");
  }
}
