package org.pgonce.publish;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.pgonce.stage.Stage.ORDERS;
import static org.pgonce.testkit.Nulls.none;
import static org.pgonce.testkit.Nulls.that;

import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.pgonce.Backoff;
import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.DeliveryKey;
import org.pgonce.Handler;
import org.pgonce.ListenOptions;
import org.pgonce.Message;
import org.pgonce.PauseException;
import org.pgonce.PayloadRules;
import org.pgonce.PgOnce;
import org.pgonce.PublishOptions;
import org.pgonce.Publisher;
import org.pgonce.RejectedException;
import org.pgonce.WakeUpSources;
import org.pgonce.WriterContext;
import org.pgonce.spi.ListenAddress;
import org.pgonce.spi.PayloadCodec.UnreadablePayloadException;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.testkit.Nulls;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import org.postgresql.ds.PGSimpleDataSource;

/** What must not be null is refused where it is given, by name, and not where it would hurt. */
@PgTest(PgOnceInstalled.class)
class NullTest {

  static Stream<Arguments> entries() {
    var source = new PGSimpleDataSource();
    var pgonce = PgOnce.using(source);
    var builder = PgOnce.builder(source);
    Handler<Stage.Order> handler = (order, tx) -> {};
    return Stream.of(
        that("dataSource", () -> PgOnce.using(none())),
        that("a channel", () -> pgonce.install(ORDERS, none())),
        that("a channel", () -> PgOnce.migration(ORDERS, none())),
        that("channel", () -> pgonce.listen(Nulls.<Channel<Stage.Order>>none(), handler)),
        that("options", () -> pgonce.listen(ORDERS, none(), handler)),
        that("the handler of channel orders is null", () -> pgonce.listen(ORDERS, none())),
        that("deadline", () -> pgonce.stop(none())),
        that("condition", () -> Handler.onlyIf(none(), handler)),
        that("handler", () -> Handler.onlyIf((order, tx) -> true, none())),
        that("reason", () -> new PauseException(none())),
        that("codec", () -> builder.codec(none())),
        that("observer", () -> builder.observer(none())),
        that("a wake-up source", () -> builder.wakeUpBy(WakeUpSources.PGJDBC, none())),
        that("address", () -> builder.listenAddress(none())),
        that("pollInterval", () -> builder.pollInterval(none())),
        that("stopTimeout", () -> builder.stopTimeout(none())),
        that("name", () -> builder.instance(none())),
        that("name", () -> Channel.of(none(), String.class)),
        that("payloadType", () -> Channel.of("a", Nulls.<Class<String>>none())),
        that("mode", () -> Channel.of("a", String.class, none())),
        that("payload", () -> ChannelOptions.DEFAULT.withPayload(none())),
        that("upcaster", () -> PayloadRules.DEFAULT.withUpcaster(1, Object.class, none())),
        that("reads", () -> PayloadRules.DEFAULT.withUpcaster(1, none(), payload -> payload)),
        that("unknownFields", () -> PayloadRules.DEFAULT.withUnknownFields(none())),
        that("missingFields", () -> PayloadRules.DEFAULT.withMissingFields(none())),
        that("backoff", () -> ListenOptions.DEFAULT.withBackoff(none())),
        that("handlerTimeout", () -> ListenOptions.DEFAULT.withHandlerTimeout(none())),
        that("first", () -> new Backoff(none(), Duration.ofSeconds(1))),
        that("longest", () -> new Backoff(Duration.ofSeconds(1), none())),
        that("reason", () -> new RejectedException(none())),
        that("codec", () -> Publisher.with(none())),
        that("host", () -> new ListenAddress(none(), 1, "d", null, null, Map.of())),
        that("database", () -> new ListenAddress("h", 1, none(), null, null, Map.of())),
        that("properties", () -> new ListenAddress("h", 1, "d", null, null, none())),
        that("message", () -> new UnreadablePayloadException(none())),
        that("transaction", () -> Publisher.standard().publish(none(), ORDERS, none())),
        that("transaction", () -> Publisher.standard().publishEach(none(), ORDERS, List.of())),
        that("payload", () -> new Message<>(none())),
        that("options", () -> new Message<>("x", none())),
        that("delay", () -> PublishOptions.DEFAULT.withDelay(none())),
        that("dueAt", () -> PublishOptions.DEFAULT.withDueAt(none())),
        that("deliveryKey", () -> PublishOptions.DEFAULT.withDeliveryKey(none())),
        that("orderKey", () -> PublishOptions.DEFAULT.withOrderKey(none())),
        that("a part", () -> DeliveryKey.of("a", none())),
        that("transaction", () -> WriterContext.set(none(), Map.of())),
        that("transaction", () -> WriterContext.clear(none())),
        that("context", () -> PublishOptions.DEFAULT.withContext(none())),
        that("connection", () -> WriterContext.setForSession(none(), Map.of())),
        that("transaction", () -> Publisher.standard().publishAll(none(), ORDERS, List.of())));
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("entries")
  void api_nullIsRefusedByName(String what, Nulls.Call call) {
    assertThatThrownBy(call::run).isInstanceOf(NullPointerException.class).hasMessage(what);
  }

  @Test
  void api_aNullPayloadIsNotPublished(TestDatabase database) throws Exception {
    try (var stage = new Stage(database);
        var connection = stage.dataSource.getConnection()) {
      var publisher = Publisher.standard();
      assertThatThrownBy(() -> publisher.publish(connection, ORDERS, none()))
          .hasMessageContaining("a payload for channel orders is null");
      var second = Arrays.asList(new Stage.Order(1, "x"), Nulls.<Stage.Order>none());
      assertThatThrownBy(() -> publisher.publishAll(connection, ORDERS, second))
          .hasMessageContaining("a payload for channel orders is null");
      assertThat(stage.waiting()).isZero();
    }
  }
}
