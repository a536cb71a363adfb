package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.annotation.JsonAlias;
import java.sql.SQLException;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.pgonce.PgOnce;
import org.pgonce.PgOnceException;
import org.pgonce.spi.Event;
import org.pgonce.spi.Observer;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** The watched table itself, or its partitions, become others after the installation. */
@Tag("versions")
@PgTest(PgOnceInstalled.class)
class TableDriftTest {

  record Author(long id, String name) {}

  private static final TriggerChannel<Author> ADDED =
      TriggerChannel.on("author", Author.class).afterInsert().build();

  private static final String PARTITIONED =
      """
      create table author (id bigint not null, name text) partition by range (id);
      create table author_1 partition of author for values from (0) to (10);
      create table author_2 partition of author for values from (10) to (20) partition by range (id);
      create table author_2a partition of author_2 for values from (10) to (15)
      """;

  @Test
  void h09_aDetachedPartitionFeedsTheChannelNoLongerAndIsWarnedOf(TestDatabase database)
      throws Exception {
    database.execute(PARTITIONED);
    PgOnce.using(database.dataSource()).install(ADDED);
    assertThat(plan(database).warnings()).noneMatch(warning -> warning.contains("no longer"));
    database.execute("insert into author_1 values (1, 'Ann')");
    assertThat(stored(database)).isOne();

    database.execute(
        "alter table author detach partition author_1; insert into author_1 values (2, 'Bob')");

    assertThat(stored(database)).isOne();
    assertThat(
            database.queryLong(
                "select count(*) from pg_trigger where tgrelid = 'author_1'::regclass"))
        .isZero();
    assertThat(plan(database).warnings())
        .anyMatch(
            warning ->
                warning.startsWith("no longer partitions of table public.author: public.author_1;")
                    && warning.endsWith("SELECT pgonce.forget_partitions('author_inserted')"));
    assertThat(problems(database))
        .singleElement()
        .asString()
        .startsWith(
            "channel author_inserted: no longer partitions of table public.author: public.author_1;");
    // To detach is what partitions are made for: a listener starts.
    try (var pgonce = PgOnce.using(database.pooled(4))) {
      pgonce.listen(ADDED, (added, tx) -> {});
      pgonce.start();
    }
    database.execute("select pgonce.forget_partitions('author_inserted')");
    assertThat(problems(database)).isEmpty();
  }

  @Test
  void h09_aPartitionThatWasAttachedLaterIsKnownFromTheNextInstallationOn(TestDatabase database)
      throws Exception {
    database.execute(PARTITIONED);
    PgOnce.using(database.dataSource()).install(ADDED);
    database.execute("create table author_3 partition of author for values from (30) to (40)");
    PgOnce.using(database.dataSource()).install(ADDED);
    database.execute(
        "alter table author detach partition author_3; alter table author detach partition author_2");
    // That of the application's next start does not hide it.
    PgOnce.using(database.dataSource()).install(ADDED);

    assertThat(plan(database).warnings())
        .anyMatch(
            warning -> warning.contains(": public.author_2, public.author_2a, public.author_3;"));

    database.execute("drop table author_2");
    assertThat(plan(database).warnings())
        .anyMatch(warning -> warning.contains(": public.author_3;"));
    database.execute("alter table author attach partition author_3 for values from (30) to (40)");
    assertThat(plan(database).warnings()).noneMatch(warning -> warning.contains("no longer"));
    database.execute("alter table author detach partition author_3");
    assertThat(database.queryLong("select pgonce.forget_partitions('author_inserted')"))
        .isEqualTo(3);
    assertThat(plan(database).warnings()).noneMatch(warning -> warning.contains("no longer"));
  }

  @Test
  void h09_aPrintedMigrationKnowsThePartitionsToo(TestDatabase database) throws Exception {
    database.execute(PARTITIONED);
    database.execute(PgOnce.migration());
    try (var connection = database.dataSource().getConnection()) {
      database.execute(Triggers.migration(connection, ADDED).up());
    }
    database.execute("alter table author detach partition author_1");

    assertThat(plan(database).warnings())
        .anyMatch(warning -> warning.contains(": public.author_1;"));
  }

  /** In a schema that they may not use, with SQL that they cannot compute. */
  @Test
  void h34_aListenerAndAnAdministratorSeeTheWarning(TestDatabase database) throws Exception {
    database.execute(
        "create schema app; create function app.f(bigint) returns boolean language plpgsql as 'begin return true; end';"
            + " grant usage on schema app to pgonce_owner;"
            + PARTITIONED.replace(" author", " app.author"));
    var channel =
        TriggerChannel.on("app.author", Author.class)
            .afterInsert()
            .when("app.f(new.id)")
            .columns("id", "name")
            .build();
    PgOnce.using(database.dataSource()).install(channel);
    database.execute("alter table app.author detach partition app.author_1");
    for (var role : List.of("pgonce_listener", "pgonce_admin")) {
      var login = database.loginRole("sees", role);
      try (var connection = login.dataSource().getConnection()) {
        assertThat(Triggers.plan(connection, channel).warnings())
            .anyMatch(warning -> warning.contains(": app.author_1;"));
        assertThat(Triggers.check(connection, channel))
            .singleElement()
            .asString()
            .contains(": app.author_1;");
      }
      if (role.equals("pgonce_listener")) {
        try (var pgonce = PgOnce.using(login.dataSource())) {
          pgonce.listen(channel, (added, tx) -> {});
          pgonce.start();
        }
      }
    }
    PgOnce.using(database.loginRole("installs", "pgonce_admin").dataSource()).install(channel);
  }

  @Test
  void h10_aTableThatIsMovedToAnotherSchemaFeedsTheChannelOnAndIsFound(TestDatabase database)
      throws Exception {
    database.execute("create table author (id bigint not null, name text); create schema app");
    PgOnce.using(database.dataSource()).install(ADDED);
    database.execute("alter table author set schema app; insert into app.author values (1, 'Ann')");

    assertThat(stored(database)).isOne();
    assertThat(problems(database))
        .singleElement()
        .asString()
        .contains("table author does not exist on the search path (public)")
        .contains("there is app.author")
        .contains("trigger is on app.author: was the table renamed?");
  }

  @Test
  void h10_aTableThatIsMadeAnewIsFoundAndMended(TestDatabase database) throws Exception {
    database.execute("create table author (id bigint not null, name text)");
    PgOnce.using(database.dataSource()).install(ADDED);
    database.execute("drop table author; create table author (id bigint not null, name text)");

    assertThat(problems(database)).singleElement().asString().contains("is missing");
    PgOnce.using(database.dataSource()).install(ADDED);
    assertThat(problems(database)).isEmpty();
    database.execute("insert into author values (1, 'Ann')");
    assertThat(stored(database)).isOne();
  }

  /** As BusyPartitionsTest says. */
  @Test
  void h84_whatIsToBeRunByHandLocksAPartitionedTableFirst(TestDatabase database) throws Exception {
    database.execute(PARTITIONED);
    PgOnce.using(database.dataSource()).install(ADDED);
    database.execute(
        "create trigger twice after insert on author for each statement execute function pgonce_triggers.capture_author_inserted()");
    var lock =
        "BEGIN; SET LOCAL lock_timeout = '800 ms'; LOCK TABLE ONLY \"public\".\"author\" IN ACCESS EXCLUSIVE MODE; ";
    assertThat(problems(database))
        .anyMatch(
            problem ->
                problem.endsWith(lock + "DROP TRIGGER \"twice\" ON \"public\".\"author\"; COMMIT"));
  }

  @Test
  void h10_anotherTableUnderTheNameDoesNotTakeTheTriggersPlace(TestDatabase database)
      throws Exception {
    database.execute("create table author (id bigint not null, name text)");
    PgOnce.using(database.dataSource()).install(ADDED);
    database.execute(
        "alter table author rename to author_old; create table author (id bigint not null, name text)");

    assertThat(problems(database))
        .anyMatch(
            problem ->
                problem.contains(
                    "trigger \"pgonce_author_inserted\" on table public.author is missing"))
        .anyMatch(
            problem ->
                problem.contains("table public.author_old feeds this channel too")
                    && problem.endsWith(
                        "DROP TRIGGER \"pgonce_author_inserted\" ON \"public\".\"author_old\"; COMMIT"))
        .hasSize(2);
    assertThatThrownBy(() -> PgOnce.using(database.dataSource()).install(ADDED))
        .isInstanceOf(PgOnceException.class)
        .hasMessageContaining("is fed by table public.author_old: drop that trigger first");
  }

  /** As a table is partitioned that has rows. */
  @Test
  void h10_aPartitionedTableUnderTheNameOfOneOfItsPartitionsHasNoTrigger(TestDatabase database)
      throws Exception {
    database.execute("create table author (id bigint not null, name text)");
    PgOnce.using(database.dataSource()).install(ADDED);
    database.execute(
        """
        alter table author rename to author_1;
        create table author (id bigint not null, name text) partition by range (id);
        alter table author attach partition author_1 for values from (0) to (10)
        """);
    database.execute("insert into author values (1, 'Ann')");

    assertThat(stored(database)).isZero();
    assertThat(problems(database))
        .anyMatch(
            problem ->
                problem.contains(
                    "trigger \"pgonce_author_inserted\" on table public.author is missing"))
        .anyMatch(problem -> problem.contains("table public.author_1 feeds this channel too"));
  }

  /** What waits was not lost by the rename, and is not lost by what check says of it. */
  @ParameterizedTest
  @CsvSource({
    "alter table author rename to writer,writer",
    "alter table author set schema app,app.author"
  })
  void h10_aTableThatGotAnotherNameKeepsItsChannelWithWhatWaits(
      String rename, String name, TestDatabase database) throws Exception {
    database.execute("create table author (id bigint not null, name text); create schema app");
    var before = TriggerChannel.on("author", Author.class).afterInsert().named("added").build();
    var after = TriggerChannel.on(name, Author.class).afterInsert().named("added").build();
    PgOnce.using(database.dataSource()).install(before);
    database.execute("insert into author values (1, 'Ann'); %s".formatted(rename));

    var mend =
        "UPDATE pgonce.channel SET feed = 'trigger on %s' WHERE name = 'added'".formatted(name);
    assertThatThrownBy(() -> PgOnce.using(database.dataSource()).install(after))
        .hasMessageContaining(mend);
    try (var connection = database.dataSource().getConnection()) {
      assertThat(Triggers.check(connection, after).get(0)).contains(mend);
    }
    database.execute(mend);
    PgOnce.using(database.dataSource()).install(after).check(after);
    database.execute("insert into %s values (2, 'Bob')".formatted(name));
    assertThat(stored(database)).isEqualTo(2);
  }

  /** It would be null from then on. */
  @Test
  void h10_aColumnThatIsRenamedOrDroppedUnderAComponentThatMayBeNullIsWarnedOf(
      TestDatabase database) throws Exception {
    record Person(long id, @Nullable String name, Optional<String> mail) {}
    record Renamed(long id, @JsonAlias("full_name") @Nullable String name, Optional<String> mail) {}
    database.execute("create table author (id bigint not null, name text, mail text)");
    var added = TriggerChannel.on("author", Person.class).afterInsert().named("added").build();
    PgOnce.using(database.dataSource()).install(added);
    try (var connection = database.dataSource().getConnection()) {
      assertThat(Triggers.check(connection, added)).isEmpty();
      database.execute("alter table author rename name to full_name; alter table author drop mail");
      assertThat(Triggers.plan(connection, added).warnings())
          .hasSize(2)
          .allMatch(
              line -> line.contains("in table public.author, and stays empty: if the column"));
      assertThat(Triggers.check(connection, added))
          .hasSize(2)
          .anyMatch(
              line -> line.startsWith("channel added: Person.name has no column name in table"))
          .anyMatch(line -> line.contains("Person.mail has no column mail"));
      var told = new CopyOnWriteArrayList<String>();
      Observer observer =
          event -> {
            if (event instanceof Event.FeedTrouble said) {
              told.add(said.problem());
            }
          };
      try (var pgonce = PgOnce.builder(database.pooled(4)).observer(observer).build()) {
        pgonce.listen(added, (person, tx) -> {}).start();
        assertThat(told).hasSize(2).isSubsetOf(Triggers.check(connection, added));
      }
      var renamed = TriggerChannel.on("author", Renamed.class).afterInsert().named("added").build();
      assertThat(Triggers.check(connection, renamed)).singleElement().asString().contains("mail");
    }
  }

  private static Plan plan(TestDatabase database) throws SQLException {
    try (var connection = database.dataSource().getConnection()) {
      return Triggers.plan(connection, ADDED);
    }
  }

  private static List<String> problems(TestDatabase database) throws SQLException {
    try (var connection = database.dataSource().getConnection()) {
      return Triggers.check(connection, ADDED);
    }
  }

  private static long stored(TestDatabase database) throws SQLException {
    return database.queryLong("select count(*) from pgonce.notification where subscription_id > 0");
  }
}
