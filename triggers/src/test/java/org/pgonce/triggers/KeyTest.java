package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.pgonce.ChannelOptions;
import org.pgonce.KeyOrder;
import org.pgonce.Mode;
import org.pgonce.PayloadRules;
import org.pgonce.PgOnce;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** Keys made of columns, the writer's context, and the depth: the same by trigger as by publish. */
@PgTest(PgOnceInstalled.class)
class KeyTest {

  record Mail(long id, String campaign, String toWhom) {}

  record Ping(long id) {}

  private static final ChannelOptions ORDERED =
      ChannelOptions.DEFAULT
          .withOrder(KeyOrder.DEAD_LETTER_BLOCKS)
          .withKeyMemory(Duration.ofHours(1))
          .withMaxDepth(3);

  private static final TriggerChannel<Mail> MAILS =
      TriggerChannel.on("mail", Mail.class)
          .afterInsert()
          .options(ORDERED)
          .deliveryKey("campaign", "toWhom")
          .orderKey("to_whom")
          .build();

  // What has no order key of its columns has one of its own, by its id.
  private static final String ROWS =
      """
      select string_agg(concat_ws(' ', payload->>'id', coalesce(delivery_key, '-'), coalesce(nullif(order_key, chr(1) || id), '-')), ', ' order by id)
        from pgonce.notification where subscription_id > 0
      """;

  @BeforeEach
  void install(TestDatabase database) throws Exception {
    database.execute("create table mail (id bigint not null, campaign text, to_whom text)");
    PgOnce.using(database.dataSource()).install(MAILS);
  }

  /** With none, a delivery key or an order key. */
  private static <T> TriggerChannelBuilder<T> withKey(
      TriggerChannelBuilder<T> builder, ChannelOptions options, String key) {
    return switch (key) {
      case "delivery" -> builder.deliveryKey("id");
      case "order" ->
          builder.options(options.withOrder(KeyOrder.DEAD_LETTER_PASSES)).orderKey("id");
      default -> builder;
    };
  }

  private static long stored(TestDatabase database) throws SQLException {
    return database.queryLong("select count(*) from pgonce.notification where subscription_id > 0");
  }

  @Test
  void example_aRowWhoseKeyIsThereIsWrittenAndNotPublished(TestDatabase database) throws Exception {
    database.execute("insert into mail values (1, 'cmp_42', 'ann'), (2, 'cmp_42', 'bob')");
    database.execute("insert into mail values (3, 'cmp_42', 'ann'), (4, 'cmp:43', 'ann')");

    assertThat(database.queryLong("select count(*) from mail")).isEqualTo(4);
    assertThat(database.queryString(ROWS))
        .isEqualTo("1 cmp_42:ann ann, 2 cmp_42:bob bob, 4 cmp%3A43:ann ann");
  }

  @Test
  @Tag("all")
  void s12_ofSeveralRowsOfOneStatementTheFirstIsPublishedWithOneWakeUp(TestDatabase database)
      throws Exception {
    try (var wakeUps = new Ear(database, MAILS)) {
      database.execute(
          "insert into mail select g, 'c', (g % 1000)::text from generate_series(1, 20000) g");
      assertThat(wakeUps.take()).containsExactly("");
      database.execute("insert into mail values (1, 'c', '7')");
      assertThat(wakeUps.take()).isEmpty();
    }
    assertThat(stored(database)).isEqualTo(1_000);
    assertThat(
            database.queryLong(
                """
                select count(*) from pgonce.notification n join pgonce.delivery_key k on k.key = n.delivery_key and k.id = n.id
                 where n.subscription_id > 0 and (n.payload->>'id')::int <= 1000
                   and n.delivery_key = 'c:' || (n.payload->>'to_whom') and k.waiting = 1
                """))
        .isEqualTo(1_000);
  }

  /** PostgreSQL computes cheaper filters first: storing must not be one of them. */
  @ParameterizedTest
  @EachForm
  void s12_aRowOfAnExpensiveConditionIsStoredAfterIt(TriggerForm form, TestDatabase database)
      throws Exception {
    database.execute(
        "create function public.even(n bigint) returns boolean language plpgsql cost 1000000 as 'begin return n % 2 = 0; end'");
    for (var builder :
        List.of(
            TriggerChannel.on("mail", Mail.class).deliveryKey("id").named("sorted"),
            TriggerChannel.on("mail", Mail.class).options(ORDERED).orderKey("id").named("ordered"),
            TriggerChannel.on("mail", Mail.class).dueAt("null").named("due"))) {
      PgOnce.using(database.dataSource())
          .install(builder.afterInsert().form(form).when("public.even(new.id)").build());
    }
    database.execute("drop trigger pgonce_mail_inserted on mail");
    database.execute("insert into mail select g, 'c', 'ann' from generate_series(1, 6) g");
    assertThat(
            database.queryString(
                "select string_agg(payload->>'id', ' ' order by payload->>'id') from pgonce.notification where subscription_id > 0"))
        .isEqualTo("2 2 2 4 4 4 6 6 6");
  }

  /** Its writers pay for no fingerprint. */
  @Test
  void s12_whatATriggerHasStoredCountsAsAnotherPayload(TestDatabase database) throws Exception {
    database.execute("insert into mail values (1, 'cmp_42', 'ann')");
    var publish =
        "select pgonce.publish_each('%s', (select json_build_array(payload) from pgonce.notification where subscription_id > 0), '[{\"delivery_key\": \"cmp_42:ann\", \"same_payload\": %s}]')";
    var channel = MAILS.name();

    database.execute(publish.formatted(channel, false));
    assertThatThrownBy(() -> database.execute(publish.formatted(channel, true)))
        .hasMessageContaining("was given to another payload before")
        .extracting("SQLState")
        .isEqualTo("PO004");
    assertThat(stored(database)).isOne();
  }

  @Test
  void s12_nullIsNoKeyAndALongOneIsKnownByItsHash(TestDatabase database) throws Exception {
    database.execute("insert into mail values (1, null, 'ann'), (2, null, 'ann'), (3, 'c', null)");
    assertThat(database.queryString(ROWS)).isEqualTo("1 - ann, 2 - ann, 3 - -");
    database.execute(
        "insert into mail values (4, repeat('x', 600), 'ann'), (5, repeat('x', 600), 'ann')");
    assertThat(database.queryString(ROWS)).matches(".*, 4 sha256:[0-9a-f]{64} ann");
  }

  @Test
  void s12_theKeyIsTheSameWhateverTheWritersSessionHasSet(TestDatabase database) throws Exception {
    database.execute(
        "create table reading (taken timestamptz, amount float8, raw bytea, ok boolean)");
    record Reading(java.time.Instant taken, Double amount) {}
    var readings =
        TriggerChannel.on("reading", Reading.class)
            .afterInsert()
            .deliveryKey("taken", "amount", "raw", "ok")
            .build();
    PgOnce.using(database.dataSource()).install(readings);
    var insert =
        "insert into reading values ('2026-01-02 03:04:05Z', 0.1::float8 + 0.2, '\\xff', true)";
    database.execute(insert);
    database.execute(
        "set timezone = 'Asia/Tokyo'; set datestyle = 'ISO, DMY'; set extra_float_digits = -3; set bytea_output = 'escape'; "
            + insert);
    assertThat(
            database.queryString("select string_agg(delivery_key, ' ') from pgonce.notification"))
        .isEqualTo("2026-01-02T03%3A04%3A05+00%3A00:0.30000000000000004:\\xff:true");
  }

  @Test
  void h10_aKeyColumnThatIsGoneBreaksNoWriteAndIsFound(TestDatabase database) throws Exception {
    database.execute("insert into mail values (1, 'c', 'ann')");
    database.execute("alter table mail rename column campaign to series");
    database.execute("insert into mail values (2, 'c', 'ann'), (3, 'c', 'ann')");

    assertThat(database.queryString(ROWS)).isEqualTo("1 c:ann ann, 2 - ann, 3 - ann");
    try (var connection = database.dataSource().getConnection()) {
      assertThat(Triggers.check(connection, MAILS))
          .anyMatch(problem -> problem.contains("the delivery key reads column campaign"));
    }
  }

  @Test
  void h83_otherKeyColumnsAreAnotherDefinition(TestDatabase database) throws Exception {
    var other =
        TriggerChannel.on("mail", Mail.class)
            .afterInsert()
            .options(ORDERED)
            .deliveryKey("id")
            .build();
    try (var connection = database.dataSource().getConnection()) {
      assertThat(Triggers.check(connection, MAILS)).isEmpty();
      assertThat(Triggers.check(connection, other))
          .singleElement()
          .asString()
          .contains("was made from another definition");
    }
    PgOnce.using(database.dataSource()).install(other);
    database.execute("insert into mail values (7, 'c', 'ann')");
    assertThat(database.queryString(ROWS)).isEqualTo("7 7 -");
  }

  @Test
  void api_whatMakesNoKeyIsRefused(TestDatabase database) throws Exception {
    var builder = TriggerChannel.on("mail", Mail.class).afterInsert();
    assertThatThrownBy(builder::deliveryKey).hasMessage("deliveryKey needs at least one column");
    assertThatThrownBy(() -> builder.orderKey("id").build())
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("has an order key but keeps no order");
    assertThatThrownBy(
            () ->
                TriggerChannel.on("mail", Mail.class)
                    .afterInsert()
                    .mode(Mode.BROADCAST)
                    .deliveryKey("id")
                    .build())
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("is a BROADCAST, which stores nothing");
    database.execute("alter table mail add column extra jsonb");
    var unfit =
        TriggerChannel.on("mail", Mail.class)
            .afterInsert()
            .named("unfit")
            .deliveryKey("extra", "nowhere")
            .build();
    assertThatThrownBy(() -> PgOnce.using(database.dataSource()).install(unfit))
        .hasMessageContaining("reads column nowhere, which table public.mail does not have")
        .hasMessageContaining("column extra of table public.mail, which is jsonb");
  }

  @Test
  void api_contextAndFiltersApplyToRowsAsToWhatIsPublished(TestDatabase database) throws Exception {
    database.execute("create table post (id bigint not null)");
    record Post(long id) {}
    var options =
        ChannelOptions.DEFAULT
            .withSubscriptions("audit")
            .withSubscription("acme", Map.of("tenant", "acme"));
    for (var key : List.of("", "delivery", "order")) {
      var builder = TriggerChannel.on("post", Post.class).afterInsert().options(options);
      PgOnce.using(database.dataSource()).install(withKey(builder, options, key).build());
      database.execute(
          """
          truncate pgonce.notification, pgonce.delivery_key;
          insert into post values (1);
          begin;
          select set_config('pgonce.context', '{"tenant":"acme"}', true);
          insert into post values (2);
          commit;
          set pgonce.context = 'garbage';
          set pgonce.depth = 'garbage';
          insert into post values (3)
          """);
      assertThat(
              database.queryString(
                  """
                  select string_agg(concat(s.name, n.payload->>'id', n.context->>'tenant'), ' ' order by n.id, s.name)
                    from pgonce.notification n join pgonce.subscription s on s.id = n.subscription_id
                  """))
          .isEqualTo("audit1 acme2acme audit2acme audit3");
    }
  }

  /** Where the row's version stands beside the depth, too. */
  @ParameterizedTest
  @ValueSource(strings = {"", "delivery", "order"})
  void h14_aDepthThatIsNoNumberFailsNoWriteAndCountsAsNone(String key, TestDatabase database)
      throws Exception {
    var options =
        ChannelOptions.DEFAULT.withPayload(
            PayloadRules.DEFAULT.withVersion(2).withUpcaster(1, Object.class, payload -> payload));
    var builder =
        TriggerChannel.on("mail", Mail.class).afterInsert().named("versioned").options(options);
    PgOnce.using(database.dataSource()).install(withKey(builder, options, key).build());
    database.execute(
        """
        set pgonce.context = 'garbage';
        set pgonce.depth = 'x';
        insert into mail values (1);
        set pgonce.depth = '99999999999';
        insert into mail values (2);
        set pgonce.depth = '-1';
        insert into mail values (3);
        set pgonce.depth = '99999';
        insert into mail values (4), (5);
        set pgonce.depth = '2';
        insert into mail values (6)
        """);
    assertThat(
            database.queryString(
                """
                select string_agg(concat_ws(' ', n.payload->>'id', n.stamp & 65535, n.stamp / 65536 + 1), ', ' order by n.id)
                  from pgonce.notification n join pgonce.subscription s on s.id = n.subscription_id where s.of_channel = 'versioned'
                """))
        .isEqualTo("1 0 2, 2 0 2, 3 0 2, 4 32767 2, 5 32767 2, 6 2 2");
  }

  @Test
  void h14_aHandlerThatInsertsIntoTheWatchedTableIsCut(TestDatabase database) throws Exception {
    database.execute("create table ping (id bigint not null)");
    for (var keyed : new boolean[] {false, true}) {
      var builder =
          TriggerChannel.on("ping", Ping.class)
              .afterInsert()
              .options(ChannelOptions.DEFAULT.withMaxDepth(3));
      var pings = keyed ? builder.deliveryKey("id").build() : builder.build();
      database.execute("truncate ping");
      var handled = new AtomicInteger();
      try (var pgonce = PgOnce.using(database.pooled(4))) {
        pgonce.install(pings);
        pgonce
            .listen(
                pings,
                (ping, tx) -> {
                  handled.incrementAndGet();
                  tx.update("insert into ping values (?)", ping.payload().id() + 1);
                })
            .start();
        database.execute("insert into ping values (1)");
        Awaitility.await()
            .atMost(Duration.ofSeconds(15))
            .until(() -> database.queryLong("select count(*) from pgonce.dead_letter") == 1);
        assertThat(OnCall.letters(database, "discard", pings)).isEqualTo(1);
      }
      assertThat(handled).hasValue(4);
      assertThat(database.queryLong("select max(id) from ping")).isEqualTo(5); // it did not fail
    }
  }

  /** A key of the writer's snapshot, which was handled and forgotten since. */
  @ParameterizedTest
  @ValueSource(ints = {Connection.TRANSACTION_REPEATABLE_READ, Connection.TRANSACTION_SERIALIZABLE})
  void s12_aKeyThatWasForgottenAfterTheWritersSnapshotIsFree(int level, TestDatabase database)
      throws Exception {
    PgOnce.using(database.dataSource())
        .install(TriggerChannel.on("mail", Mail.class).afterInsert().deliveryKey("id").build());
    database.execute("insert into mail values (1)");
    try (var writer = database.dataSource().getConnection()) {
      writer.setTransactionIsolation(level);
      writer.setAutoCommit(false);
      try (var statement = writer.createStatement()) {
        statement.execute("set local statement_timeout = '10s'");
        statement.execute("select count(*) from mail");
        database.execute("select pgonce.cancel('mail_inserted', null, array['1'])");
        database.execute("select pgonce.forget_keys()");
        assertThat(database.queryLong("select count(*) from pgonce.delivery_key")).isZero();
        statement.execute("insert into mail values (1), (2)");
      }
      writer.commit();
    }
    assertThat(stored(database)).isEqualTo(2);
  }

  /** By a writer whose snapshot is older: else the key would never be free again. */
  @ParameterizedTest
  @EachForm
  void h84_theKeyOfWhatIsStoredForADroppedSubscriptionIsFree(
      TriggerForm form, TestDatabase database) throws Exception {
    database.execute("create table ping (id bigint not null)");
    var options = ChannelOptions.DEFAULT.withSubscriptions("mail", "audit");
    var builder = TriggerChannel.on("ping", Ping.class).afterInsert().form(form);
    PgOnce.using(database.dataSource()).install(builder.options(options).deliveryKey("id").build());
    try (var writer = database.dataSource().getConnection()) {
      writer.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
      writer.setAutoCommit(false);
      try (var statement = writer.createStatement()) {
        statement.execute("select count(*) from ping");
        database.execute("select pgonce.drop_subscription('ping_inserted', 'mail')");
        statement.execute("insert into ping values (1)");
      }
      writer.commit();
    }
    // Nothing is stored for it under a key, though it stays in the function's text.
    assertThat(stored(database)).isOne();
    database.execute("select pgonce.cancel('ping_inserted', null, array['1'])");
    database.execute("select pgonce.forget_keys()");
    database.execute("insert into ping values (1)");
    assertThat(stored(database)).isOne();
  }

  /** Else those that write the same row have met at its primary key before. */
  @ParameterizedTest
  @CsvSource({"primary key, false", "primary key deferrable, true", "unique, true", "'', true"})
  void h48_rowsAreSortedByTheirKeyWhereNoPrimaryKeyKeepsWritersApart(
      String constraint, boolean sorted, TestDatabase database) throws Exception {
    database.execute("create table ping (id bigint not null %s)".formatted(constraint));
    var pings = TriggerChannel.on("ping", Ping.class).afterInsert().deliveryKey("id").build();
    PgOnce.using(database.dataSource()).install(pings);
    assertThat(sorts(database)).isEqualTo(sorted);
    if (!sorted) {
      database.execute("alter table ping drop constraint ping_pkey");
      PgOnce.using(database.dataSource()).install(pings);
      assertThat(sorts(database)).isTrue();
    }
  }

  private static boolean sorts(TestDatabase database) throws SQLException {
    return database
        .queryString("select prosrc from pg_proc where proname = 'capture_ping_inserted'")
        .contains("ORDER BY");
  }

  @Test
  void s12_aKeyMayBeALiteral(TestDatabase database) throws Exception {
    PgOnce.using(database.dataSource())
        .install(
            TriggerChannel.on("mail", Mail.class)
                .afterInsert()
                .options(ORDERED)
                .orderKeySql("'all'")
                .build());
    database.execute("insert into mail values (1)");
    assertThat(
            database.queryString(
                "select order_key from pgonce.notification where subscription_id > 0"))
        .isEqualTo("all");
  }

  @ParameterizedTest
  @EachForm
  void s12_aKeyThatSqlMakesIsNoneIfItIsEmptyAndKnownByItsHashIfItIsLong(
      TriggerForm form, TestDatabase database) throws Exception {
    database.execute("create table letter (id bigint not null, body text)");
    PgOnce.using(database.dataSource())
        .install(
            TriggerChannel.on("letter", Object.class)
                .afterInsert()
                .options(ORDERED)
                .deliveryKeySql("new.body")
                .orderKeySql("new.body")
                .form(form)
                .build());
    database.execute(
        """
        insert into letter values (1, ''), (2, ''), (3, repeat('x', 500)), (4, repeat('y', 501)), (5, repeat('y', 501)), (6, repeat('y', 502)), (7, null)
        """);
    assertThat(
            database.queryString(
                """
                select string_agg(concat_ws(' ', payload->>'id', coalesce(left(delivery_key, 8), '-'), length(delivery_key), coalesce(nullif(left(order_key, 8), left(chr(1) || id, 8)), '-')), ', ' order by id)
                  from pgonce.notification where subscription_id > 0
                """))
        .isEqualTo(
            "1 - -, 2 - -, 3 xxxxxxxx 500 xxxxxxxx, 4 sha256:%1$s 71 sha256:%1$s, 6 sha256:%2$s 71 sha256:%2$s, 7 - -"
                .formatted(digit("y".repeat(501)), digit("y".repeat(502))));
  }

  private static String digit(String text) throws Exception {
    var digest = MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8));
    return HexFormat.of().formatHex(digest).substring(0, 1);
  }
}
