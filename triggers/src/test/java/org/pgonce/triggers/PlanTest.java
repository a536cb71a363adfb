package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.HashSet;
import java.util.List;
import javax.sql.DataSource;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.pgonce.ChannelOptions;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** The life of a channel step by step: plan, print, apply, check, drop. */
@PgTest
class PlanTest {

  record Author(long id, String name) {}

  private static final TriggerChannel<Author> ADDED =
      TriggerChannel.on("author", Author.class).afterInsert().build();

  @BeforeEach
  void table(TestDatabase database) throws Exception {
    database.execute("create table author (id bigint not null, name text)");
  }

  @Test
  void example_planApplyCheckDrop(TestDatabase database) throws Exception {
    PgOnce.using(database.dataSource()).install();
    try (var connection = transaction(database)) {
      assertThat(Triggers.plan(connection, ADDED).toString())
          .startsWith(
              """
              channel author_inserted: create channel
                + SELECT pgonce.install_channel('author_inserted', 'EXACTLY_ONCE', 'trigger on author', '{"default":null}');
              channel author_inserted: create function pgonce_triggers."capture_author_inserted"
                + CREATE OR REPLACE FUNCTION pgonce_triggers."capture_author_inserted"() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
                + SET search_path = pg_catalog, pg_temp
              """)
          .endsWith(
              """
              channel author_inserted: create trigger "pgonce_author_inserted" on public.author, which locks the table against writers for a moment
                + CREATE OR REPLACE TRIGGER "pgonce_author_inserted" AFTER INSERT ON "public"."author"
                + REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT
                + EXECUTE FUNCTION pgonce_triggers."capture_author_inserted"();
              """);

      Triggers.apply(connection, ADDED);
      assertThat(Triggers.check(connection, ADDED)).isEmpty();
      assertThat(Triggers.plan(connection, ADDED)).hasToString("nothing to do\n");

      Triggers.drop(connection, ADDED);
      assertThat(Triggers.check(connection, ADDED))
          .anyMatch(problem -> problem.contains("is not installed"));
      connection.commit();
    }
    assertThat(database.queryLong("select count(*) from pg_trigger where tgname like 'pgonce%'"))
        .isZero();
    assertThat(database.queryLong("select count(*) from pg_proc where proname like 'capture_%'"))
        .isZero();
  }

  @Test
  void aPlanShowsWhatChangesInAFunction(TestDatabase database) throws Exception {
    PgOnce.using(database.dataSource()).install(ADDED);
    database.execute(
        "alter function pgonce_triggers.\"capture_author_inserted\"() set bytea_output = 'escape'");
    try (var connection = transaction(database)) {
      assertThat(Triggers.plan(connection, ADDED))
          .hasToString(
              """
              channel author_inserted: replace function pgonce_triggers."capture_author_inserted"
                - SET bytea_output=escape
                  SET search_path=pg_catalog, pg_temp
                  BEGIN
              """);
    }
  }

  @Test
  void example_aPlanShowsWhatChangesInADefinition(TestDatabase database) throws Exception {
    PgOnce.using(database.dataSource())
        .install(
            TriggerChannel.on("author", Author.class)
                .afterInsert()
                .when("new.id > 5")
                .named("author")
                .build());
    var changed =
        TriggerChannel.on("author", Author.class)
            .afterInsert()
            .when("new.id > 7")
            .form(TriggerForm.ROW)
            .options(ChannelOptions.DEFAULT.withMaxDepth(7).withSubscriptions("default", "audit"))
            .named("author")
            .build();
    try (var connection = transaction(database)) {
      var plan = Triggers.plan(connection, changed);

      assertThat(diff(plan, "change channel"))
          .startsWith("- maximum depth: 100", "+ maximum depth: 7", "+ subscription audit")
          .anyMatch(line -> line.startsWith("+ SELECT pgonce.install_channel('author'"));
      assertThat(diff(plan, "replace function"))
          .anyMatch(line -> line.startsWith("- ") && line.contains("new.id > 5"))
          .anyMatch(line -> line.startsWith("+ ") && line.contains("new.id > 7"))
          .anyMatch(line -> line.startsWith("- pgonce: trigger after insert on author"))
          .anyMatch(line -> line.startsWith("  "));
      assertThat(diff(plan, "replace trigger"))
          .containsExactly(
              "  CREATE TRIGGER pgonce_author AFTER INSERT ON public.author",
              "- REFERENCING NEW TABLE AS new_rows",
              "- FOR EACH STATEMENT",
              "+ FOR EACH ROW",
              "  EXECUTE FUNCTION pgonce_triggers.capture_author()");
    }
  }

  @Test
  void aPlanShowsTheTriggerThatGoes(TestDatabase database) throws Exception {
    PgOnce.using(database.dataSource())
        .install(
            TriggerChannel.changesOf("author", Author.class)
                .afterInsert()
                .afterUpdateOf("name")
                .named("author")
                .build());
    try (var connection = transaction(database)) {
      var plan =
          Triggers.plan(
              connection,
              TriggerChannel.changesOf("author", Author.class)
                  .afterInsert()
                  .afterDelete()
                  .named("author")
                  .build());

      assertThat(diff(plan, "drop trigger \"pgonce_author:update\" on public.author"))
          .startsWith(
              "- CREATE TRIGGER pgonce_author:update AFTER UPDATE OF name ON public.author",
              "- FOR EACH ROW");
    }
  }

  @Test
  void h30_twoChannelsOfOneNameAreRefused(TestDatabase database) throws Exception {
    var other = TriggerChannel.on("author", Author.class).afterUpdate().named(ADDED.name()).build();
    try (var connection = transaction(database)) {
      assertThatThrownBy(() -> Triggers.plan(connection, ADDED, other))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("two channels have the name author_inserted");
      assertThatThrownBy(() -> Triggers.apply(connection, ADDED, other))
          .isInstanceOf(IllegalArgumentException.class);
      assertThatThrownBy(() -> Triggers.drop(connection, ADDED, other))
          .isInstanceOf(IllegalArgumentException.class);
    }
    assertThatThrownBy(() -> PgOnce.using(database.dataSource()).install(ADDED, other))
        .isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void h30_aNameThatAnotherTablesChannelHasIsRefused(TestDatabase database) throws Exception {
    database.execute("create table other (id bigint not null, name text)");
    PgOnce.using(database.dataSource()).install(ADDED);
    var other = TriggerChannel.on("other", Author.class).afterInsert().named(ADDED.name()).build();

    assertThatThrownBy(() -> PgOnce.using(database.dataSource()).install(other))
        .hasMessageContaining(
            "is installed with feed \"trigger on author\", not \"trigger on other\"");
    try (var connection = transaction(database)) {
      assertThat(Triggers.plan(connection, other).obstacles())
          .anyMatch(obstacle -> obstacle.contains("trigger on author"));
      assertThatThrownBy(() -> Triggers.migration(connection, other))
          .hasMessageContaining("is installed with feed \"trigger on author\"");
      assertThat(Triggers.check(connection, ADDED)).isEmpty();
    }
  }

  @Test
  void h30_theLongestNamesThatDifferInTheirLastLetterKeepTheirTriggersApart(TestDatabase database)
      throws Exception {
    var longest = "c".repeat(47);
    PgOnce.using(database.dataSource()).install(all(longest + "a"), all(longest + "b"));
    try (var connection = transaction(database)) {
      assertThat(Triggers.check(connection, all(longest + "a"), all(longest + "b"))).isEmpty();
    }
    assertThat(database.queryLong("select count(*) from pg_trigger where not tgisinternal"))
        .isEqualTo(8);
    assertThatThrownBy(() -> all(longest + "ab")).isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void aDefinitionsHashChangesWithAllThatIsDefined(TestDatabase database) throws Exception {
    PgOnce.using(database.dataSource()).install();
    var hashes = new HashSet<String>();
    for (var channel :
        List.of(
            ADDED,
            TriggerChannel.on("author", Author.class).afterInsert().when("new.id > 1"),
            TriggerChannel.on("author", Author.class).afterInsert().when("new.id > 2"),
            TriggerChannel.on("author", Author.class).afterInsert().form(TriggerForm.ROW),
            TriggerChannel.on("author", Author.class).afterInsert().columns("id", "name"),
            TriggerChannel.on("author", Author.class).afterInsert().mode(Mode.BROADCAST),
            TriggerChannel.on("author", Author.class).afterInsert().deliveryKey("id"),
            TriggerChannel.on("author", Author.class)
                .afterInsert()
                .unstorable(Unstorable.DEAD_LETTER))) {
      var defined =
          channel instanceof TriggerChannelBuilder<?> builder
              ? builder.named(ADDED.name()).build()
              : (TriggerChannel<?>) channel;
      var up = printed(database, defined).up();
      var hash = up.replaceAll("(?s).*, definition ([0-9a-f]{12}), text .*", "$1");
      assertThat(hashes.add(hash)).describedAs("%s", defined).isTrue();
      assertThat(hash).matches("[0-9a-f]{12}");
    }
  }

  private static Migration printed(TestDatabase database, TriggerChannel<?> channel)
      throws SQLException {
    try (var connection = database.dataSource().getConnection()) {
      return Triggers.migration(connection, channel);
    }
  }

  private static TriggerChannel<?> all(String name) {
    return TriggerChannel.changesOf("author", Author.class)
        .afterInsert()
        .afterUpdate()
        .afterDelete()
        .afterTruncate()
        .named(name)
        .build();
  }

  private static List<String> diff(Plan plan, String summary) {
    return plan.changes().stream()
        .filter(change -> change.summary().startsWith(summary))
        .findFirst()
        .orElseThrow(() -> new AssertionError("no " + summary + " in " + plan))
        .diff();
  }

  @Test
  void aPlanNamesWhatIsInItsWay(TestDatabase database) throws Exception {
    try (var connection = transaction(database)) {
      var plan =
          Triggers.plan(
              connection, TriggerChannel.on("auhtor", Author.class).afterInsert().build());

      assertThat(plan.isEmpty()).isFalse();
      assertThat(plan.toString())
          .contains("create schema pgonce")
          .contains(
              "obstacle: table auhtor does not exist on the search path (public) of database "
                  + database.name());
      assertThatThrownBy(() -> Triggers.apply(connection, ADDED))
          .hasMessageContaining("schema pgonce is missing");
    }
  }

  @Test
  void aTransactionIsAskedFor(TestDatabase database) throws Exception {
    try (var connection = database.dataSource().getConnection()) {
      assertThatThrownBy(() -> Triggers.apply(connection, ADDED))
          .isInstanceOf(IllegalStateException.class)
          .hasMessageContaining("setAutoCommit(false)");
      assertThatThrownBy(() -> Triggers.drop(connection, ADDED))
          .isInstanceOf(IllegalStateException.class);
    }
  }

  @Test
  @SuppressWarnings("NullAway") // for callers that no checker checks
  void aNullIsRefusedByName(TestDatabase database) throws Exception {
    TriggerChannel<?> none = null;
    try (var connection = transaction(database)) {
      assertThatThrownBy(() -> Triggers.apply(connection, ADDED, none)).hasMessage("a channel");
      assertThatThrownBy(() -> Triggers.drop(connection, none)).hasMessage("a channel");
    }
    assertThatThrownBy(() -> Triggers.drop(database.dataSource(), ADDED, none))
        .hasMessage("a channel");
    assertThatThrownBy(() -> Triggers.drop((DataSource) null, ADDED)).hasMessage("dataSource");
  }

  @Test
  void thePrintedMigrationIsWhatInstallDoes(TestDatabase database) throws Exception {
    database.execute(PgOnce.migration());
    // Statement by statement, each a transaction of its own.
    database.execute(ADDED.print());
    try (var connection = transaction(database)) {
      assertThat(Triggers.plan(connection, ADDED)).hasToString("nothing to do\n");
    }
    assertThat(PgOnce.migration(ADDED).endsWith(ADDED.print())).isTrue();

    database.execute(ADDED.printDrop());
    database.execute(ADDED.printDrop());
    assertThat(database.queryLong("select count(*) from pgonce.channel")).isZero();
    assertThat(database.queryLong("select count(*) from pg_trigger where tgname like 'pgonce%'"))
        .isZero();
  }

  @Test
  void h30_oddNamesAreQuotedEverywhere(TestDatabase database) throws Exception {
    database.execute(
        "create schema \"a.b\"; create table \"a.b\".\"c\"\"d'\\; drop table author\" (id bigint not null, name text)");
    var odd =
        TriggerChannel.on("\"a.b\".\"c\"\"d'\\; drop table author\"", Author.class)
            .afterInsert()
            .named("odd.name-1")
            .build();
    PgOnce.using(database.dataSource()).install(odd);
    database.execute("insert into \"a.b\".\"c\"\"d'\\; drop table author\" values (1, 'Ann')");

    assertThat(
            database.queryLong(
                "select count(*) from pgonce.notification where subscription_id > 0"))
        .isOne();
    database.execute(odd.printDrop());
    database.execute(odd.print());
    try (var connection = transaction(database)) {
      assertThat(Triggers.plan(connection, odd)).hasToString("nothing to do\n");
    }
    assertThat(database.queryLong("select count(*) from author")).isZero();
  }

  private static Connection transaction(TestDatabase database) throws Exception {
    var connection = database.dataSource().getConnection();
    connection.setAutoCommit(false);
    return connection;
  }
}
