package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.sql.SQLException;
import java.util.Objects;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** Rows that cannot be stored as the channel is defined. */
@PgTest
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
            "NOT_STORABLE {\"op\" : \"INSERT\", \"new\" : {\"id\":2}} an error of SQLSTATE 22012");
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
            "pgonce: channel doc_changed cannot take a row of table public.doc: division by zero");
    assertThat(database.queryLong("select count(*) from doc")).isEqualTo(1);
  }

  @Test
  void h35_aSecretColumnThatIsRenamedIsNotStored(TestDatabase database) throws Exception {
    PgOnce.using(database.dataSource()).install(docs().withoutColumns("secret").build());
    database.execute("alter table doc rename column secret to hidden");
    database.execute("insert into doc values (1, 'x', 'hush')");
    assertThat(database.queryString(LETTERS))
        .isEqualTo(
            "NOT_STORABLE {\"op\" : \"INSERT\", \"new\" : {\"id\":1}} column secret must not be stored and is not there: it was dropped, or has another name now");
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

  /** 200 MB of control characters are 1.2 GB of JSON. */
  @ParameterizedTest
  @EnumSource(
      value = TriggerForm.class,
      names = {"STATEMENT", "ROW"})
  void h04_aRowWhoseJsonIsTooLongNamesItsColumn(TriggerForm form, TestDatabase database)
      throws Exception {
    // By default a quarter of the machine's.
    var memory = 4 * Runtime.getRuntime().maxMemory();
    assumeTrue(
        memory >= 6_000_000_000L,
        "skipped: a server makes 1 GB of JSON here, and this machine has less than 6 GB of memory");
    PgOnce.using(database.dataSource()).install(docs().form(form).build());
    database.execute("insert into doc values (1, repeat(chr(1), 200000000))");
    assertThat(database.queryString(LETTERS))
        .startsWith("NOT_STORABLE {\"op\" : \"INSERT\", \"new\" : {\"id\":1}} column body: ");
    assertThat(database.queryLong("select length(body) from doc")).isEqualTo(200_000_000);
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
}
