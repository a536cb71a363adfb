package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.PgOnceException;
import org.pgonce.records.TableName;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** Up and down, run by Flyway, by Liquibase and as it is; by a role that is no superuser. */
@PgTest
class MigrationTest {

  record Author(long id, String name) {}

  private static final TriggerChannel<Author> ADDED =
      TriggerChannel.on("author", Author.class).afterInsert().build();

  /** What a tool would take for its own, in a condition and so in a function's body. */
  private static final String HOSTILE =
      """
      new.name not in ('${user.name}', '$${x}', 'a\\b''c;', '
      --rollback drop table author;
      --changeset eve:1
      -- comment: x

        /* liquibase rollback
      GO
      /
      --property name:value') -- ${java.version}
      """;

  @TempDir Path directory;
  private MigrationScene scene;

  @BeforeEach
  void scene(TestDatabase database) throws SQLException {
    scene = MigrationScene.of(database, directory);
    scene.execute("create table author (id bigint not null, name text)");
  }

  @Test
  void example_flywayInstallsSchemaAndChannelAndTheUndoFilesTakeThemAway(TestDatabase database)
      throws Exception {
    var before = scene.state();
    var schema = Migration.ofSchema().flyway("1", "pgonce");
    var channel = Migration.of(ADDED).flyway("2.1", "author channel");
    assertThat(channel).containsOnlyKeys("V2.1__author_channel.sql", "U2.1__author_channel.sql");

    scene.write(schema);
    scene.write(channel);
    scene.flyway();

    assertCaptures(database, ADDED);
    database.execute("delete from pgonce.notification where subscription_id > 0");
    scene.execute(channel.get("U2.1__author_channel.sql"));
    scene.execute(schema.get("U1__pgonce.sql"));
    scene.execute("drop table flyway_schema_history");
    assertThat(scene.state()).isEqualTo(before);
  }

  @Test
  void example_liquibaseInstallsSchemaAndChannelAndRollsThemBack(TestDatabase database)
      throws Exception {
    var before = scene.state();
    scene.write("schema.sql", Migration.ofSchema().liquibase("dba", "pgonce"));
    scene.update("schema.sql");
    var between = scene.state();
    scene.write("author.sql", Migration.of(ADDED).liquibase("dba", "author"));
    scene.update("author.sql");

    assertCaptures(database, ADDED);
    database.execute("delete from pgonce.notification where subscription_id > 0");
    scene.rollBackLast("author.sql");
    assertThat(scene.state()).isEqualTo(between);
    scene.rollBackLast("schema.sql");
    assertThat(scene.state()).isEqualTo(before);
  }

  @Tag("all")
  @ParameterizedTest
  @ValueSource(strings = {"flyway", "liquibase", "psql"})
  void h83_whatToolsWouldTakeForTheirOwnStaysAsItIs(String tool, TestDatabase database)
      throws Exception {
    var channel =
        TriggerChannel.changesOf(new TableName(null, "odd ${user.name} \"t\\"), Author.class)
            .afterInsert()
            .afterDelete()
            .when("old is null or new is null or " + HOSTILE)
            .named("odd")
            .build();
    scene.execute("create table \"odd ${user.name} \"\"t\\\" (id bigint not null, name text)");
    database.execute(PgOnce.migration());
    var before = scene.state();
    Migration migration;
    try (var connection = database.dataSource().getConnection()) {
      migration = Triggers.migration(connection, channel);
    }
    run(tool, migration);

    try (var connection = database.dataSource().getConnection()) {
      assertThat(Triggers.check(connection, channel)).isEmpty();
      assertThat(Triggers.plan(connection, channel)).hasToString("nothing to do\n");
    }
    undo(tool, migration);
    assertThat(scene.state()).isEqualTo(before);
  }

  @Tag("all")
  @ParameterizedTest
  @ValueSource(strings = {"flyway", "liquibase", "psql"})
  void example_theWayBackOfAChangedChannelBringsItsFormerDefinition(
      String tool, TestDatabase database) throws Exception {
    var former =
        TriggerChannel.changesOf("author", Author.class)
            .afterInsert()
            .afterDelete()
            .when("new is null or " + HOSTILE)
            .named("author")
            .build();
    var changed =
        TriggerChannel.changesOf("author", Author.class)
            .afterInsert()
            .afterUpdateOf("name")
            .mode(Mode.AT_LEAST_ONCE)
            .options(ChannelOptions.DEFAULT.withSubscriptions("default", "audit").withMaxDepth(7))
            .named("author")
            .build();
    PgOnce.using(database.dataSource()).install(former);
    scene.execute("alter table author enable always trigger \"pgonce_author:delete\"");
    var before = scene.state();
    Migration migration;
    try (var connection = database.dataSource().getConnection()) {
      migration = Triggers.migration(connection, changed);
    }

    run(tool, migration);
    try (var connection = database.dataSource().getConnection()) {
      assertThat(Triggers.check(connection, changed)).isEmpty();
      assertThat(Triggers.migration(connection, changed).isEmpty()).isTrue();
    }
    undo(tool, migration);

    assertThat(scene.state()).isEqualTo(before);
    try (var connection = database.dataSource().getConnection()) {
      assertThat(Triggers.check(connection, former))
          .singleElement()
          .asString()
          .contains("is ENABLE ALWAYS and per statement");
    }
  }

  /** The function stores for those that it names. */
  @Test
  void h83_aSubscriptionOfATriggerChannelComesAndGoesWithItsFunction(TestDatabase database)
      throws Exception {
    var changed =
        TriggerChannel.on("author", Author.class)
            .afterInsert()
            .options(
                ChannelOptions.DEFAULT
                    .withSubscription("default", Map.of("tenant", "7"))
                    .withSubscription("audit", Map.of()))
            .build();
    PgOnce.using(database.dataSource()).install(ADDED);
    var before = scene.state();
    Migration migration;
    try (var connection = database.dataSource().getConnection()) {
      assertThat(Triggers.plan(connection, changed).changes())
          .extracting(Plan.Change::summary)
          .containsExactly(
              "change channel", "replace function pgonce_triggers.\"capture_author_inserted\"");
      migration = Triggers.migration(connection, changed);
    }

    scene.execute(migration.up());
    assertCaptures(database, changed); // of audit alone
    database.execute("delete from pgonce.notification where subscription_id > 0");
    scene.execute(migration.down());

    assertThat(scene.state()).isEqualTo(before);
    assertCaptures(database, ADDED);
  }

  /** Of a table of another role than the one that migrates. */
  @Test
  void h83_theWayBackGivesFunctionsTheirOwnerAndRights(TestDatabase database) throws Exception {
    var keeper = database.loginRole("keeper");
    scene.makeMemberOf(keeper);
    database.execute("alter table author owner to " + keeper.user());
    var former =
        TriggerChannel.changesOf("author", Author.class).afterInsert().afterDelete().named("c");
    var changed =
        TriggerChannel.changesOf("author", Author.class).afterInsert().afterUpdate().named("c");
    PgOnce.using(database.dataSource()).install(former.build());
    var owners =
        "select string_agg(distinct proowner::regrole::text, ' ') from pg_proc where proname like 'capture%'";
    assertThat(database.queryString(owners)).isEqualTo(keeper.user());
    var before = scene.state();
    Migration migration;
    try (var connection = database.dataSource().getConnection()) {
      migration = Triggers.migration(connection, changed.build());
    }

    scene.execute(migration.up());
    assertThat(database.queryString(owners)).isEqualTo(keeper.user());
    scene.execute(migration.down());

    assertThat(scene.state()).isEqualTo(before);
    assertCaptures(database, former.build());
  }

  /** The table was given to another role since, which takes over no function unseen. */
  @Test
  void h83_functionsOfAFormerOwnerAreGivenToTheNewOneBeforeAMigration(TestDatabase database)
      throws Exception {
    PgOnce.using(database.dataSource()).install(ADDED);
    var keeper = database.loginRole("keeper");
    scene.makeMemberOf(keeper);
    database.execute("alter table author owner to " + keeper.user());
    var changed =
        TriggerChannel.on("author", Author.class).afterInsert().columns("id", "name").build();
    try (var connection = database.dataSource().getConnection()) {
      assertThatThrownBy(() -> Triggers.migration(connection, changed))
          .isInstanceOf(PgOnceException.class)
          .hasMessageContaining(
              "ALTER FUNCTION pgonce_triggers.capture_author_inserted() OWNER TO " + keeper.user());
      database.execute(
          "alter function pgonce_triggers.capture_author_inserted owner to " + keeper.user());
      var before = scene.state();
      var migration = Triggers.migration(connection, changed);

      scene.execute(migration.up());
      assertCaptures(database, changed);
      database.execute("delete from pgonce.notification where subscription_id > 0");
      scene.execute(migration.down());
      assertThat(functions(scene.state())).isEqualTo(functions(before));
    }
  }

  private static List<String> functions(String state) {
    return state.lines().filter(line -> line.contains("capture_")).toList();
  }

  private void run(String tool, Migration migration) throws Exception {
    switch (tool) {
      case "flyway" -> {
        scene.write(migration.flyway("1", "channel"));
        scene.flyway();
        scene.execute("drop table flyway_schema_history");
      }
      case "liquibase" -> {
        scene.write("channel.sql", migration.liquibase("dba", "1"));
        scene.update("channel.sql");
      }
      default -> scene.execute(migration.up());
    }
  }

  private void undo(String tool, Migration migration) throws Exception {
    if (tool.equals("liquibase")) {
      scene.rollBackLast("channel.sql");
    } else {
      scene.execute(migration.down());
    }
  }

  @Test
  void h83_aMigrationOfWhatIsThereIsEmpty(TestDatabase database) throws Exception {
    var published = Channel.of("published", String.class);
    PgOnce.using(database.dataSource()).install(ADDED, published);
    try (var connection = database.dataSource().getConnection()) {
      var migration = Triggers.migration(connection, ADDED, published);

      assertThat(migration.isEmpty()).isTrue();
      assertThatThrownBy(() -> migration.flyway("1", "nothing"))
          .isInstanceOf(IllegalStateException.class);
      assertThatThrownBy(() -> migration.liquibase("dba", "1"))
          .isInstanceOf(IllegalStateException.class);
    }
  }

  @Test
  void h83_whatIsLeftOfAChannelIsLeftAgainOnTheWayBack(TestDatabase database) throws Exception {
    PgOnce.using(database.dataSource()).install(ADDED);
    database.execute(
        "drop trigger pgonce_author_inserted on author; select pgonce.drop_channel('author_inserted')");
    var before = scene.state();
    Migration migration;
    try (var connection = database.dataSource().getConnection()) {
      migration = Triggers.migration(connection, ADDED);
      scene.execute(migration.up());
      assertThat(Triggers.check(connection, ADDED)).isEmpty();
    }
    scene.execute(migration.down());
    assertThat(scene.state()).isEqualTo(before);
  }

  @Test
  void h83_aSubscriptionThatCameIsNotDroppedWhileSomethingWaitsInIt(TestDatabase database)
      throws Exception {
    var channel = Channel.of("published", String.class);
    var changed =
        Channel.of(
            "published",
            String.class,
            Mode.EXACTLY_ONCE,
            ChannelOptions.DEFAULT.withSubscriptions("default", "audit"));
    PgOnce.using(database.dataSource()).install(channel);
    var before = scene.state();
    Migration migration;
    try (var connection = database.dataSource().getConnection()) {
      migration = Triggers.migration(connection, changed);
    }
    scene.execute(migration.up());
    database.execute("select pgonce.publish('published', '1')");

    assertThatThrownBy(() -> scene.execute(migration.down()))
        .hasMessageContaining("subscription \"audit\" still holds notifications: 1 waiting")
        .hasMessageContaining("SELECT pgonce.drop_subscription('published', 'audit');");
    database.execute("select pgonce.drop_subscription('published', 'audit')");
    scene.execute(migration.down());
    assertThat(scene.state()).isEqualTo(before);
  }

  @Test
  void h83_theWayBackRefusesToLoseWhatWaits(TestDatabase database) throws Exception {
    database.execute(PgOnce.migration());
    var migration = Migration.of(ADDED);
    scene.execute(migration.up());
    database.execute("insert into author values (1, 'Ann'), (2, 'Bob')");

    var drop =
        "BEGIN; SET LOCAL lock_timeout = '800ms'; DROP FUNCTION pgonce_triggers.capture_author_inserted() CASCADE; SELECT pgonce.drop_channel('author_inserted'); COMMIT;";
    assertThatThrownBy(() -> scene.execute(migration.down()))
        .hasMessageContaining("channel \"author_inserted\" still holds notifications: 2 waiting")
        .hasMessageContaining(drop);
    assertCaptures(database, ADDED);
    assertThatThrownBy(() -> scene.execute(Migration.ofSchema().down()))
        .hasMessageContaining("still holds notifications: 3 waiting");

    assertThatThrownBy(() -> scene.execute("SELECT pgonce.drop_channel('author_inserted')"))
        .hasMessageContaining(drop);
    scene.execute(drop);
    scene.execute(migration.down());
    assertThat(database.queryLong("select count(*) from pg_trigger where not tgisinternal"))
        .isZero();
  }

  /** Behind a writer, and behind another installation, whichever transaction stays open. */
  @Test
  @Tag("all")
  void h84_whatIsPrintedWaitsForABoundedTime(TestDatabase database) throws Exception {
    PgOnce.using(database.dataSource()).install(ADDED);
    var other = TriggerChannel.on("author", Author.class).afterInsert().named("other").build();
    try (var connection = database.dataSource().getConnection();
        var statement = connection.createStatement()) {
      connection.setAutoCommit(false);
      statement.execute("insert into author values (7, 'Eve')");
      assertGivesUp(database, ADDED.printDrop(), "canceling statement due to lock timeout");
      connection.rollback();
      statement.execute("select pg_advisory_xact_lock(123589553447782)");
      assertGivesUp(
          database, other.print(), "cannot change the triggers of channel other in database");
      connection.rollback();
    }
    database.execute(other.print() + ADDED.printDrop());
  }

  private static void assertGivesUp(TestDatabase database, String script, String why)
      throws Exception {
    try (var connection = database.dataSource().getConnection();
        var statement = connection.createStatement()) {
      statement.execute("set statement_timeout = '20s'");
      assertThatThrownBy(() -> statement.execute(script))
          .hasMessageContaining(why)
          .extracting(thrown -> ((SQLException) thrown).getSQLState())
          .isEqualTo("55P03");
    }
  }

  @Tag("all")
  @Test
  void h84_aMigrationDoesNotQueueWritersBehindATable(TestDatabase database) throws Exception {
    database.execute(PgOnce.migration());
    try (var writer = database.dataSource().getConnection();
        var statement = writer.createStatement()) {
      writer.setAutoCommit(false);
      statement.execute("insert into author values (1, 'Ann')");
      var begun = System.nanoTime();

      assertThatThrownBy(() -> scene.execute(Migration.of(ADDED).up()))
          .isInstanceOf(SQLException.class)
          .hasMessageContaining("lock timeout");

      assertThat(Duration.ofNanos(System.nanoTime() - begun)).isLessThan(Duration.ofSeconds(15));
    }
    assertThat(database.queryLong("select count(*) from pgonce.channel")).isZero();
  }

  /** Whatever the search path is of who prints it, and of who runs it. */
  @Test
  void h33_theWayBackNamesTheSchemas(TestDatabase database) throws Exception {
    database.execute("create schema app; create table app.thing (id int)");
    var thing = TriggerChannel.on("app.thing", Object.class).afterInsert().named("thing");
    PgOnce.using(database.dataSource()).install(thing.build());
    for (var form : List.of(TriggerForm.ROW, TriggerForm.DEFERRED)) {
      try (var connection = database.dataSource().getConnection();
          var statement = connection.createStatement()) {
        statement.execute("set search_path = pgonce, app");
        assertThat(Triggers.migration(connection, thing.form(form).build()).down())
            .contains(" ON app.thing ")
            .contains("EXECUTE FUNCTION pgonce_triggers.capture_thing()");
        try (var path = statement.executeQuery("show search_path")) {
          path.next();
          assertThat(path.getString(1)).isEqualTo("pgonce, app");
        }
      }
    }
  }

  @Test
  void h34_whatCannotBeInstalledIsNotPrinted(TestDatabase database) throws Exception {
    try (var connection = database.dataSource().getConnection()) {
      assertThatThrownBy(() -> Triggers.migration(connection, ADDED))
          .isInstanceOf(PgOnceException.class)
          .hasMessageContaining("Migration.ofSchema()");
      database.execute(PgOnce.migration());
      assertThatThrownBy(
              () ->
                  Triggers.migration(
                      connection, TriggerChannel.on("none", Author.class).afterInsert().build()))
          .isInstanceOf(PgOnceException.class)
          .hasMessageContaining("table none does not exist");
    }
  }

  @Test
  void h30_namesThatToolsDoNotTakeAreRefused() {
    var migration = Migration.of(ADDED);
    for (var version : List.of("", "v1", "1-2", "1..2", "1__2", "١")) {
      assertThatThrownBy(() -> migration.flyway(version, "x"))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("Flyway version");
    }
    for (var description :
        List.of("", " a", "a__b", "a/b", "../a", "ä", "a.sql", "x".repeat(151))) {
      assertThatThrownBy(() -> migration.flyway("1", description))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("Flyway description");
    }
    for (var name : List.of("", "a b", "a:b", "a\nb", "\"a\"", "-a")) {
      assertThatThrownBy(() -> migration.liquibase(name, "1"))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("Liquibase author");
      assertThatThrownBy(() -> migration.liquibase("dba", name))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("Liquibase id");
    }
  }

  @Test
  void h30_twoChannelsOfOneNameAreRefused() {
    var other = TriggerChannel.on("other", Author.class).afterInsert().named(ADDED.name()).build();
    assertThatThrownBy(() -> Migration.of(ADDED, other))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("two channels have the name author_inserted");
  }

  private static void assertCaptures(TestDatabase database, TriggerChannel<?> channel)
      throws SQLException {
    var stored = "select count(*) from pgonce.notification where subscription_id > 0";
    var before = database.queryLong(stored);
    database.execute("insert into author values (7, 'Eve')");
    assertThat(database.queryLong(stored)).isEqualTo(before + 1);
    try (var connection = database.dataSource().getConnection()) {
      assertThat(Triggers.check(connection, channel)).isEmpty();
    }
  }
}
