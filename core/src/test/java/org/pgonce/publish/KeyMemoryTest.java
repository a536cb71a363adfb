package org.pgonce.publish;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.PublishOptions;
import org.pgonce.Published;
import org.pgonce.Publisher;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.stage.Stage.Order;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** S12: a key is remembered from the commit on that is done with it, however late that comes. */
@Tag("versions")
@PgTest(PgOnceInstalled.class)
class KeyMemoryTest {

  private static final Duration SHORT = Duration.ofMillis(1);
  private static final Channel<Order> CHANNEL =
      Channel.of(
          "keyed",
          Order.class,
          Mode.EXACTLY_ONCE,
          ChannelOptions.DEFAULT.withSubscriptions("one", "two").withKeyMemory(SHORT));
  private static final String DONE_AT =
      "select concat_ws(' ', waiting, case when isfinite(done_at) then 'known' else done_at::text end) from pgonce.delivery_key";

  private Stage stage;

  @BeforeEach
  void setUp(TestDatabase database) throws SQLException {
    stage = new Stage(database);
    PgOnce.using(stage.dataSource).install(CHANNEL);
  }

  @AfterEach
  void tearDown() {
    stage.close();
  }

  private Published publish(Connection connection, Channel<Order> channel) throws SQLException {
    return Publisher.standard()
        .publish(
            connection, channel, new Order(1, "x"), PublishOptions.DEFAULT.withDeliveryKey("a"));
  }

  private Published publish(Channel<Order> channel) throws SQLException {
    try (var connection = stage.dataSource.getConnection()) {
      return publish(connection, channel);
    }
  }

  /** Until more than the time that keys are remembered for has passed in the transaction. */
  private void outlast(Connection transaction) throws SQLException {
    try (var statement = transaction.createStatement()) {
      statement.execute(
          "do $$ begin while clock_timestamp() < transaction_timestamp() + interval '20 ms' loop end loop; end $$");
    }
  }

  private void forget() throws SQLException {
    var unused = stage.database.queryLong("select pgonce.forget_keys()");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "select from pgonce.cancel('keyed', delivery_keys => '{a}')",
        "select pgonce.discard('keyed')"
      })
  void s12_whatEndsAKeyInALongTransactionDoesNotShortenItsMemory(String sql) throws Exception {
    var first = publish(CHANNEL);
    stage.database.execute(
        sql.contains("discard")
            ? "select pgonce.bury(s.id, n.id, 0, null, 1, 'REJECTED', 'x') from pgonce.subscription s join pgonce.notification n on n.subscription_id = s.id"
            : "select from pgonce.cancel('keyed', delivery_keys => '{a}', subscription_name => 'one')");
    try (var connection = stage.dataSource.getConnection()) {
      connection.setAutoCommit(false);
      connection.createStatement().execute(sql);
      outlast(connection);
      forget(); // sees nothing of it
      connection.commit();
    }
    assertThat(publish(CHANNEL)).isEqualTo(new Published(first.id(), false));
    assertThat(stage.database.queryString(DONE_AT)).isEqualTo("0 infinity");

    // Its time begins when somebody sees that it is done.
    var before = stage.database.queryString("select clock_timestamp()::text");
    forget();
    assertThat(stage.database.queryString(DONE_AT)).isEqualTo("0 known");
    assertThat(
            stage.database.queryLong(
                "select count(*) from pgonce.delivery_key where done_at >= '" + before + "'"))
        .isEqualTo(1);
    stage.awaitSoon(() -> stage.database.queryLong("select pgonce.forget_keys()") == 1);
    assertThat(publish(CHANNEL).stored()).isTrue();
  }

  /** What was done at five o'clock, by a clock that says three now. */
  @Test
  void h80_aKeyThatWasDoneBeforeTheClockWasSetBackIsNotRememberedForLonger() throws Exception {
    var first = publish(CHANNEL);
    stage.database.execute(
        "select from pgonce.cancel('keyed', delivery_keys => '{a}');"
            + " update pgonce.delivery_key set done_at = clock_timestamp() + interval '2 hours'");
    assertThat(publish(CHANNEL)).isEqualTo(new Published(first.id(), false));
    forget();
    stage.awaitSoon(() -> stage.database.queryLong("select pgonce.forget_keys()") == 1);
    assertThat(publish(CHANNEL).stored()).isTrue();
  }

  @Test
  void s12_aKeyThatNobodyWasAddressedWithIsRememberedFromItsCommitOn() throws Exception {
    var nobodys =
        Channel.of(
            "nobodys",
            Order.class,
            Mode.EXACTLY_ONCE,
            ChannelOptions.DEFAULT
                .withSubscriptions(Map.of("never", Map.of("tenant", "none")))
                .withKeyMemory(SHORT));
    PgOnce.using(stage.dataSource).install(nobodys);
    Published first;
    try (var connection = stage.dataSource.getConnection()) {
      connection.setAutoCommit(false);
      first = publish(connection, nobodys);
      outlast(connection);
      connection.commit();
    }
    assertThat(publish(nobodys)).isEqualTo(new Published(first.id(), false));
    forget();
    stage.awaitSoon(() -> stage.database.queryLong("select pgonce.forget_keys()") == 1);
  }

  @Test
  void s12_withoutMemoryWhatIsCancelledIsFreeAtOnce() throws Exception {
    var forgetful = Channel.of("forgetful", Order.class);
    PgOnce.using(stage.dataSource).install(forgetful);
    publish(forgetful);
    stage.database.execute("select from pgonce.cancel('forgetful', delivery_keys => '{a}')");
    assertThat(stage.database.queryString(DONE_AT)).isEqualTo("0 known");
    assertThat(publish(forgetful).stored()).isTrue();
  }

  @Tag("all")
  @Test
  void s12_aListenersHousekeepingBeginsTheTimeAndEndsIt() throws Exception {
    publish(CHANNEL);
    stage.database.execute("select from pgonce.cancel('keyed', delivery_keys => '{a}')");
    stage
        .pgonce(PgOnce.builder(stage.dataSource), Duration.ofMillis(20))
        .listen(CHANNEL, "one", Stage.QUICK, (order, tx) -> {})
        .start();
    stage.awaitSoon(
        () -> stage.database.queryLong("select count(*) from pgonce.delivery_key") == 0);
  }
}
