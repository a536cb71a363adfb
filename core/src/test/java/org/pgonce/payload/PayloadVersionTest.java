package org.pgonce.payload;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.pgonce.stage.Stage.QUICK;

import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.Handler;
import org.pgonce.KeyOrder;
import org.pgonce.Message;
import org.pgonce.Mode;
import org.pgonce.PayloadRules;
import org.pgonce.PgOnce;
import org.pgonce.PublishOptions;
import org.pgonce.Publisher;
import org.pgonce.spi.Event;
import org.pgonce.spi.Observer;
import org.pgonce.stage.Logged;
import org.pgonce.stage.OnCall;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import tools.jackson.databind.node.ObjectNode;

/** H24: what was stored by another version of the channel's definition. */
@PgTest(PgOnceInstalled.class)
@Tag("drivers")
class PayloadVersionTest {

  /** Version 1. */
  record Parcel1(long id, String item) {}

  /** Version 2: several items. */
  record Parcel2(long id, List<String> items) {}

  private static final PayloadRules SECOND =
      PayloadRules.DEFAULT
          .withVersion(2)
          .withUpcaster(1, ObjectNode.class, PayloadVersionTest::toItems);

  private final List<String> handled = new CopyOnWriteArrayList<>();
  private Stage stage;

  @BeforeEach
  void open(TestDatabase database) throws SQLException {
    stage = new Stage(database);
  }

  @AfterEach
  void close() {
    stage.close();
  }

  private static ObjectNode toItems(ObjectNode parcel) {
    parcel.putArray("items").add(parcel.remove("item"));
    return parcel;
  }

  private static Channel<Parcel1> first(Mode mode) {
    return Channel.of("parcels", Parcel1.class, mode);
  }

  private static Channel<Parcel2> second(Mode mode) {
    return second(mode, SECOND);
  }

  private static Channel<Parcel2> second(Mode mode, PayloadRules rules) {
    return Channel.of("parcels", Parcel2.class, mode, ChannelOptions.DEFAULT.withPayload(rules));
  }

  private <T> Handler<T> noting() {
    return (notification, tx) -> handled.add(notification.attempt() + " " + notification.payload());
  }

  private <T> long publish(Channel<T> channel, T payload) throws SQLException {
    try (var connection = stage.dataSource.getConnection()) {
      return Publisher.standard().publish(connection, channel, payload);
    }
  }

  @Test
  void example_aNewVersionReadsWhatTheOldOneHasLeft() throws Exception {
    // Version 1 of the service.
    var version1 = Channel.of("parcels", Parcel1.class);
    PgOnce.using(stage.dataSource).install(version1);
    publish(version1, new Parcel1(1, "book"));

    // Version 2 has several items. What waits from version 1 is brought to it before it is decoded.
    var version2 =
        Channel.of(
            "parcels",
            Parcel2.class,
            Mode.EXACTLY_ONCE,
            ChannelOptions.DEFAULT.withPayload(
                PayloadRules.DEFAULT
                    .withVersion(2)
                    .withUpcaster(
                        1,
                        Parcel1.class,
                        parcel -> new Parcel2(parcel.id(), List.of(parcel.item())))));
    stage.pgonce().listen(version2, QUICK, noting()).start();

    // During a rolling deployment both publish.
    publish(version2, new Parcel2(2, List.of("pen", "ink")));
    publish(version1, new Parcel1(3, "map"));
    stage.awaitSoon(() -> handled.size() == 3);
    assertThat(handled)
        .containsExactlyInAnyOrder(
            "1 Parcel2[id=1, items=[book]]",
            "1 Parcel2[id=2, items=[pen, ink]]",
            "1 Parcel2[id=3, items=[map]]");
    assertThat(stage.deadLetters()).isZero();
  }

  @ParameterizedTest
  @Tag("all")
  @EnumSource(names = {"EXACTLY_ONCE", "AT_LEAST_ONCE", "AT_MOST_ONCE"})
  void h24_anOldListenerPutsBackWhatANewerOneHasMade(Mode mode) throws Exception {
    PgOnce.using(stage.dataSource).install(first(mode));
    var old = stage.pgonce().listen(first(mode), QUICK, noting());
    old.start();
    publish(second(mode), new Parcel2(1, List.of("pen")));
    publish(first(mode), new Parcel1(2, "book"));
    // Uncounted, with its reason, and nothing waits behind it.
    stage.awaitSoon(
        () ->
            handled.size() == 1
                && stage.waiting() == 1 // the other one's lease is over, too
                && stage.database.queryLong(
                        "select count(*) from pgonce.scheduled where subscription_id > 0 and token is null and attempts = 0"
                            + " and last_error like 'notification % of channel parcels was made by version 2 of its definition and this listener knows version 1%'")
                    == 1);
    assertThat(handled).containsExactly("1 Parcel1[id=2, item=book]");
    assertThat(stage.onCall().peek(first(mode), 10))
        .singleElement()
        .satisfies(waiting -> assertThat(waiting.version()).isEqualTo(2))
        .satisfies(waiting -> assertThat(waiting.attempts()).isZero());
    // And again, as often as it takes.
    var due =
        "select coalesce(max(due_at)::text, '') from pgonce.scheduled where subscription_id > 0 and token is null";
    var firstDue = stage.database.queryString(due);
    stage.awaitSoon(
        () -> {
          var now = stage.database.queryString(due);
          return !List.of("", String.valueOf(firstDue)).contains(now);
        });
    assertThat(stage.deadLetters()).isZero();
    assertThat(handled).hasSize(1);

    stage.pgonce().listen(second(mode), QUICK, noting()).start();
    stage.awaitSoon(() -> handled.size() == 2);
    assertThat(handled).endsWith("1 Parcel2[id=1, items=[pen]]");
    stage.awaitNothingWaits();
    assertThat(stage.deadLetters()).isZero();
  }

  /** A release that is rolled back leaves as many as it likes, and each is put back again. */
  @Test
  void h24_whatIsPutBackDoesNotFloodTheLog() throws Exception {
    var old = first(Mode.EXACTLY_ONCE);
    PgOnce.using(stage.dataSource).install(old);
    for (var id = 1; id <= 20; id++) {
      publish(second(Mode.EXACTLY_ONCE), new Parcel2(id, List.of("pen")));
    }
    try (var log = new Logged()) {
      stage.pgonce().listen(old, QUICK, noting()).start();
      stage.awaitSoon(
          () ->
              stage.database.queryLong(
                      "select count(*) from pgonce.scheduled where subscription_id > 0 and last_error like '%knows version 1%'")
                  == 20);
      assertThat(log.count("next look in")).isEqualTo(1);
      assertThat(log.count("what else of channel parcels is put back")).isEqualTo(1);
    }
    assertThat(handled).isEmpty();
  }

  @Test
  void h24_whatIsPutBackKeepsItsPlaceInItsOrder() throws Exception {
    var ordered = ChannelOptions.DEFAULT.withOrder(KeyOrder.DEAD_LETTER_BLOCKS);
    var old = Channel.of("parcels", Parcel1.class, Mode.EXACTLY_ONCE, ordered);
    var young =
        Channel.of("parcels", Parcel2.class, Mode.EXACTLY_ONCE, ordered.withPayload(SECOND));
    PgOnce.using(stage.dataSource).install(old);
    stage.pgonce().listen(old, QUICK, noting()).start();
    var anna = PublishOptions.DEFAULT.withOrderKey("anna");
    try (var connection = stage.dataSource.getConnection()) {
      var publisher = Publisher.standard();
      publisher.publish(connection, young, new Parcel2(1, List.of("pen")), anna);
      publisher.publish(connection, old, new Parcel1(2, "book"), anna);
      publisher.publish(
          connection, old, new Parcel1(3, "map"), PublishOptions.DEFAULT.withOrderKey("bob"));
    }
    stage.awaitSoon(
        () ->
            handled.size() == 1
                && stage.database.queryLong(
                        "select count(*) from pgonce.scheduled where subscription_id > 0")
                    == 1);
    assertThat(handled).containsExactly("1 Parcel1[id=3, item=map]");
    stage.pgonce().listen(young, QUICK, noting()).start();
    stage.awaitSoon(() -> handled.size() == 3);
    assertThat(handled.get(1)).isEqualTo("1 Parcel2[id=1, items=[pen]]");
    assertThat(handled.get(2)).matches("1 Parcel.*id=2, items?=.?book.*");
  }

  @Test
  @Tag("all")
  void h24_aLotOfSeveralVersionsIsHandled() throws Exception {
    var young = second(Mode.EXACTLY_ONCE);
    PgOnce.using(stage.dataSource).install(young);
    for (var id = 1; id <= 5; id++) {
      publish(first(Mode.EXACTLY_ONCE), new Parcel1(id, "book"));
      publish(young, new Parcel2(id + 10, List.of("pen")));
    }
    stage.pgonce().listen(first(Mode.EXACTLY_ONCE), QUICK.withBatch(10), noting()).start();
    stage.awaitSoon(() -> handled.stream().distinct().count() == 5);
    assertThat(handled).allMatch(one -> one.startsWith("1 Parcel1"));
    stage.pgonce().listen(young, QUICK.withBatch(10), noting()).start();
    stage.awaitNothingWaits();
    assertThat(handled.stream().distinct()).hasSize(10);
    assertThat(stage.deadLetters()).isZero();
  }

  @ParameterizedTest
  @EnumSource(names = {"EXACTLY_ONCE", "AT_LEAST_ONCE"})
  void h24_aRowKnowsItsVersionAsLongAsItIsStored(Mode mode) throws Exception {
    var channel = second(mode);
    var pgonce = stage.pgonce().install(channel);
    var id = publish(channel, new Parcel2(1, List.of("pen")));
    publish(first(mode), new Parcel1(2, "book"));
    assertThat(stage.onCall().peek(channel, 10))
        .extracting(OnCall.Waiting::version)
        .containsExactly(2, 1);
    var fails = new AtomicBoolean(true);
    pgonce
        .listen(
            channel,
            QUICK,
            (parcel, tx) -> {
              if (fails.get()) {
                throw new IllegalStateException("not yet");
              }
              handled.add(parcel.payload().toString());
            })
        .start();
    stage.awaitSoon(() -> stage.deadLetters() == 2);
    assertThat(stage.onCall().deadLetters(channel, 10))
        .extracting(letter -> letter.version() + " " + letter.attempts())
        .containsExactly("2 3", "1 3");
    stage.onCall().pause(channel, "a look");
    fails.set(false);
    stage.onCall().redrive(channel);
    assertThat(stage.onCall().peek(channel, 10))
        .extracting(waiting -> waiting.id() == id ? waiting.version() : -waiting.version())
        .containsExactly(2, -1);
    stage.onCall().resume(channel, "seen");
    stage.awaitSoon(() -> handled.size() == 2);
    assertThat(handled)
        .containsExactlyInAnyOrder("Parcel2[id=1, items=[pen]]", "Parcel2[id=2, items=[book]]");
  }

  @Test
  void h24_eachWayOfPublishingTellsTheVersion() throws Exception {
    var channel = second(Mode.EXACTLY_ONCE);
    stage.pgonce().install(channel);
    var parcel = new Parcel2(1, List.of("pen"));
    var later = PublishOptions.DEFAULT.withDelay(Duration.ofHours(1));
    try (var connection = stage.dataSource.getConnection()) {
      var publisher = Publisher.standard();
      publisher.publish(connection, channel, parcel);
      publisher.publishAll(connection, channel, List.of(parcel, parcel));
      publisher.publish(connection, channel, parcel, later);
      publisher.publish(connection, channel, parcel, PublishOptions.DEFAULT.withDeliveryKey("k"));
      publisher.publishEach(connection, channel, List.of(new Message<>(parcel, later)));
    }
    assertThat(stage.onCall().peek(channel, 10))
        .hasSize(6)
        .allMatch(waiting -> waiting.version() == 2);
  }

  @Test
  void h24_sqlThatSaysNoVersionIsOfTheFirst() throws Exception {
    var channel = second(Mode.EXACTLY_ONCE);
    var pgonce = stage.pgonce().install(channel);
    // Whatever is installed: who wrote this may not have been redeployed.
    stage.database.execute("select pgonce.publish('parcels', '{\"id\": 1, \"item\": \"a\"}')");
    stage.database.execute(
        "select pgonce.publish('parcels', '{\"id\": 2, \"items\": [\"b\"]}', version => 2)");
    stage.database.execute(
        "select pgonce.publish_all('parcels', '[{\"id\": 3, \"items\": [\"c\"]}]', 2)");
    stage.database.execute(
        "select pgonce.publish('parcels', '{\"id\": 4, \"items\": [\"d\"]}', delay => '1 hour', version => 32767)");
    assertThat(stage.onCall().peek(channel, 10))
        .extracting(OnCall.Waiting::version)
        .containsExactly(1, 2, 2, 32_767);
    for (var none : List.of("0", "-1", "32768", "2147483647", "null")) {
      for (var more : List.of("", ", delay => '1 hour'")) {
        assertThatThrownBy(
                () ->
                    stage.database.execute(
                        "select pgonce.publish('parcels', '{}', version => %s%s)"
                            .formatted(none, more)))
            .hasMessageContaining("cannot be of version " + none)
            .hasMessageContaining("1 to 32767");
      }
    }
    pgonce.listen(channel, QUICK, noting()).start();
    stage.awaitSoon(() -> handled.size() == 3);
    assertThat(handled).anyMatch(one -> one.contains("items=[a]"));
  }

  @Test
  void h24_anUpcasterThatThrowsMakesADeadLetterThatNamesTheStep() throws Exception {
    var third =
        Channel.of(
            "parcels",
            Parcel2.class,
            Mode.EXACTLY_ONCE,
            ChannelOptions.DEFAULT.withPayload(
                SECOND
                    .withVersion(3)
                    .withUpcaster(
                        2,
                        ObjectNode.class,
                        payload -> {
                          throw new IllegalStateException("secret " + payload);
                        })));
    PgOnce.using(stage.dataSource).install(third);
    var id = publish(first(Mode.EXACTLY_ONCE), new Parcel1(1, "secret"));
    publish(third, new Parcel2(2, List.of("pen")));
    var pgonce = stage.pgonce().listen(third, QUICK, noting());
    pgonce.start();
    stage.awaitSoon(() -> stage.deadLetters() == 1 && stage.waiting() == 0);
    assertThat(handled).containsExactly("1 Parcel2[id=2, items=[pen]]");
    var letter = stage.onCall().deadLetters(third, 10).get(0);
    assertThat(letter.reason()).isEqualTo("UNREADABLE");
    assertThat(letter.error())
        .isEqualTo(
            "notification %d of channel parcels was made by version 1 of its definition, and its upcaster from version 2 to 3 failed: java.lang.IllegalStateException"
                .formatted(id));
    // The upcaster is mended.
    pgonce.close();
    stage.pgonce().listen(second(Mode.EXACTLY_ONCE), QUICK, noting()).start();
    stage.onCall().redrive(third);
    stage.awaitSoon(() -> handled.size() == 2);
    assertThat(handled).endsWith("1 Parcel2[id=1, items=[secret]]");
  }

  @Test
  void h24_whatIsOlderThanTheOldestIsParkedWithItsReason() throws Exception {
    var rules =
        PayloadRules.DEFAULT.withVersion(3).withOldest(2).withUpcaster(2, Object.class, one -> one);
    var channel = second(Mode.EXACTLY_ONCE, rules);
    PgOnce.using(stage.dataSource).install(channel);
    var id = publish(first(Mode.EXACTLY_ONCE), new Parcel1(1, "book"));
    var pgonce = stage.pgonce().listen(channel, QUICK, noting());
    pgonce.start();
    stage.awaitSoon(() -> stage.deadLetters() == 1);
    assertThat(stage.onCall().deadLetters(channel, 1).get(0).error())
        .startsWith(
            "notification %d of channel parcels was made by version 1 of its definition, and versions 2 to 3 are read"
                .formatted(id));
  }

  @Test
  void h24_aBroadcastOfAnotherVersionIsReadOrDroppedWithItsReason() throws Exception {
    var dropped = new CopyOnWriteArrayList<String>();
    Observer observer =
        event -> {
          if (event instanceof Event.BroadcastDropped said) {
            dropped.add(said.reason());
          }
        };
    PgOnce.using(stage.dataSource).install(first(Mode.BROADCAST));
    stage.pgonce().listen(second(Mode.BROADCAST), noting()).start();
    stage
        .pgonce(PgOnce.builder(stage.dataSource).observer(observer))
        .listen(first(Mode.BROADCAST), noting())
        .start();
    publish(first(Mode.BROADCAST), new Parcel1(1, "book"));
    publish(second(Mode.BROADCAST), new Parcel2(2, List.of("pen".repeat(5_000))));
    stage.awaitSoon(() -> handled.size() == 3 && dropped.size() == 1);
    assertThat(handled)
        .contains("1 Parcel1[id=1, item=book]", "1 Parcel2[id=1, items=[book]]")
        .anyMatch(one -> one.startsWith("1 Parcel2[id=2, items=[penpen"));
    assertThat(dropped.get(0)).contains("made by version 2", "knows version 1");
  }

  @Test
  void h24_depthIsCountedBesideTheVersion() throws Exception {
    var channel = second(Mode.EXACTLY_ONCE);
    PgOnce.using(stage.dataSource).install(channel);
    stage
        .pgonce()
        .listen(
            channel,
            QUICK,
            (parcel, tx) -> {
              handled.add(parcel.payload().toString());
              if (parcel.payload().id() < 3) {
                tx.publish(channel, new Parcel2(parcel.payload().id() + 1, List.of("pen")));
              }
            })
        .start();
    stage.database.execute(
        """
        create table public.seen (depth integer, version integer);
        create function see() returns trigger language plpgsql as $$
          begin insert into public.seen values (coalesce(new.stamp, 0) & 65535, (coalesce(new.stamp, 0) >> 16) + 1); return null; end $$;
        create trigger see after insert on pgonce.notification for each row execute function see();
        grant insert on public.seen to pgonce_owner;
        """);
    publish(channel, new Parcel2(1, List.of("pen")));
    stage.awaitSoon(() -> handled.size() == 3);
    stage.awaitNothingWaits();
    assertThat(
            stage.database.queryString(
                "select string_agg(depth || '/' || version, ' ' order by depth) from seen"))
        .isEqualTo("0/2 1/2 2/2");
  }

  @Test
  void h24_whoHasNoVersionsPaysForNone() throws Exception {
    PgOnce.using(stage.dataSource).install(first(Mode.EXACTLY_ONCE));
    stage.database.execute("select pgonce.publish('parcels', '{}')");
    // 24 bytes of header, which has place for the null bits of 8 columns; 4 + 4 of padding, 8, 8,
    // and
    // 1 + 2 of payload.
    assertThat(
            stage.database.queryLong(
                "select pg_column_size(n.*) from pgonce.notification n where subscription_id > 0"))
        .isEqualTo(24 + 8 + 8 + 8 + 3);
  }
}
