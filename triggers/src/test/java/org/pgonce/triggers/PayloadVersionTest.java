package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.annotation.JsonAlias;
import java.math.BigDecimal;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;
import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.Handler;
import org.pgonce.Mode;
import org.pgonce.PayloadRules;
import org.pgonce.PayloadRules.MissingFields;
import org.pgonce.PayloadRules.UnknownFields;
import org.pgonce.PgOnce;
import org.pgonce.PgOnceException;
import org.pgonce.spi.Event;
import org.pgonce.spi.Observer;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/** H24: rows that were captured by another version of the channel's definition. */
@PgTest(PgOnceInstalled.class)
class PayloadVersionTest {

  /** Version 1 of the table has one column for both. */
  record Price1(long id, String price) {}

  /** Version 2. */
  record Price2(long id, BigDecimal amount, String currency) {}

  private static final PayloadRules SECOND =
      PayloadRules.DEFAULT
          .withVersion(2)
          .withUpcaster(1, ObjectNode.class, PayloadVersionTest::split);
  private static final Duration SOON = Duration.ofSeconds(45);

  record Thing(long id) {}

  private static final TriggerChannel<Thing> FIRST_RELEASE =
      TriggerChannel.on("thing", Thing.class).afterInsert().build();
  private static final TriggerChannel<Thing> SECOND_RELEASE =
      TriggerChannel.on("thing", Thing.class)
          .afterInsert()
          .options(
              with(
                  PayloadRules.DEFAULT
                      .withVersion(2)
                      .withUpcaster(1, Object.class, payload -> payload)))
          .build();

  private final List<String> handled = new CopyOnWriteArrayList<>();

  private static ObjectNode split(ObjectNode row) {
    var price = row.remove("price").asString();
    var space = price.indexOf(' ');
    return row.put("amount", new BigDecimal(price.substring(0, space)))
        .put("currency", price.substring(space + 1));
  }

  private static ChannelOptions with(PayloadRules rules) {
    return ChannelOptions.DEFAULT.withPayload(rules);
  }

  private <T> Handler<T> noting() {
    return (notification, tx) -> handled.add(notification.payload().toString());
  }

  @Test
  void example_aTableChangesWhileItsRowsWait(TestDatabase database) throws Exception {
    database.execute("create table price (id bigint primary key, price text not null)");
    var version1 = TriggerChannel.on("price", Price1.class).afterInsert().build();
    PgOnce.using(database.dataSource()).install(version1);
    database.execute("insert into price values (1, '9.90 EUR')");

    // The migration of version 2: table and channel in one transaction.
    var version2 =
        TriggerChannel.on("price", Price2.class)
            .afterInsert()
            .options(
                ChannelOptions.DEFAULT.withPayload(
                    PayloadRules.DEFAULT
                        .withVersion(2)
                        .withUpcaster(
                            1,
                            ObjectNode.class,
                            row -> {
                              var price = row.remove("price").asString();
                              var space = price.indexOf(' ');
                              return row.put("amount", new BigDecimal(price.substring(0, space)))
                                  .put("currency", price.substring(space + 1));
                            })))
            .build();
    try (var migration = database.dataSource().getConnection()) {
      migration.setAutoCommit(false);
      try (var statement = migration.createStatement()) {
        statement.execute(
            """
            alter table price add amount numeric, add currency text;
            update price set amount = split_part(price, ' ', 1)::numeric, currency = split_part(price, ' ', 2);
            alter table price drop price;
            """);
      }
      Triggers.apply(migration, version2);
      migration.commit();
    }
    database.execute("insert into price values (2, 1.50, 'CHF')");

    try (var pgonce = PgOnce.using(database.pooled(4))) {
      pgonce.listen(version2, (price, tx) -> handled.add(price.payload().toString())).start();
      await().atMost(SOON).until(() -> handled.size() == 2);
    }
    assertThat(handled)
        .containsExactlyInAnyOrder(
            "Price2[id=1, amount=9.90, currency=EUR]", "Price2[id=2, amount=1.50, currency=CHF]");
  }

  @Test
  void h24_eachRowOfAChangeIsBroughtToTheVersion(TestDatabase database) throws Exception {
    database.execute("create table price (id bigint primary key, price text not null)");
    var first =
        TriggerChannel.changesOf("price", Price1.class)
            .afterInsert()
            .afterUpdate()
            .afterDelete()
            .afterTruncate()
            .build();
    PgOnce.using(database.dataSource()).install(first);
    database.execute("insert into price values (1, '9.90 EUR')");
    database.execute("update price set price = '8 CHF'");
    database.execute("delete from price; truncate price");
    database.execute("drop table price");
    database.execute(
        "create table price (id bigint primary key, amount numeric not null, currency text not null)");
    var second =
        TriggerChannel.changesOf("price", Price2.class)
            .afterInsert()
            .afterUpdate()
            .afterDelete()
            .afterTruncate()
            .options(with(SECOND))
            .build();
    try (var pgonce = PgOnce.using(database.pooled(4))) {
      pgonce.install(second).listen(second, noting()).start();
      database.execute("insert into price values (2, 1.50, 'CHF')");
      await().atMost(SOON).until(() -> handled.size() == 5);
    }
    assertThat(handled)
        .containsExactlyInAnyOrder(
            "Inserted[row=Price2[id=1, amount=9.90, currency=EUR]]",
            "Updated[before=Price2[id=1, amount=9.90, currency=EUR], after=Price2[id=1, amount=8, currency=CHF]]",
            "Deleted[row=Price2[id=1, amount=8, currency=CHF]]",
            "Truncated[]",
            "Inserted[row=Price2[id=2, amount=1.50, currency=CHF]]");
  }

  @Test
  void h24_aChangedVersionIsADifferenceThatPlanCheckAndStartTell(TestDatabase database)
      throws Exception {
    database.execute("create table thing (id bigint primary key)");
    var pgonce = PgOnce.using(database.pooled(4));
    pgonce.install(FIRST_RELEASE);
    try (var connection = database.dataSource().getConnection()) {
      assertThat(Triggers.check(connection, SECOND_RELEASE))
          .singleElement()
          .asString()
          .contains("was made from another definition", ", version 2, definition ");
      var plan = Triggers.plan(connection, SECOND_RELEASE);
      assertThat(plan.changes())
          .extracting(Plan.Change::summary)
          .containsExactly("replace function pgonce_triggers.\"capture_thing_inserted\"");
      assertThat(plan.changes().get(0).diff())
          .anyMatch(line -> line.contains("current_depth(), 0) + 65536"));
    }
    try (pgonce) {
      pgonce.listen(SECOND_RELEASE, noting());
      assertThatThrownBy(pgonce::start)
          .isInstanceOf(PgOnceException.class)
          .hasMessageContaining("version 2");
    }
    PgOnce.using(database.dataSource()).install(SECOND_RELEASE);
    try (var connection = database.dataSource().getConnection()) {
      assertThat(Triggers.check(connection, SECOND_RELEASE)).isEmpty();
      assertThat(Triggers.plan(connection, SECOND_RELEASE).changes()).isEmpty();
    }
  }

  /** As an instance of the earlier release does that starts again during a deployment. */
  @Test
  void h24_anEarlierVersionIsInstalledWithAWarningAndListenersOfTheLaterOneHearOfIt(
      TestDatabase database) throws Exception {
    database.execute("create table thing (id bigint primary key)");
    var troubles = new CopyOnWriteArrayList<String>();
    Observer noting =
        event -> {
          if (event instanceof Event.FeedTrouble trouble) {
            troubles.add(trouble.problem());
          }
        };
    try (var pgonce = PgOnce.builder(database.pooled(4)).observer(noting).build()) {
      pgonce.install(SECOND_RELEASE);
      pgonce.listen(SECOND_RELEASE, noting()).start();

      try (var connection = database.dataSource().getConnection()) {
        assertThat(Triggers.plan(connection, FIRST_RELEASE).warnings())
            .singleElement()
            .asString()
            .contains("writes version 2 of its payloads, and the definition here has version 1");
        assertThat(Triggers.plan(connection, SECOND_RELEASE).warnings()).isEmpty();
      }
      PgOnce.using(database.dataSource()).install(FIRST_RELEASE);

      await().atMost(SOON).until(() -> !troubles.isEmpty());
      assertThat(troubles)
          .singleElement()
          .asString()
          .contains("was made from another definition", ", version 2, definition ");
      assertThat(
              database.queryLong(
                  "select count(*) from pgonce.operation_log where detail = 'the function of its triggers is replaced'"))
          .isOne();
    }
  }

  @Test
  void h24_rowsOfEachKindKnowTheirVersion(TestDatabase database) throws Exception {
    database.execute("create table thing (id int primary key, due timestamptz)");
    var rules = PayloadRules.DEFAULT.withVersion(3).withOldest(3);
    var options = with(rules);
    var plain = thing("plain").options(options).build();
    var perRow = thing("per_row").form(TriggerForm.ROW).options(options).build();
    var keyed = thing("keyed").deliveryKey("id").dueAt("new.due").options(options).build();
    var unstorable = thing("unstorable").when("1 / (new.id - 2) < 5").options(options);
    var buried = unstorable.unstorable(Unstorable.DEAD_LETTER).build();
    var deep = thing("deep").options(options.withMaxDepth(1)).build();
    var deepKeyed = thing("deep_keyed").deliveryKey("id").options(options.withMaxDepth(1)).build();
    var first = thing("first").build();
    PgOnce.using(database.dataSource())
        .install(plain, perRow, keyed, buried, deep, deepKeyed, first);
    database.execute(
        "set pgonce.depth = 2; insert into thing values (1, null), (2, now() + interval '1 hour')");
    try (var pgonce = PgOnce.using(database.pooled(4))) {
      pgonce.listen(deep, noting()).listen(deepKeyed, noting()).start();
      await()
          .atMost(SOON)
          .until(
              () ->
                  database.queryLong(
                          "select count(*) from pgonce.dead_letter where reason = 'TOO_DEEP'")
                      == 4);
    }
    assertThat(
            database.queryString(
                """
                select string_agg(distinct c.name || ' ' || a.place || ' ' || (coalesce(a.stamp, 0) >> 16) + 1 || '/' || (coalesce(a.stamp, 0) & 65535), ', ')
                  from (select subscription_id, 'new' as place, stamp from pgonce.notification union all
                        select subscription_id, 'later', stamp from pgonce.scheduled union all
                        select subscription_id, 'dead', stamp from pgonce.dead_letter) as a
                  join pgonce.subscription s on s.id = a.subscription_id join pgonce.channel c on c.id = s.channel_id
                """))
        .isEqualTo(
            "deep dead 3/2, deep_keyed dead 3/2, first new 1/2, keyed later 3/2, keyed new 3/2, per_row new 3/2, plain new 3/2, unstorable dead 3/2");
  }

  private static TriggerChannelBuilder<JsonNode> thing(String name) {
    return TriggerChannel.on("thing", JsonNode.class).afterInsert().named(name);
  }

  @Test
  void h24_aBroadcastOfATableTellsItsVersion(TestDatabase database) throws Exception {
    database.execute("create table price (id bigint primary key, price text not null)");
    var first =
        TriggerChannel.on("price", Price1.class)
            .afterInsert()
            .named("prices")
            .mode(Mode.BROADCAST)
            .build();
    PgOnce.using(database.dataSource()).install(first);
    // Who listens by a newer definition has no trigger to check: it is a channel that is published.
    database.execute("update pgonce.channel set feed = 'published'");
    var reader = Channel.of("prices", Price2.class, Mode.BROADCAST, with(SECOND));
    var versioned =
        TriggerChannel.on("price", JsonNode.class)
            .afterInsert()
            .named("prices")
            .mode(Mode.BROADCAST)
            .options(with(PayloadRules.DEFAULT.withVersion(2).withOldest(2)))
            .build();
    try (var pgonce = PgOnce.using(database.pooled(4))) {
      pgonce.listen(reader, noting()).start();
      database.execute("insert into price values (1, '9.90 EUR')");
      await().atMost(SOON).until(() -> handled.size() == 1);
      assertThat(handled).containsExactly("Price2[id=1, amount=9.90, currency=EUR]");
      // Seen from outside it is published all the while: the listener would stop otherwise.
      try (var connection = database.dataSource().getConnection();
          var feed = connection.createStatement()) {
        connection.setAutoCommit(false);
        feed.execute("update pgonce.channel set feed = 'trigger on price'");
        Triggers.apply(connection, versioned);
        feed.execute("update pgonce.channel set feed = 'published'");
        connection.commit();
      }
      database.execute(
          "alter table price rename price to currency; alter table price add amount numeric");
      database.execute("insert into price values (2, 'CHF', 7)");
      await().atMost(SOON).until(() -> handled.size() == 2);
    }
    assertThat(handled).endsWith("Price2[id=2, amount=7, currency=CHF]");
  }

  @Test
  void example_aColumnAndItsComponentHaveNamesOfTheirOwn(TestDatabase database) throws Exception {
    database.execute("create table customer (id bigint primary key, mail text not null)");
    // Also for what waits from before the column itself is renamed.
    record Customer(long id, @JsonAlias("mail") String email) {}
    var rules =
        PayloadRules.DEFAULT
            .withUnknownFields(UnknownFields.FAIL)
            .withMissingFields(MissingFields.FAIL);
    var channel =
        TriggerChannel.on("customer", Customer.class).afterInsert().options(with(rules)).build();
    try (var pgonce = PgOnce.using(database.pooled(4))) {
      pgonce.install(channel).listen(channel, noting()).start();
      database.execute("insert into customer values (1, 'a@example.com')");
      database.execute("alter table customer rename mail to email");
      database.execute("insert into customer values (2, 'b@example.com')");
      await().atMost(SOON).until(() -> handled.size() == 2);
    }
    assertThat(handled)
        .containsExactlyInAnyOrder(
            "Customer[id=1, email=a@example.com]", "Customer[id=2, email=b@example.com]");
  }
}
