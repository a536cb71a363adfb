package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.sql.SQLException;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.pgonce.ChannelOptions;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.PgOnceException;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** What changed after the installation breaks no write, and is found when a listener starts. */
@PgTest(PgOnceInstalled.class)
class DriftTest {

  record Author(long id, String name) {}

  private static final TriggerChannel<Author> ADDED =
      TriggerChannel.on("author", Author.class).afterInsert().build();
  private static final String FUNCTION = "pgonce_triggers.\"capture_author_inserted\"()";

  @BeforeEach
  void install(TestDatabase database) throws Exception {
    database.execute("create table author (id bigint not null, name text)");
    PgOnce.using(database.dataSource()).install(ADDED);
    assertThat(problems(database)).isEmpty();
  }

  @Test
  void h10_aColumnThatIsAddedIsStoredAndNoDrift(TestDatabase database) throws Exception {
    database.execute(
        "alter table author add column born date; insert into author values (1, 'Ann', '1970-01-01')");

    assertThat(lastPayload(database))
        .isEqualTo("{\"id\":1,\"name\":\"Ann\",\"born\":\"1970-01-01\"}");
    assertThat(problems(database)).isEmpty();
  }

  @Test
  void h10_aColumnThatIsDroppedBreaksNoWriteAndIsFound(TestDatabase database) throws Exception {
    database.execute("alter table author drop column name; insert into author values (1)");

    assertThat(lastPayload(database)).isEqualTo("{\"id\":1}");
    assertThat(problems(database))
        .singleElement()
        .asString()
        .contains("Author.name has no column name in table public.author");
  }

  @Test
  void h10_aColumnThatIsRenamedBreaksNoWriteAndIsFound(TestDatabase database) throws Exception {
    database.execute(
        "alter table author rename column name to title; insert into author values (1, 'Ann')");

    assertThat(lastPayload(database)).isEqualTo("{\"id\":1,\"title\":\"Ann\"}");
    assertThat(problems(database)).singleElement().asString().contains("has no column name");
  }

  @Test
  void h10_aColumnThatIsRetypedBreaksNoWriteAndIsFound(TestDatabase database) throws Exception {
    database.execute(
        "alter table author alter column id type numeric; insert into author values (1.5, 'Ann')");

    assertThat(lastPayload(database)).isEqualTo("{\"id\":1.5,\"name\":\"Ann\"}");
    assertThat(problems(database))
        .singleElement()
        .asString()
        .contains("is numeric: use BigDecimal");
  }

  @Test
  void h10_aSessionThatHasUsedTheTriggerBeforeSeesEachChangeToo(TestDatabase database)
      throws Exception {
    try (var connection = database.dataSource().getConnection();
        var statement = connection.createStatement()) {
      for (var change :
          List.of(
              "drop column name",
              "add column born date",
              "alter column id type text",
              "rename column born to birthday")) {
        for (var i = 0; i < 7; i++) {
          statement.execute("insert into author (id) values (1)");
        }
        database.execute("alter table author " + change);
      }
      statement.execute("insert into author (id) values ('x')");
    }
    assertThat(lastPayload(database)).isEqualTo("{\"id\":\"x\",\"birthday\":null}");
    assertThat(
            database.queryLong(
                "select count(*) from pgonce.notification where subscription_id > 0"))
        .isEqualTo(29);
  }

  @Test
  void h10_aTableThatIsRenamedFeedsTheChannelOnAndIsFound(TestDatabase database) throws Exception {
    database.execute("alter table author rename to writer; insert into writer values (1, 'Ann')");

    assertThat(lastPayload(database)).isEqualTo("{\"id\":1,\"name\":\"Ann\"}");
    assertThat(problems(database))
        .singleElement()
        .asString()
        .contains("table author does not exist on the search path (public)")
        .contains("trigger is on public.writer: was the table renamed?");
  }

  @Test
  void h08_aTriggerThatIsDisabledIsFoundAndLeftAlone(TestDatabase database) throws Exception {
    database.execute("alter table author disable trigger user");
    PgOnce.using(database.dataSource()).install(ADDED);

    assertThat(problems(database))
        .singleElement()
        .asString()
        .contains("is disabled")
        .endsWith("ALTER TABLE \"public\".\"author\" ENABLE TRIGGER \"pgonce_author_inserted\"");
    database.execute("alter table author enable replica trigger pgonce_author_inserted");
    assertThat(problems(database)).singleElement().asString().contains("for replicated rows only");
    database.execute("alter table author enable always trigger pgonce_author_inserted");
    assertThat(problems(database)).singleElement().asString().contains("ALWAYS and per statement");
  }

  @Test
  void aTriggerThatIsDroppedIsFoundAndMended(TestDatabase database) throws Exception {
    database.execute("drop trigger pgonce_author_inserted on author");
    assertThat(problems(database)).singleElement().asString().contains("is missing");

    assertMended(database);
  }

  @Test
  void aTriggerThatIsRenamedIsTheSameTrigger(TestDatabase database) throws Exception {
    database.execute("alter trigger pgonce_author_inserted on author rename to mine");

    assertMended(database);
    assertThat(database.queryLong("select count(*) from pg_trigger where not tgisinternal"))
        .isOne();
  }

  @Test
  void aTriggerOfAnotherFormIsFoundAndMended(TestDatabase database) throws Exception {
    database.execute(
        """
        drop trigger pgonce_author_inserted on author;
        create trigger pgonce_author_inserted after insert or update on author
        for each row execute function pgonce_triggers."capture_author_inserted"()
        """);
    assertThat(problems(database)).singleElement().asString().contains("from another definition");

    assertMended(database);
  }

  @Test
  void aSecondTriggerAndOneOnAnotherTableAreFound(TestDatabase database) throws Exception {
    database.execute(
        """
        create table other (id bigint);
        create trigger twice after insert on author referencing new table as new_rows execute function %1$s;
        create trigger stray after insert on other referencing new table as new_rows execute function %1$s
        """
            .formatted(FUNCTION));

    assertThat(problems(database))
        .anyMatch(problem -> problem.contains("table public.author has 2 triggers"))
        .anyMatch(
            problem -> problem.endsWith("DROP TRIGGER \"stray\" ON \"public\".\"other\"; COMMIT"))
        .hasSize(2);
  }

  @Test
  void aFunctionThatIsDroppedOrChangedIsFoundAndMended(TestDatabase database) throws Exception {
    database.execute("drop function " + FUNCTION + " cascade");
    assertThat(problems(database)).singleElement().asString().contains("is missing");
    assertMended(database);

    database.execute("alter function " + FUNCTION + " set search_path = public");
    assertThat(problems(database)).singleElement().asString().contains("was changed after");
    assertMended(database);

    database.execute("alter function " + FUNCTION + " security invoker");
    assertThat(problems(database)).singleElement().asString().contains("was changed after");
    assertMended(database);
  }

  @Test
  void h32_aFunctionThatOthersMayExecuteIsFoundAndTakenFromThem(TestDatabase database)
      throws Exception {
    database.execute("grant execute on function " + FUNCTION + " to public, pgonce_listener");
    assertThat(problems(database))
        .hasSize(2)
        .allMatch(problem -> problem.contains("can forge notifications by it: REVOKE ALL"));

    PgOnce.using(database.dataSource()).install(ADDED);

    assertThat(problems(database)).isEmpty();
  }

  /** Its id stays in the function, which does no harm. */
  @Test
  void aSubscriptionThatWasDroppedIsToldAndKeepsNobodyFromStarting(TestDatabase database)
      throws Exception {
    PgOnce.using(database.dataSource()).install(with("default", "audit", "search"));
    assertThat(problems(database)).isEmpty();
    database.execute("select pgonce.drop_subscription('author_inserted', 'audit')");

    assertThat(problems(database))
        .singleElement()
        .asString()
        .contains("stores for subscriptions that the channel has no longer");
    try (var pgonce = PgOnce.using(database.pooled(2))) {
      pgonce.listen(ADDED, (author, tx) -> {}).start();
    }
    assertMended(database);
  }

  @Test
  void aSubscriptionThatWasAddedBySqlAloneIsFound(TestDatabase database) throws Exception {
    database.execute(
        "select pgonce.install_channel('author_inserted', 'EXACTLY_ONCE', 'trigger on author', '{\"audit\": {\"tenant\": \"a)\"}}')");
    assertThat(problems(database))
        .singleElement()
        .asString()
        .contains("does not store for all subscriptions of the channel");
    try (var pgonce = PgOnce.using(database.pooled(2))) {
      pgonce.listen(ADDED, (author, tx) -> {});
      assertThatThrownBy(pgonce::start).hasMessageContaining("install the channel again");
    }
    assertMended(database);
  }

  private static TriggerChannel<Author> with(String... subscriptions) {
    return TriggerChannel.on("author", Author.class)
        .afterInsert()
        .options(ChannelOptions.DEFAULT.withSubscriptions(subscriptions))
        .build();
  }

  /**
   * Where table or function was given to another. What took a right away is what brings it back.
   */
  @Test
  void aFunctionOfAnotherOwnerIsFoundAndNotTakenOver(TestDatabase database) throws Exception {
    var other = database.loginRole("other").user();
    database.execute("alter function %s owner to %s".formatted(FUNCTION, other));
    assertThat(problems(database))
        .singleElement()
        .asString()
        .contains(
            "belongs to " + other + ", who may not put triggers on the table",
            "DROP FUNCTION pgonce_triggers.\"capture_author_inserted\"() CASCADE");
    assertGivenByHand(database, database.user());

    var buyer = database.loginRole("buyer");
    database.execute("alter table author owner to " + buyer.user());
    assertThat(problems(database)).as("the former owner may do it still").isEmpty();
    database.execute("alter function %s owner to %s".formatted(FUNCTION, other));
    assertGivenByHand(database, buyer.user());
    database.execute("insert into author values (7, 'Eve')");
    assertThat(lastPayload(database)).isEqualTo("{\"id\":7,\"name\":\"Eve\"}");
  }

  private static void assertGivenByHand(TestDatabase database, String owner) throws Exception {
    var before = owner(database);
    var how = "ALTER FUNCTION %s OWNER TO %s".formatted(FUNCTION.replace("\"", ""), owner);
    try (var connection = database.dataSource().getConnection()) {
      assertThat(Triggers.plan(connection, ADDED).obstacles())
          .singleElement()
          .asString()
          .contains("of role \"%s\" already".formatted(before), how);
    }
    assertThatThrownBy(() -> PgOnce.using(database.dataSource()).install(ADDED))
        .isInstanceOf(PgOnceException.class)
        .hasMessageContaining(how);
    assertThat(owner(database)).isEqualTo(before);
    database.execute(how);
    assertMended(database);
    assertThat(owner(database)).isEqualTo(owner);
  }

  /** REASSIGN OWNED leaves them to one role, which has no right on the channel's view yet. */
  @Test
  void aTableThatIsReassignedWithItsFunctionIsMended(TestDatabase database) throws Exception {
    var seller = database.loginRole("seller", "pgonce_admin");
    var buyer = database.loginRole("buyer");
    database.execute(
        "alter table author owner to %1$s; alter function %2$s owner to %1$s; reassign owned by %1$s to %3$s"
            .formatted(seller.user(), FUNCTION, buyer.user()));
    assertThat(owner(database)).isEqualTo(buyer.user());
    assertMended(database);
    assertThat(owner(database)).isEqualTo(buyer.user());
    database.execute("insert into author values (7, 'Eve')");
    assertThat(lastPayload(database)).isEqualTo("{\"id\":7,\"name\":\"Eve\"}");
  }

  /** Those that the form of the function needs, and no others. */
  @Test
  void h34_aRightOnTheChannelThatTheFunctionsOwnerLacksIsFoundAndGivenBack(TestDatabase database)
      throws Exception {
    var seller = database.loginRole("seller").user();
    database.execute("create table sale (id int); alter table sale owner to " + seller);
    var plain = TriggerChannel.on("sale", Object.class).afterInsert().named("sold").build();
    var keyed =
        TriggerChannel.on("sale", Object.class)
            .afterInsert()
            .named("sold")
            .deliveryKey("id")
            .build();
    var schema = "USAGE on schema pgonce";
    var view = "INSERT on view pgonce.into_sold";
    var gate = "SELECT on sequence pgonce.gate_sold";
    var store = "EXECUTE on function pgonce.store_sold";
    for (var channel : List.of(plain, keyed)) {
      PgOnce.using(database.dataSource()).install(channel);
      // The store function reads the gate with rights of its own.
      var needed = channel == plain ? List.of(schema, gate, view) : List.of(schema, store);
      for (var right : List.of(schema, view, gate, store)) {
        database.execute("revoke %s from %s".formatted(right.replace("view ", ""), seller));
        try (var connection = database.dataSource().getConnection()) {
          var problems = Triggers.check(connection, channel);
          if (needed.contains(right)) {
            assertThat(problems).singleElement().asString().contains("who lacks " + right + ",");
            // Without the gate later versions of PostgreSQL notify each time.
            if (!right.equals(gate)) {
              assertThatThrownBy(() -> database.execute("insert into sale values (1)"))
                  .hasMessageContaining("permission denied");
            }
          } else {
            assertThat(problems).isEmpty();
          }
          PgOnce.using(database.dataSource()).install(channel);
          assertThat(Triggers.check(connection, channel)).isEmpty();
        }
        database.execute("insert into sale values (1)");
      }
    }
  }

  private static String owner(TestDatabase database) throws SQLException {
    return database.queryString(
        "select proowner::regrole::text from pg_proc where proname = 'capture_author_inserted'");
  }

  @Test
  void anotherModeIsFoundAndMigrated(TestDatabase database) throws Exception {
    var broadcast =
        TriggerChannel.on("author", Author.class).afterInsert().mode(Mode.BROADCAST).build();
    try (var connection = database.dataSource().getConnection()) {
      assertThat(Triggers.check(connection, broadcast))
          .anyMatch(
              problem ->
                  problem.contains("with mode \"EXACTLY_ONCE\", but defined with \"BROADCAST\""))
          .anyMatch(problem -> problem.contains("was made from another definition"))
          .anyMatch(problem -> problem.contains("unless this is the earlier of two releases"))
          .hasSize(2);
      assertThatThrownBy(() -> PgOnce.using(database.dataSource()).install(broadcast))
          .isInstanceOf(PgOnceException.class);

      database.execute("select pgonce.change_mode('author_inserted', 'BROADCAST')");
      PgOnce.using(database.dataSource()).install(broadcast);

      assertThat(Triggers.check(connection, broadcast)).isEmpty();
    }
    database.execute("insert into author values (1, 'Ann')");
    assertThat(
            database.queryLong(
                "select count(*) from pgonce.notification where subscription_id > 0"))
        .isZero();
  }

  @Test
  void driftKeepsAListenerFromStarting(TestDatabase database) throws Exception {
    database.execute("drop trigger pgonce_author_inserted on author");
    try (var pgonce = PgOnce.using(database.pooled(4))) {
      pgonce.listen(ADDED, (added, tx) -> {});

      assertThatThrownBy(pgonce::start)
          .isInstanceOf(PgOnceException.class)
          .hasMessageContaining("its new rows make no notifications: install the channel again");
    }
  }

  private static void assertMended(TestDatabase database) throws SQLException {
    PgOnce.using(database.dataSource()).install(ADDED);
    assertThat(problems(database)).isEmpty();
  }

  private static List<String> problems(TestDatabase database) throws SQLException {
    try (var connection = database.dataSource().getConnection()) {
      return Triggers.check(connection, ADDED);
    }
  }

  private static String lastPayload(TestDatabase database) throws SQLException {
    return database.queryString(
        "select payload from pgonce.notification where subscription_id > 0 order by id desc limit 1");
  }
}
