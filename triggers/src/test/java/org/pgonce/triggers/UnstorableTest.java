package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.pgonce.ChannelOptions;
import org.pgonce.KeyOrder;
import org.pgonce.Mode;
import org.pgonce.PayloadRules;
import org.pgonce.PgOnce;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** Rows that cannot be stored as the channel is defined. */
@PgTest(PgOnceInstalled.class)
class UnstorableTest {

  private static final String STORED =
      "select (select count(*) from pgonce.notification where subscription_id > 0) + (select count(*) from pgonce.scheduled where subscription_id > 0)";

  private static final String PAYLOADS =
      "select string_agg(payload::text, E'\\n' order by id) from pgonce.notification where subscription_id > 0";

  private static final String LETTERS =
      "select string_agg(concat_ws(' ', reason, payload, error), E'\\n' order by id) from pgonce.dead_letter";

  @BeforeEach
  void table(TestDatabase database) throws SQLException {
    database.execute("create table doc (id int primary key, body text, secret text, j json)");
  }

  private static final String FAILING = "1 / length(coalesce(new.body, old.body)) > 0";

  private static TriggerChannelBuilder<RowChange<Object>> docs() {
    return TriggerChannel.changesOf("doc", Object.class).afterInsert().afterUpdate();
  }

  private static TriggerChannelBuilder<RowChange<Object>> buried() {
    return docs().unstorable(Unstorable.DEAD_LETTER);
  }

  /** By default. */
  @ParameterizedTest
  @EachForm
  void h04_aRowThatCannotBeStoredFailsTheWrite(TriggerForm form, TestDatabase database)
      throws Exception {
    PgOnce.using(database.dataSource()).install(docs().form(form).when(FAILING).build());
    database.execute("insert into doc values (1, 'x')");
    assertThatThrownBy(() -> database.execute("insert into doc values (2, 'x'), (3, '')"))
        .hasMessageStartingWith("ERROR: division by zero")
        .hasMessageContaining("PL/pgSQL function pgonce_triggers.capture_doc_changed()");
    assertThat(database.queryLong("select count(*) from doc")).isEqualTo(1);
    assertThat(database.queryLong(STORED)).isEqualTo(1);
  }

  @ParameterizedTest
  @EachForm
  void h04_orMakesADeadLetterWithTheKeyWhereAsked(TriggerForm form, TestDatabase database)
      throws Exception {
    PgOnce.using(database.dataSource()).install(buried().form(form).when(FAILING).build());
    database.execute("insert into doc values (1, 'x'), (2, '')");
    var second =
        "NOT_STORABLE {\"op\" : \"INSERT\", \"new\" : {\"id\":2}} an error of SQLSTATE 22012";
    assertThat(database.queryString(LETTERS))
        .isEqualTo(
            form == TriggerForm.STATEMENT
                ? second.replace("2}", "1}") + "\n" + second // all rows of the statement
                : second);
    assertThat(database.queryLong("select count(*) from doc")).isEqualTo(2);
    database.execute("insert into doc values (3, 'x')");
    assertThat(database.queryLong(STORED)).isEqualTo(form == TriggerForm.STATEMENT ? 1 : 2);
  }

  /** Each event in each form, with keys and without, whichever way the payload is made. */
  @ParameterizedTest
  @EachForm
  void h04_soDoesEachEvent(TriggerForm form, TestDatabase database) throws Exception {
    var ordered = ChannelOptions.DEFAULT.withOrder(KeyOrder.DEAD_LETTER_BLOCKS);
    for (var builder :
        List.of(
            buried().when(FAILING).named("plain"),
            buried().when(FAILING).columns("id", "body").named("columns"),
            buried().when(FAILING).onlyIfChanged("id").named("changed"),
            buried().when(FAILING).deliveryKey("id", "body").named("keyed"),
            buried().deliveryKeySql("(" + FAILING + ")::text || tg_op").named("sqlkey"),
            buried().options(ordered).orderKeySql("(" + FAILING + ")::text").named("order"),
            buried().when(FAILING).dueAfter(Duration.ofHours(1)).named("later"),
            buried().when(FAILING).options(twoVersions()).named("versions"))) {
      PgOnce.using(database.dataSource())
          .install(builder.afterDelete().afterTruncate().form(form).build());
    }
    database.execute("insert into doc values (1, '')");
    assertThat(
            database.queryLong(
                "select count(*) from pgonce.dead_letter where delivery_key is not null or order_key not like chr(1) || '%'"))
        .as("dead letters with a key, which could block others or keep them away")
        .isZero();
    assertThat(letters(database)).isEqualTo("8 {'op':'INSERT','new':{'id':1}}");
    // Asked for per statement, an update may show no row after it.
    database.execute("update doc set id = 2");
    assertThat(letters(database))
        .isEqualTo(
            form == TriggerForm.STATEMENT
                ? "8 {'op':'UPDATE','old':{'id':1}}"
                : "8 {'op':'UPDATE','new':{'id':2}}");
    database.execute("delete from doc");
    assertThat(letters(database)).isEqualTo("8 {'op':'DELETE','old':{'id':2}}");
    assertThat(database.queryLong(STORED)).isZero();
    database.execute("insert into doc values (3, 'x'); update doc set id = 4; delete from doc");
    database.execute("truncate doc");
    assertThat(letters(database)).isNull();
    assertThat(database.queryLong(STORED))
        .as("eight channels, four events, one key twice")
        .isEqualTo(31);
  }

  private static ChannelOptions twoVersions() {
    return ChannelOptions.DEFAULT.withPayload(PayloadRules.DEFAULT.withVersion(2).withOldest(2));
  }

  /** How many there are of each payload; forgets them. */
  private static @Nullable String letters(TestDatabase database) throws SQLException {
    var letters =
        database.queryString(
            "select string_agg(count || ' ' || payload, E'\\n') from (select count(*), replace(replace(payload::text, ' ', ''), '\"', chr(39)) as payload from pgonce.dead_letter group by 2 order by 2) as l");
    database.execute("delete from pgonce.dead_letter");
    return letters;
  }

  /** Where nothing of the definition can fail, the row itself may. */
  @ParameterizedTest
  @EachForm
  void h04_aCastThatFailsMakesADeadLetterToo(TriggerForm form, TestDatabase database)
      throws Exception {
    database.execute(
        """
        create type sort as enum ('good', 'bad');
        create function sort_json(value sort) returns json language plpgsql as
        $$ begin if value = 'bad' then raise exception 'bad'; end if; return '"good"'; end $$;
        create cast (sort as json) with function sort_json(sort);
        create table thing ("new" int primary key, s sort)
        """);
    var rows = TriggerChannel.on("thing", Object.class).unstorable(Unstorable.DEAD_LETTER);
    PgOnce.using(database.dataSource())
        .install(
            rows.afterInsert().form(form).named("inserted").build(),
            TriggerChannel.on("thing", Object.class)
                .unstorable(Unstorable.DEAD_LETTER)
                .afterDelete()
                .form(form)
                .named("deleted")
                .build(),
            TriggerChannel.changesOf("thing", Object.class)
                .unstorable(Unstorable.DEAD_LETTER)
                .afterInsert()
                .afterUpdate()
                .afterDelete()
                .form(form)
                .named("changed")
                .build());
    database.execute("insert into thing values (1, 'bad')");
    assertThat(letters(database)).isEqualTo("1 {'new':1}\n1 {'op':'INSERT','new':{'new':1}}");
    database.execute("update thing set s = 'good', \"new\" = 2");
    assertThat(letters(database))
        .isEqualTo(
            form == TriggerForm.STATEMENT
                ? "1 {'op':'UPDATE','old':{'new':1}}"
                : "1 {'op':'UPDATE','new':{'new':2}}");
    assertThat(database.queryLong(STORED)).isZero();
    database.execute("delete from thing");
    assertThat(database.queryLong(STORED)).isEqualTo(2);
    database.execute("alter table thing drop constraint thing_pkey");
    PgOnce.using(database.dataSource()).install(rows.build());
    database.execute("insert into thing values (3, 'bad')");
    assertThat(letters(database)).endsWith("\n1 {}");
  }

  /** It is none of the columns that the function names. */
  @Test
  void h35_aSecretColumnThatIsRenamedIsNotStored(TestDatabase database) throws Exception {
    PgOnce.using(database.dataSource()).install(docs().withoutColumns("secret").build());
    database.execute("alter table doc rename column secret to hidden");
    database.execute("insert into doc values (1, 'x', 'hush')");
    assertThat(database.queryString(PAYLOADS))
        .isEqualTo("{\"op\" : \"INSERT\", \"new\" : {\"id\":1,\"body\":\"x\",\"j\":null}}");
  }

  @Test
  void h35_whatAnErrorQuotesOfARowIsNotStored(TestDatabase database) throws Exception {
    PgOnce.using(database.dataSource())
        .install(buried().when("new.secret::integer > 0").named("cast").build());
    database.execute("insert into doc values (1, 'x', 'hush')");
    assertThat(database.queryString(LETTERS)).doesNotContain("hush").contains("SQLSTATE 22P02");
  }

  @ParameterizedTest
  @EachForm
  void h04_aBroadcastThatCannotBeSentIsWarnedOf(TriggerForm form, TestDatabase database)
      throws Exception {
    var channel = buried().afterDelete().mode(Mode.BROADCAST).when(FAILING).form(form).build();
    PgOnce.using(database.dataSource()).install(channel);
    try (var connection = database.dataSource().getConnection();
        var statement = connection.createStatement();
        var ear = new Ear(database, channel)) {
      for (var write :
          List.of("insert into doc values (1, '')", "update doc set id = 2", "delete from doc")) {
        statement.execute(write);
        assertThat(Objects.requireNonNull(statement.getWarnings()).getMessage())
            .isEqualTo("pgonce: channel doc_changed cannot send a row: an error of SQLSTATE 22012");
      }
      assertThat(ear.take()).isEmpty();
      statement.execute("insert into doc values (3, 'x')");
      assertThat((Throwable) statement.getWarnings()).isNull();
      assertThat(ear.take()).hasSize(1);
    }
    assertThat(database.queryLong("select count(*) from pgonce.dead_letter")).isZero();
  }

  /** Whoever caught that and went on would commit what no order of the transactions explains. */
  @ParameterizedTest
  @EachForm
  void h48_aSerializationFailureOfAnExpressionFailsTheWrite(TriggerForm form, TestDatabase database)
      throws Exception {
    database.execute(
        "create table most (n int); insert into most values (9); create table seen (n int); insert into seen values (1)");
    var channel = buried().form(form).when("new.id < (select n from public.most)").build();
    PgOnce.using(database.dataSource()).install(channel);
    try (var first = serializable(database);
        var second = serializable(database);
        var writer = serializable(database)) {
      run(first, "select n from seen");
      run(second, "update seen set n = 2");
      second.commit();
      run(writer, "select n from seen");
      run(first, "update most set n = 5");
      first.commit();
      assertThatThrownBy(
              () -> {
                run(writer, "insert into doc values (1, 'x')");
                writer.commit();
              })
          .isInstanceOfSatisfying(
              SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("40001"));
      writer.rollback();
      run(writer, "insert into doc values (1, 'x')");
      writer.commit();
    }
    assertThat(database.queryString(LETTERS)).isNull();
    assertThat(database.queryLong(STORED)).isEqualTo(1);
  }

  private static Connection serializable(TestDatabase database) throws SQLException {
    var connection = database.dataSource().getConnection();
    connection.setAutoCommit(false);
    connection.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
    return connection;
  }

  private static void run(Connection connection, String sql) throws SQLException {
    try (var statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }

  @Test
  void h04_orFailsTheWriteByDefault(TestDatabase database) throws Exception {
    PgOnce.using(database.dataSource()).install(docs().mode(Mode.BROADCAST).when(FAILING).build());
    assertThatThrownBy(() -> database.execute("insert into doc values (1, '')"))
        .hasMessageStartingWith("ERROR: division by zero");
  }

  @Test
  void h04_jsonWithANulIsStoredAsItIs(TestDatabase database) throws Exception {
    PgOnce.using(database.dataSource()).install(docs().build());
    database.execute("insert into doc values (1, 'x', null, '{\"a\":\"\\u0000\"}')");
    assertThat(database.queryString(PAYLOADS)).contains("\\u0000");
  }

  @ParameterizedTest
  @EachForm
  void h04_theErrorNamesTheFunctionOfTheChannel(TriggerForm form, TestDatabase database)
      throws Exception {
    var failing = "(1 / length(new.body))::text";
    var kinds =
        Map.of(
            "condition", docs().when(FAILING),
            "delivery key", docs().deliveryKeySql(failing).when("new.id > 0"),
            "order key",
                docs()
                    .options(ChannelOptions.DEFAULT.withOrder(KeyOrder.DEAD_LETTER_BLOCKS))
                    .orderKeySql(failing),
            "due time", docs().dueAt("now() + interval '1 second' / length(new.body)"),
            "payload", TriggerChannel.computed("doc", Object.class, failing).afterInsert());
    for (var kind : kinds.entrySet()) {
      var channel = kind.getValue().form(form).named(kind.getKey().replace(' ', '_')).build();
      PgOnce.using(database.dataSource()).install(channel);
      assertThatThrownBy(() -> database.execute("insert into doc values (1, '')"))
          .hasMessageStartingWith("ERROR: division by zero")
          .hasMessageContaining("capture_" + channel.name());
      database.execute("alter table doc disable trigger user");
    }
  }

  @ParameterizedTest
  @EachForm
  void h04_aComputedNullIsNoPayload(TriggerForm form, TestDatabase database) throws Exception {
    var computed =
        TriggerChannel.computed("doc", Object.class, "'doc ' || new.body").afterInsert().form(form);
    PgOnce.using(database.dataSource())
        .install(computed.unstorable(Unstorable.DEAD_LETTER).build());
    database.execute("insert into doc values (1, null)");
    assertThat(database.queryString(LETTERS))
        .isEqualTo(
            "NOT_STORABLE {\"id\":1} the computed payload is null, which is no payload: say by a condition which rows make a notification");
    PgOnce.using(database.dataSource())
        .install(computed.named("strict").unstorable(Unstorable.FAIL_WRITE).build());
    assertThatThrownBy(() -> database.execute("insert into doc values (2, null)"))
        .hasMessageStartingWith("ERROR: the computed payload is null")
        .hasMessageContaining("capture_strict");
  }

  @ParameterizedTest
  @EachForm
  void h10_aPrimaryKeyThatIsDroppedIsStoredAndFound(TriggerForm form, TestDatabase database)
      throws Exception {
    var added =
        TriggerChannel.on("doc", Object.class).afterInsert().primaryKeyOnly().form(form).build();
    PgOnce.using(database.dataSource()).install(added);
    database.execute("insert into doc values (1, 'x')");
    database.execute("alter table doc drop constraint doc_pkey");
    database.execute("insert into doc values (2, 'x')");
    assertThat(database.queryString(PAYLOADS)).isEqualTo("{\"id\":1}\n{\"id\":2}");
    try (var connection = database.dataSource().getConnection()) {
      assertThat(Triggers.check(connection, added))
          .anyMatch(
              line ->
                  line.contains(
                      "table public.doc has no primary key, and the channel stores nothing but that"));
      assertThat(Triggers.plan(connection, added).obstacles()).isNotEmpty();
    }
  }

  /** Eighty kilobytes of numerics are more than a gigabyte of JSON. */
  @Tag("all")
  @ParameterizedTest
  @EnumSource(
      value = TriggerForm.class,
      names = {"STATEMENT", "ROW"})
  void h04_aRowWhoseJsonIsTooLongMakesADeadLetter(TriggerForm form, TestDatabase database)
      throws Exception {
    assumeEnoughMemory();
    database.execute("alter table doc add column amounts numeric[]");
    PgOnce.using(database.dataSource()).install(buried().form(form).build());
    database.execute("insert into doc values (1, 'x')");
    database.execute("update doc set amounts = array_fill(1e131071, array[10000])");
    assertThat(database.queryString(LETTERS))
        .startsWith(
            "NOT_STORABLE {\"op\" : \"UPDATE\", \"%s\" : {\"id\":1}} "
                .formatted(form == TriggerForm.STATEMENT ? "old" : "new"));
    assertThat(database.queryLong("select cardinality(amounts) from doc")).isEqualTo(10_000);
  }

  /** 130 MB of bits are more than a gigabyte of JSON. */
  @Tag("all")
  @Test
  void h04_soIsARowOfOnePlainValue(TestDatabase database) throws Exception {
    assumeEnoughMemory();
    database.execute("alter table doc add column bits varbit");
    PgOnce.using(database.dataSource()).install(buried().build());
    // Read from a text once: to do so seventeen times takes the server longer than all the rest.
    database.execute(
        "insert into doc select 1, 'x', null, null, %s from (select repeat('0', 65000000)::varbit offset 0) one (b)"
            .formatted(String.join(" || ", Collections.nCopies(17, "b"))));
    assertThat(database.queryString(LETTERS))
        .startsWith("NOT_STORABLE {\"op\" : \"INSERT\", \"new\" : {\"id\":1}} ");
    assertThat(database.queryLong("select length(bits) from doc")).isEqualTo(17 * 65_000_000L);
  }

  private static void assumeEnoughMemory() {
    // By default a JVM may take a quarter of the machine's.
    assumeTrue(
        4 * Runtime.getRuntime().maxMemory() >= 6_000_000_000L,
        "skipped: a server makes 1 GB of JSON here, and this machine has less than 6 GB of memory");
  }

  /** Each of them is less than a gigabyte of JSON. */
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
    PgOnce.using(database.dataSource()).install(buried().build());
    database.execute("update doc set id = 2");
    assertThat(database.queryString(LETTERS)).startsWith("NOT_STORABLE").contains("{\"id\":2}}");
  }
}
