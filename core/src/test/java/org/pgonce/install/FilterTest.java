package org.pgonce.install;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.sql.SQLException;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.spi.Event;
import org.pgonce.stage.Events;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** Filters of subscriptions that are installed by SQL. */
@PgTest(PgOnceInstalled.class)
class FilterTest {

  private static final Channel<String> OTHER = Channel.of("other", String.class);

  private static String install(String filter) {
    return "select pgonce.install_channel('other', 'EXACTLY_ONCE', 'published', '{\"default\": "
        + filter
        + "}')";
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"{\"tenant\": 42}", "{\"tenant\": null}", "{\"a\": \"b\", \"c\": {}}", "[]"})
  void h83_aFilterThatNoContextCanMeetIsRefused(String filter, TestDatabase database) {
    assertThatThrownBy(() -> database.execute(install(filter)))
        .isInstanceOf(SQLException.class)
        .hasMessageContaining("a filter is an object whose values are texts, or null");
  }

  @Test
  void h83_anEmptyFilterIsNone(TestDatabase database) throws Exception {
    database.execute(install("{}"));
    try (var stage = new Stage(database)) {
      database.execute("select pgonce.publish('other', '\"text\"')");
      assertThat(stage.waiting()).isOne();
      PgOnce.using(database.dataSource()).install(OTHER); // no difference
      var pgonce = stage.pgonce();
      pgonce.listen(OTHER, (text, tx) -> {}).start();
      stage.awaitNothingWaits();
    }
  }

  /** As if somebody had written it into the table. */
  @Test
  void h83_aFilterThatNoDefinitionHasStopsNoOtherChannel(TestDatabase database) throws Exception {
    PgOnce.using(database.dataSource()).install(OTHER);
    try (var stage = new Stage(database)) {
      stage
          .pgonce(PgOnce.builder(stage.dataSource).wakeUpBy())
          .listen(OTHER, (text, tx) -> {})
          .listen(Stage.ORDERS, Stage.QUICK, Stage::effect)
          .start();
      database.execute(
          "update pgonce.subscription set filter = '{\"tenant\": 42}' where of_channel = 'other'");
      stage.publish(1);
      stage.awaitSoon(() -> stage.effects() == 1);
    }
  }

  @Test
  void h86_aBroadcastThatIsResumedDropsNoMessage(TestDatabase database) throws Exception {
    var broadcast = Channel.of("news", String.class, Mode.BROADCAST);
    PgOnce.using(database.dataSource()).install(broadcast);
    var events = new Events();
    var heard = new CountDownLatch(1);
    try (var stage = new Stage(database)) {
      stage
          .pgonce(PgOnce.builder(stage.dataSource).observer(events))
          .listen(broadcast, (text, tx) -> heard.countDown())
          .start();
      database.execute("select pgonce.resume('news', 'why')");
      database.execute("select pgonce.broadcast('news', '\"text\"')");
      Stage.awaitSoon(heard);
      assertThat(events.of(Event.BroadcastDropped.class)).isEmpty();
    }
  }

  @Test
  void h83_filtersThatReadAlikeAreTwo(TestDatabase database) throws Exception {
    database.execute(install("{\"a\": \"1, b=2\"}"));
    var filter = Map.of("a", "1", "b", "2");
    var other =
        Channel.of(
            "other",
            String.class,
            Mode.EXACTLY_ONCE,
            ChannelOptions.DEFAULT.withSubscription("default", filter));
    assertThatThrownBy(() -> PgOnce.using(database.dataSource()).check(other))
        .hasMessageContaining("filter of subscription default")
        .hasMessageContaining("{\"a\":\"1\",\"b\":\"2\"}");
  }
}
