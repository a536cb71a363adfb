package org.pgonce.install;

import static org.assertj.core.api.Assertions.assertThat;
import static org.pgonce.stage.Stage.QUICK;

import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.KeyOrder;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.PgOnceBuilder;
import org.pgonce.Publisher;
import org.pgonce.spi.Event;
import org.pgonce.spi.Observer;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.stage.Stage.Order;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** A channel is installed with another definition while listeners of the former one run. */
@PgTest(PgOnceInstalled.class)
class DefinitionChangeTest {

  // No slow scan tells it: only what an operation announces does.
  private static final Duration NEVER = Duration.ofHours(1);

  private final AtomicInteger oldCalls = new AtomicInteger();
  private final List<Long> newCalls = new CopyOnWriteArrayList<>();
  private final List<String> observed = new CopyOnWriteArrayList<>();
  private Stage stage;
  private @Nullable PgOnce old;

  @BeforeEach
  void open(TestDatabase database) throws SQLException {
    stage = new Stage(database);
  }

  @AfterEach
  void close() {
    if (old != null) {
      old.close();
    }
    stage.close();
  }

  private static Channel<Order> calls(Mode mode, ChannelOptions options) {
    return Channel.of("calls", Order.class, mode, options);
  }

  /** A process that listens to the channel as it is, and to another one. */
  private PgOnce listen(PgOnceBuilder builder, Channel<Order> channel) {
    PgOnce.using(stage.dataSource).install(channel);
    Observer observer =
        event -> {
          if (event instanceof Event.Outdated said) {
            observed.add(said.channel() + " " + said.subscription() + ": " + said.difference());
          }
          if (event instanceof Event.UpToDate said) {
            observed.add(said.channel() + " " + said.subscription() + " is up to date");
          }
        };
    var listener = builder.observer(observer).build();
    old = listener;
    listener
        .listen(channel, QUICK, (call, tx) -> oldCalls.incrementAndGet())
        .listen(Stage.ORDERS, QUICK, Stage::effect)
        .start();
    if (channel.mode() != Mode.BROADCAST) {
      // Until its first scan it claims nothing, and would notice by that one.
      publish(channel, 1);
      stage.awaitSoon(() -> oldCalls.get() == 1 && stage.waiting() == 0);
      oldCalls.set(0);
    }
    return listener;
  }

  private PgOnce listen(Channel<Order> channel) {
    return listen(PgOnce.builder(stage.dataSource).pollInterval(NEVER), channel);
  }

  private void publish(Channel<Order> channel, long... ids) {
    try (var connection = stage.dataSource.getConnection()) {
      for (var id : ids) {
        Publisher.standard().publish(connection, channel, new Order(id, "item"));
      }
    } catch (SQLException e) {
      throw new IllegalStateException(e);
    }
  }

  private static @Nullable String outdated(PgOnce pgonce) {
    return pgonce.status().channels().get(0).outdated();
  }

  private void changeMode(Mode mode) throws SQLException {
    stage.database.execute("select pgonce.change_mode('calls', '" + mode + "')");
  }

  /** The old one handles nothing of the channel any more; a new one, and all of the other one. */
  private void assertTakenOver(PgOnce listener, Channel<Order> changed) throws SQLException {
    publish(changed, 2, 3, 4);
    stage.publish(5);
    stage.awaitSoon(() -> stage.eachOnce(5));
    assertThat(listener.status().channels().get(1).outdated()).isNull();
    assertThat(oldCalls).hasValue(0);
    assertThat(stage.waiting()).isEqualTo(3);
    stage.pgonce().listen(changed, QUICK, (call, tx) -> newCalls.add(call.payload().id())).start();
    stage.awaitSoon(() -> newCalls.size() == 3);
    stage.awaitNothingWaits();
    assertThat(newCalls).containsExactlyInAnyOrder(2L, 3L, 4L);
    assertThat(oldCalls).hasValue(0);
  }

  @ParameterizedTest
  @CsvSource({
    "EXACTLY_ONCE, AT_LEAST_ONCE",
    "EXACTLY_ONCE, AT_MOST_ONCE",
    "AT_LEAST_ONCE, AT_MOST_ONCE",
    "AT_LEAST_ONCE, EXACTLY_ONCE",
    "AT_MOST_ONCE, AT_LEAST_ONCE",
    "AT_MOST_ONCE, EXACTLY_ONCE"
  })
  void h83_aRunningListenerHearsThatTheModeWasChanged(Mode from, Mode to) throws Exception {
    var listener = listen(calls(from, ChannelOptions.DEFAULT));
    changeMode(to);
    stage.awaitSoon(() -> outdated(listener) != null);
    assertThat(outdated(listener))
        .contains("if what is installed is the newer definition, deploy it here")
        .contains("if this one is, as where an earlier release has started again behind it")
        .contains(
            "channel calls is installed with mode \"%s\", but defined with \"%s\""
                .formatted(to, from));
    stage.awaitSoon(() -> !observed.isEmpty());
    assertThat(observed).containsExactly("calls default: " + outdated(listener));
    assertTakenOver(listener, calls(to, ChannelOptions.DEFAULT));
  }

  @ParameterizedTest
  @EnumSource(value = Mode.class, mode = EnumSource.Mode.EXCLUDE, names = "BROADCAST")
  void h53_aRunningListenerHearsThatAnOrderWasSwitchedOn(Mode mode) throws Exception {
    var listener = listen(calls(mode, ChannelOptions.DEFAULT));
    var ordered = calls(mode, ChannelOptions.DEFAULT.withOrder(KeyOrder.DEAD_LETTER_BLOCKS));
    PgOnce.using(stage.dataSource).install(ordered);
    stage.awaitSoon(() -> outdated(listener) != null);
    assertThat(outdated(listener))
        .contains("installed with order \"DEAD_LETTER_BLOCKS\", but defined with \"NONE\"");
    assertTakenOver(listener, ordered);
  }

  @ParameterizedTest
  @EnumSource(value = Mode.class, mode = EnumSource.Mode.EXCLUDE, names = "BROADCAST")
  void h83_aRunningListenerHearsThatARateWasInstalled(Mode mode) throws Exception {
    var listener = listen(calls(mode, ChannelOptions.DEFAULT));
    var rated = calls(mode, ChannelOptions.DEFAULT.withMaxRate(50));
    PgOnce.using(stage.dataSource).install(rated);
    stage.awaitSoon(() -> outdated(listener) != null);
    assertThat(outdated(listener))
        .contains("installed with maximum rate \"50\", but defined with \"0\"");
    assertTakenOver(listener, rated);
  }

  @Test
  void h83_aDeafListenerLearnsItFromItsScan() throws Exception {
    var listener =
        listen(
            PgOnce.builder(stage.dataSource).pollInterval(Duration.ofMillis(500)).wakeUpBy(),
            calls(Mode.EXACTLY_ONCE, ChannelOptions.DEFAULT));
    changeMode(Mode.AT_LEAST_ONCE);
    stage.awaitSoon(() -> outdated(listener) != null);
    assertTakenOver(listener, calls(Mode.AT_LEAST_ONCE, ChannelOptions.DEFAULT));
    assertThat(observed).hasSize(1); // however many scans find it
  }

  @Test
  void h83_aChangeThatIsTakenBackIsHandledAgain() throws Exception {
    var channel = calls(Mode.EXACTLY_ONCE, ChannelOptions.DEFAULT);
    var listener = listen(channel);
    changeMode(Mode.AT_LEAST_ONCE);
    stage.awaitSoon(() -> outdated(listener) != null);
    publish(channel, 1, 2);
    changeMode(Mode.EXACTLY_ONCE);
    stage.awaitNothingWaits();
    assertThat(oldCalls).hasValue(2);
    assertThat(outdated(listener)).isNull();
    stage.awaitSoon(() -> observed.size() >= 2);
    assertThat(observed).hasSize(2).last().isEqualTo("calls default is up to date");
  }

  @Test
  void h83_whatIsInstalledAsItWasDisturbsNobody() throws Exception {
    var channel = calls(Mode.EXACTLY_ONCE, ChannelOptions.DEFAULT);
    var listener = listen(channel);
    PgOnce.using(stage.dataSource).install(channel);
    stage.database.execute("select pgonce.wake_up('calls', 'definition')"); // forged
    publish(channel, 1, 2);
    stage.awaitSoon(() -> oldCalls.get() == 2);
    assertThat(outdated(listener)).isNull();
    assertThat(observed).isEmpty();
  }

  @Test
  void h83_aBroadcastThatIsStoredFromNowOnIsNoticed() throws Exception {
    var listener = listen(calls(Mode.BROADCAST, ChannelOptions.DEFAULT));
    changeMode(Mode.EXACTLY_ONCE);
    stage.awaitSoon(() -> outdated(listener) != null);
    assertTakenOver(listener, calls(Mode.EXACTLY_ONCE, ChannelOptions.DEFAULT));
  }

  @Test
  void h83_whatIsABroadcastFromNowOnIsNoticed() throws Exception {
    var listener = listen(calls(Mode.AT_LEAST_ONCE, ChannelOptions.DEFAULT));
    changeMode(Mode.BROADCAST);
    stage.awaitSoon(() -> outdated(listener) != null);
    assertThat(outdated(listener)).contains("installed with mode \"BROADCAST\"");
  }

  @Test
  void h87_aDroppedChannelIsToldOnceAndShown() throws Exception {
    var listener =
        listen(
            PgOnce.builder(stage.dataSource).pollInterval(Duration.ofMillis(100)),
            calls(Mode.EXACTLY_ONCE, ChannelOptions.DEFAULT));
    stage.database.execute("select pgonce.drop_channel('calls')");
    stage.awaitSoon(() -> outdated(listener) != null);
    assertThat(outdated(listener)).contains("it was dropped, or dropped and installed anew");
    // What is installed anew is another channel, however much it is like the old one.
    PgOnce.using(stage.dataSource).install(calls(Mode.EXACTLY_ONCE, ChannelOptions.DEFAULT));
    assertTakenOver(listener, calls(Mode.EXACTLY_ONCE, ChannelOptions.DEFAULT));
    assertThat(observed).hasSize(1);
  }

  /** Between the change and the scan that tells of it: nobody is woken here. */
  @Test
  void h83_nothingIsLeasedUnderAModeThatTheChannelDoesNotHaveAnyMore() throws Exception {
    var listener = listen(calls(Mode.AT_LEAST_ONCE, ChannelOptions.DEFAULT));
    stage.database.execute("update pgonce.channel set mode = 'AT_MOST_ONCE' where name = 'calls'");
    publish(calls(Mode.AT_MOST_ONCE, ChannelOptions.DEFAULT), 1);
    var before = listener.status().channels().get(0).emptyClaims();
    stage.database.execute("select pgonce.wake_up('calls')");
    stage.awaitSoon(() -> listener.status().channels().get(0).emptyClaims() > before);
    assertThat(outdated(listener)).isNull();
    assertThat(oldCalls).hasValue(0);
    assertThat(stage.claimable()).isOne();
  }

  /** The same where the old listener claims by locks: it finds a lease that is over. */
  @Test
  void h83_whatHasBegunUnderAtMostOnceIsNotBegunAgainUnderExactlyOnce() throws Exception {
    listen(calls(Mode.EXACTLY_ONCE, ChannelOptions.DEFAULT));
    stage.database.execute("update pgonce.channel set mode = 'AT_MOST_ONCE' where name = 'calls'");
    // One transaction: no other sees it new.
    stage.database.execute(
        """
        select pgonce.publish('calls', '{"id": 1, "item": "x"}');
        select pgonce.lease(s.id, false, gen_random_uuid(), 1, 1, 'NONE', 'AT_MOST_ONCE')
          from pgonce.subscription s where s.of_channel = 'calls'
        """);
    stage.awaitSoon(
        () -> {
          stage.database.execute("select pgonce.wake_up('calls', 'due')");
          return stage.deadLetters() == 1;
        });
    assertThat(
            stage.database.queryString("select reason || ' ' || attempts from pgonce.dead_letter"))
        .isEqualTo("OUTCOME_UNKNOWN 1");
    assertThat(oldCalls).hasValue(0);
  }
}
