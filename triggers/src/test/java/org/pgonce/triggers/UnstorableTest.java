package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.sql.SQLException;
import java.util.Collections;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.pgonce.ChannelOptions;
import org.pgonce.KeyOrder;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** Rows that cannot be stored as the channel is defined. */
@PgTest(PgOnceInstalled.class)
class UnstorableTest {

  private static final String LETTERS =
      "select string_agg(concat_ws(' ', reason, payload, error), E'\\n' order by id) from pgonce.dead_letter";

  @BeforeEach
  void table(TestDatabase database) throws SQLException {
    database.execute("create table doc (id int primary key, body text, secret text, j json)");
  }

  private static TriggerChannelBuilder<RowChange<Object>> docs() {
    return TriggerChannel.changesOf("doc", Object.class).afterInsert().afterUpdate();
  }

  @ParameterizedTest
  @EnumSource(TriggerForm.class)
  void h04_anExpressionThatFailsMakesADeadLetterWithTheKey(TriggerForm form, TestDatabase database)
      throws Exception {
    PgOnce.using(database.dataSource())
        .install(docs().form(form).when("1 / length(new.body) > 0").build());
    database.execute("insert into doc values (1, 'x'), (2, '')");
    assertThat(database.queryString(LETTERS))
        .contains(
            "NOT_STORABLE {\"op\" : \"INSERT\", \"new\" : {\"id\":2}} condition: an error of SQLSTATE 22012");
    assertThat(database.queryLong("select count(*) from doc")).isEqualTo(2);
  }

  @ParameterizedTest
  @EnumSource(TriggerForm.class)
  void h04_orFailsTheWriteWhereAsked(TriggerForm form, TestDatabase database) throws Exception {
    PgOnce.using(database.dataSource())
        .install(
            docs()
                .form(form)
                .when("1 / length(new.body) > 0")
                .unstorable(Unstorable.FAIL_WRITE)
                .build());
    database.execute("insert into doc values (1, 'x')");
    assertThatThrownBy(() -> database.execute("insert into doc values (2, '')"))
        .hasMessageContaining(
            "pgonce: channel doc_changed cannot take a row of table public.doc: condition: division by zero");
    assertThat(database.queryLong("select count(*) from doc")).isEqualTo(1);
  }

  @Test
  void h35_aSecretColumnThatIsRenamedIsNotStored(TestDatabase database) throws Exception {
    PgOnce.using(database.dataSource()).install(docs().withoutColumns("secret").build());
    database.execute("alter table doc rename column secret to hidden");
    database.execute("insert into doc values (1, 'x', 'hush')");
    assertThat(database.queryString(LETTERS))
        .isEqualTo(
            "NOT_STORABLE {\"op\" : \"INSERT\", \"new\" : {\"row\":null}} column secret must not be stored and is not there: it was dropped, or has another name now");
  }

  @Test
  void h35_whatAnErrorQuotesOfARowIsNotStored(TestDatabase database) throws Exception {
    PgOnce.using(database.dataSource())
        .install(docs().when("new.secret::integer > 0").named("cast").build());
    database.execute("insert into doc values (1, 'x', 'hush')");
    assertThat(database.queryString(LETTERS)).doesNotContain("hush").contains("SQLSTATE 22P02");
  }

  @Test
  void h04_aBroadcastThatCannotBeSentIsWarnedOf(TestDatabase database) throws Exception {
    PgOnce.using(database.dataSource())
        .install(docs().mode(Mode.BROADCAST).when("1 / length(new.body) > 0").build());
    try (var connection = database.dataSource().getConnection();
        var statement = connection.createStatement()) {
      statement.execute("insert into doc values (1, '')");
      assertThat(Objects.requireNonNull(statement.getWarnings()).getMessage())
          .contains("pgonce: channel doc_changed cannot send a row of table public.doc");
    }
  }

  @Test
  void h04_jsonWithANulIsStoredAsItIs(TestDatabase database) throws Exception {
    PgOnce.using(database.dataSource()).install(docs().build());
    database.execute("insert into doc values (1, 'x', null, '{\"a\":\"\\u0000\"}')");
    assertThat(
            database.queryString(
                "select payload::text from pgonce.notification where subscription_id > 0"))
        .contains("\\u0000");
  }

  @ParameterizedTest
  @EnumSource(TriggerForm.class)
  void h04_whatFailsIsNamed(TriggerForm form, TestDatabase database) throws Exception {
    var failing = "(1 / length(new.body))::text";
    var kinds =
        Map.of(
            "condition", docs().when("1 / length(new.body) > 0"),
            "delivery key", docs().deliveryKeySql(failing).when("new.id > 0"),
            "order key",
                docs()
                    .options(ChannelOptions.DEFAULT.withOrder(KeyOrder.DEAD_LETTER_BLOCKS))
                    .orderKeySql(failing),
            "due time", docs().dueAt("now() + interval '1 second' / length(new.body)"),
            "payload", TriggerChannel.computed("doc", Object.class, failing).afterInsert());
    for (var kind : kinds.entrySet()) {
      var channel =
          kind.getValue()
              .form(form)
              .named(kind.getKey().replace(' ', '_'))
              .unstorable(Unstorable.FAIL_WRITE)
              .build();
      PgOnce.using(database.dataSource()).install(channel);
      assertThatThrownBy(() -> database.execute("insert into doc values (1, '')"))
          .hasMessageContaining(
              "pgonce: channel %s cannot take a row of table public.doc: %s: division by zero"
                  .formatted(channel.name(), kind.getKey()));
      database.execute("alter table doc disable trigger user");
    }
  }

  @ParameterizedTest
  @EnumSource(TriggerForm.class)
  void h04_aComputedNullIsNoPayload(TriggerForm form, TestDatabase database) throws Exception {
    var computed =
        TriggerChannel.computed("doc", Object.class, "'doc ' || new.body").afterInsert().form(form);
    PgOnce.using(database.dataSource()).install(computed.build());
    database.execute("insert into doc values (1, null)");
    assertThat(database.queryString(LETTERS))
        .isEqualTo(
            "NOT_STORABLE {\"id\":1} payload: it is null, which is no payload: which rows make a notification is said by a condition");
    PgOnce.using(database.dataSource())
        .install(computed.named("strict").unstorable(Unstorable.FAIL_WRITE).build());
    assertThatThrownBy(() -> database.execute("insert into doc values (2, null)"))
        .hasMessageContaining("channel strict cannot take a row of table public.doc: payload: ");
  }

  @ParameterizedTest
  @EnumSource(TriggerForm.class)
  void h10_aPrimaryKeyThatIsGoneIsToldOf(TriggerForm form, TestDatabase database) throws Exception {
    var added =
        TriggerChannel.on("doc", Object.class).afterInsert().primaryKeyOnly().form(form).build();
    PgOnce.using(database.dataSource()).install(added);
    database.execute("insert into doc values (1, 'x')");
    database.execute("alter table doc drop constraint doc_pkey");
    database.execute("insert into doc values (2, 'x')");
    assertThat(database.queryString(LETTERS))
        .isEqualTo(
            "NOT_STORABLE {\"row\":null} the table has no primary key any more, or another one than the transaction can see, and nothing else is to be stored");
    try (var connection = database.dataSource().getConnection()) {
      assertThat(Triggers.check(connection, added))
          .singleElement()
          .asString()
          .contains("table public.doc has no primary key, and the channel stores nothing but that");
      assertThat(Triggers.plan(connection, added).obstacles()).isNotEmpty();
    }
  }

  /** Eighty kilobytes of numerics are more than a gigabyte of JSON. */
  @Tag("all")
  @ParameterizedTest
  @EnumSource(
      value = TriggerForm.class,
      names = {"STATEMENT", "ROW"})
  void h04_aRowWhoseJsonIsTooLongNamesItsColumn(TriggerForm form, TestDatabase database)
      throws Exception {
    assumeEnoughMemory();
    database.execute("alter table doc add column amounts numeric[]");
    PgOnce.using(database.dataSource()).install(docs().form(form).build());
    database.execute("insert into doc values (1, 'x')");
    database.execute("update doc set amounts = array_fill(1e131071, array[10000])");
    assertThat(database.queryString(LETTERS))
        .startsWith("NOT_STORABLE {\"op\" : \"UPDATE\", \"new\" : {\"id\":1}} column amounts: ");
    assertThat(database.queryLong("select cardinality(amounts) from doc")).isEqualTo(10_000);
  }

  /** 130 MB of bits are more than a gigabyte of JSON. */
  @Tag("all")
  @Test
  void h04_soIsARowOfOnePlainValue(TestDatabase database) throws Exception {
    assumeEnoughMemory();
    database.execute("alter table doc add column bits varbit");
    PgOnce.using(database.dataSource()).install(docs().build());
    var bits = "repeat('0', 65000000)::varbit";
    database.execute(
        "insert into doc values (1, 'x', null, null, %s)"
            .formatted(String.join(" || ", Collections.nCopies(17, bits))));
    assertThat(database.queryString(LETTERS))
        .startsWith("NOT_STORABLE {\"op\" : \"INSERT\", \"new\" : {\"id\":1}} column bits: ");
    assertThat(database.queryLong("select length(bits) from doc")).isEqualTo(17 * 65_000_000L);
  }

  private static void assumeEnoughMemory() {
    // By default a JVM may take a quarter of the machine's.
    assumeTrue(
        4 * Runtime.getRuntime().maxMemory() >= 6_000_000_000L,
        "skipped: a server makes 1 GB of JSON here, and this machine has less than 6 GB of memory");
  }

  /** Each of them is less than a gigabyte of JSON, and small enough to be stored unlooked at. */
  @Test
  void h04_theRowsBeforeAndAfterCountTogether(TestDatabase database) throws Exception {
    assumeEnoughMemory();
    assumeTrue(
        database.queryLong(
                "select count(*) from pg_settings where name = 'default_toast_compression' and 'lz4' = any (enumvals)")
            == 1,
        "skipped: nothing is compressed enough for this by a server that was built without lz4");
    database.execute("alter table doc add column bits varbit compression lz4");
    var bits = "(repeat('0', 83886080)::varbit)";
    database.execute(
        "insert into doc values (1, 'x', null, null, %1$s || %1$s || %1$s || %1$s || %1$s || %1$s || %1$s)"
            .formatted(bits));
    PgOnce.using(database.dataSource()).install(docs().build());
    database.execute("update doc set id = 2");
    assertThat(database.queryString(LETTERS)).startsWith("NOT_STORABLE").contains("{\"id\":2}}");
  }
}
