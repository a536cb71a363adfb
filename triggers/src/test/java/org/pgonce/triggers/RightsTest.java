package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assumptions.assumeThat;

import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.pgonce.ChannelOptions;
import org.pgonce.ListenOptions;
import org.pgonce.PgOnce;
import org.pgonce.PgOnceException;
import org.pgonce.testkit.Login;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** A table, and what a definition calls, in a schema that the table's owner may not use. */
@PgTest
class RightsTest {

  private static final String ALTERED = "was made for the table as it was before it was altered";
  private static final String STORED =
      "select count(*) from pgonce.notification where subscription_id > 0";

  private String owner;

  @BeforeEach
  void table(TestDatabase database) throws SQLException {
    owner = database.loginRole("keeper").user();
    database.execute(
        """
        create schema app;
        create table app.thing (id int primary key, written timestamp, zoned timestamptz);
        alter table app.thing owner to %s;
        create function app.f(int) returns boolean language plpgsql as 'begin return $1 > 0; end';
        """
            .formatted(owner));
    PgOnce.using(database.dataSource()).install();
  }

  private static TriggerChannelBuilder<?> thing() {
    return TriggerChannel.on("app.thing", Object.class).afterInsert().named("thing");
  }

  @Test
  void h34_whatTheFunctionsOwnerMayNotCallIsRefusedAndNotBuriedRowByRow(TestDatabase database)
      throws Exception {
    var channel = thing().when("app.f(new.id)").build();
    assertThatThrownBy(() -> PgOnce.using(database.dataSource()).install(channel))
        .isInstanceOf(PgOnceException.class)
        .hasMessageContaining("its condition cannot be computed")
        .hasMessageContaining("permission denied for schema app for role " + owner);
    var login = database.loginRole("deployer", "pgonce_installer", owner);
    database.execute("revoke execute on function app.f from public");
    database.execute("grant usage on schema app to " + owner);
    try (var connection = login.dataSource().getConnection()) {
      assertThat(Triggers.plan(connection, channel).obstacles())
          .anyMatch(obstacle -> obstacle.contains("permission denied for function f for role"));
    }
    database.execute("grant execute on function app.f to " + owner);
    PgOnce.using(login.dataSource()).install(channel);
    database.execute("insert into app.thing values (1), (-1)");
    assertThat(database.queryLong(STORED)).isOne();
  }

  @Test
  void h34_whoMayNotUseTheSchemaFindsNothingWrong(TestDatabase database) throws Exception {
    database.execute("grant usage on schema app to " + owner);
    for (var form : TriggerForm.values()) {
      var channel = thing().when("app.f(new.id)").form(form).build();
      PgOnce.using(database.dataSource()).install(channel);
      for (var role : List.of("pgonce_listener", "pgonce_admin")) {
        try (var connection = database.loginRole("sees", role).dataSource().getConnection()) {
          assertThat(Triggers.check(connection, channel)).isEmpty();
          assertThat(Triggers.plan(connection, channel).isEmpty()).isTrue();
          database.execute("alter table app.thing rename column id to number");
          assertThat(Triggers.check(connection, channel))
              .satisfiesExactlyInAnyOrder(
                  problem -> assertThat(problem).contains("column new.id does not exist"),
                  problem -> assertThat(problem).contains(ALTERED));
          database.execute("alter table app.thing rename column number to id");
        }
      }
    }
  }

  /** The function has the table by its number. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void h34_theFunctionsOwnerNeedsNoRightOnTheSchemaOfTheTable(
      boolean printed, TestDatabase database) throws Exception {
    var channel = thing().columns("id").form(TriggerForm.ROW).build();
    try (var connection = database.dataSource().getConnection()) {
      if (printed) {
        database.execute(Triggers.migration(connection, channel).up());
      } else {
        PgOnce.using(database.dataSource()).install(channel);
      }
      assertThat(Triggers.check(connection, channel)).isEmpty();
      database.execute("insert into app.thing values (1)");
      database.execute("alter table app.thing alter column id type bigint");
      database.execute("insert into app.thing values (3000000000)");
      assertThat(database.queryLong(STORED)).isEqualTo(2);
    }
  }

  @Test
  void h34_whoDoesNotOwnTheTableIsToldBeforeATriggerIsToBeDropped(TestDatabase database)
      throws Exception {
    var login = database.loginRole("deployer", "pgonce_owner", "pgonce_admin");
    database.execute(
        "grant trigger on app.thing to %1$s; grant usage on schema app to %1$s, pgonce_owner"
            .formatted(login.user()));
    var deferred = thing().form(TriggerForm.DEFERRED).build();
    PgOnce.using(login.dataSource()).install(deferred);
    var row = thing().form(TriggerForm.ROW).build();
    assertRefused(login, row, "DROP TRIGGER \"pgonce_thing\" ON \"app\".\"thing\"");
    PgOnce.using(login.dataSource()).install(thing().afterUpdate().named("both").build());
    assertRefused(
        login,
        thing().named("both").build(),
        "DROP TRIGGER \"pgonce_both:update\" ON \"app\".\"thing\"");
    // From now on the function is to belong to the owner, who takes over none unseen.
    database.execute("grant %s to %s".formatted(owner, login.user()));
    assertThatThrownBy(() -> PgOnce.using(login.dataSource()).install(row))
        .isInstanceOf(PgOnceException.class)
        .hasMessageContaining(
            "there is function pgonce_triggers.capture_thing() of role \"%s\" already"
                .formatted(login.user()))
        .hasMessageContaining("ALTER FUNCTION pgonce_triggers.capture_thing() OWNER TO " + owner);
    database.execute("alter function pgonce_triggers.capture_thing owner to " + owner);
    PgOnce.using(login.dataSource()).install(row);
  }

  private static void assertRefused(Login login, TriggerChannel<?> channel, String how) {
    assertThatThrownBy(() -> PgOnce.using(login.dataSource()).install(channel))
        .isInstanceOf(PgOnceException.class)
        .hasMessageContaining(
            "role %s may not drop a trigger of table app.thing, which only its owner may"
                .formatted(login.user()))
        .hasMessageContaining(how);
  }

  @Test
  void h34_anOwnerThatHasLostTriggerIsToldHowToGetItBack(TestDatabase database) throws Exception {
    var channel = thing().build();
    PgOnce.using(database.dataSource()).install(channel);
    database.execute("revoke trigger on app.thing from " + owner);
    var grant = "GRANT TRIGGER ON \"app\".\"thing\" TO \"%s\"".formatted(owner);
    assertThat(problems(database, channel))
        .singleElement()
        .asString()
        .contains(owner + ", who may not put triggers on the table", grant);
    database.execute("insert into app.thing values (1)");
    assertThat(database.queryLong(STORED)).as("rows are stored all the same").isOne();
    database.execute(grant);
    assertThat(problems(database, channel)).isEmpty();
  }

  private static List<String> problems(TestDatabase database, TriggerChannel<?> channel)
      throws SQLException {
    try (var connection = database.dataSource().getConnection()) {
      return Triggers.check(connection, channel);
    }
  }

  /** PostgreSQL fails the second of two that grant rights on the same schema at once. */
  @Test
  void h84_rightsForTriggersAreGrantedOneInstallationAtATime(TestDatabase database)
      throws Exception {
    database.execute(
        """
        select pgonce.install_channel('one', 'EXACTLY_ONCE', 'trigger on app.thing');
        select pgonce.install_channel('two', 'EXACTLY_ONCE', 'trigger on app.thing')
        """);
    var other = database.loginRole("other").user();
    try (var first = database.dataSource().getConnection();
        var second = database.dataSource().getConnection();
        var granting = first.createStatement();
        var waiting = second.createStatement()) {
      first.setAutoCommit(false);
      granting.execute("select pgonce.let_capture('one', '%s')".formatted(owner));
      waiting.execute("set lock_timeout = '200ms'");
      var next = "select pgonce.let_capture('two', '%s')".formatted(other);
      assertThatThrownBy(() -> waiting.execute(next))
          .hasMessageContaining("was not let store into channel \"two\": another installation")
          .extracting(thrown -> ((SQLException) thrown).getSQLState())
          .isEqualTo("55P03");
      first.commit();
      waiting.execute(next);
    }
  }

  @Test
  void h80_aDueTimeWithoutAZoneIsRefused(TestDatabase database) throws Exception {
    for (var due :
        List.of("new.written + interval '6 hours'", "new.written", "new.written::date")) {
      assertThatThrownBy(
              () -> PgOnce.using(database.dataSource()).install(thing().dueAt(due).build()))
          .isInstanceOf(PgOnceException.class)
          .hasMessageContaining("its due time has no time zone, and would be taken for UTC")
          .hasMessageContaining("give (" + due + ")::timestamp AT TIME ZONE 'UTC'");
    }
    for (var due :
        List.of(
            "(new.written + interval '6 hours')::timestamp AT TIME ZONE 'UTC'",
            "new.zoned",
            "'infinity'",
            "null",
            "now() + interval '1 hour' -- later")) {
      PgOnce.using(database.dataSource()).install(thing().dueAt(due).build());
    }
  }

  /** It has the other's rights, and cannot act as it: a role of PostgreSQL 16 and later. */
  @Test
  void h36_whoCannotActAsTheTablesOwnerInstallsWithRightsOfItsOwn(TestDatabase database)
      throws Exception {
    assumeThat(database.queryLong("select current_setting('server_version_num')::int"))
        .describedAs("GRANT ... WITH SET FALSE came with PostgreSQL 16")
        .isGreaterThanOrEqualTo(160_000);
    var deputy = database.loginRole("deputy", "pgonce_installer");
    database.execute(
        """
        grant usage on schema app to %1$s, %2$s;
        grant %2$s, pgonce_owner to %1$s with set false
        """
            .formatted(deputy.user(), owner));
    var channel = thing().build();
    try (var connection = deputy.dataSource().getConnection()) {
      connection.setAutoCommit(false);
      Triggers.apply(connection, channel);
      connection.commit();
    }
    assertThat(
            database.queryString(
                "select proowner::regrole::text from pg_proc where proname = 'capture_thing'"))
        .isEqualTo(deputy.user());
    database.execute("insert into app.thing values (1)");
    assertThat(database.queryLong(STORED)).isOne();
    Triggers.drop(deputy.dataSource(), channel);
    assertThat(database.queryLong("select count(*) from pg_proc where proname = 'capture_thing'"))
        .isZero();
  }

  /** The other way round: it can act as the owner, and has not the owner's rights before. */
  @Test
  void h36_whoDoesNotInheritTheOwnersRightsInstallsWithRightsOfItsOwn(TestDatabase database)
      throws Exception {
    assumeThat(database.queryLong("select current_setting('server_version_num')::int"))
        .describedAs("GRANT ... WITH INHERIT FALSE came with PostgreSQL 16")
        .isGreaterThanOrEqualTo(160_000);
    var deployer = database.loginRole("deployer", "pgonce_installer");
    database.execute(
        """
        grant usage on schema app to %1$s;
        grant trigger on app.thing to %1$s;
        grant %2$s to %1$s with inherit false
        """
            .formatted(deployer.user(), owner));

    PgOnce.using(deployer.dataSource()).install(thing().when("new.id > 0").build());

    assertThat(
            database.queryString(
                "select proowner::regrole::text from pg_proc where proname = 'capture_thing'"))
        .isEqualTo(deployer.user());
    database.execute("insert into app.thing values (1)");
    assertThat(database.queryLong(STORED)).isOne();
  }

  /** As the message says it. */
  @Test
  void h36_noWriteFailsWhileAFunctionIsGivenToTheTablesNewOwner(TestDatabase database)
      throws Exception {
    var channel = thing().build();
    var buyer = database.loginRole("buyer").user();
    PgOnce.using(database.dataSource()).install(channel);
    database.execute("alter table app.thing owner to " + buyer);
    database.execute("insert into app.thing values (1)");
    var how =
        "SELECT pgonce.let_capture('thing', '%1$s'); ALTER FUNCTION pgonce_triggers.capture_thing() OWNER TO %1$s"
            .formatted(buyer);
    assertThatThrownBy(
            () -> PgOnce.using(database.dataSource()).install(thing().afterUpdate().build()))
        .isInstanceOf(PgOnceException.class)
        .hasMessageContaining(how);

    database.execute(how);

    database.execute("insert into app.thing values (2)");
    assertThat(database.queryLong(STORED)).isEqualTo(2);
    try (var connection = database.dataSource().getConnection()) {
      assertThat(Triggers.check(connection, channel)).isEmpty();
    }
  }

  @Test
  void h36_aChannelWhoseOwnerIsGoneIsGivenToAnotherRole(TestDatabase database) throws Exception {
    var seller = database.loginRole("seller", "pgonce_installer", owner);
    var buyer = database.loginRole("buyer", "pgonce_installer", owner);
    assertThatThrownBy(() -> PgOnce.using(seller.dataSource()).install(thing().build()))
        .isInstanceOf(PgOnceException.class)
        .hasMessageContaining("GRANT USAGE ON SCHEMA app TO " + seller.user());
    database.execute("grant usage on schema app to %s, %s".formatted(seller.user(), buyer.user()));
    PgOnce.using(seller.dataSource()).install(thing().build());
    database.execute("alter role %1$s rename to gone_%1$s".formatted(seller.user()));
    var how = "UPDATE pgonce.channel SET owner = '%s' WHERE name = 'thing'".formatted(buyer.user());
    var changed = thing().afterUpdate().build();
    try {
      assertThatThrownBy(() -> PgOnce.using(buyer.dataSource()).install(changed))
          .isInstanceOf(PgOnceException.class)
          .hasMessageContaining(
              "which role \"%s\" has installed: that one is gone".formatted(seller.user()))
          .hasMessageContaining(how);
      database.execute(how);
      PgOnce.using(buyer.dataSource()).install(changed);
    } finally {
      database.execute("alter role gone_%1$s rename to %1$s".formatted(seller.user()));
    }
  }

  /** Any role that may install can make functions of such names. */
  @Test
  void h36_aFunctionByTheNameOfAnothersChannelDisturbsNobody(TestDatabase database)
      throws Exception {
    var filtered = ChannelOptions.DEFAULT.withSubscription("acme", Map.of("tenant", "acme"));
    var channel = thing().options(filtered).build();
    PgOnce.using(database.dataSource()).install(channel);
    var other = database.loginRole("other", "pgonce_installer");
    var others = TriggerChannel.on("theirs.bait", Object.class).afterInsert().named("bait").build();
    database.execute("create schema theirs authorization \"%s\"".formatted(other.user()));
    execute(other, "create table theirs.bait (id int)");
    PgOnce.using(other.dataSource()).install(others);
    execute(
        other,
        """
        create function pgonce_triggers."capture_thing:update"() returns trigger language plpgsql as 'begin return null; end';
        create constraint trigger bait after insert on theirs.bait deferrable for each row execute function pgonce_triggers."capture_thing:update"();
        comment on function pgonce_triggers."capture_thing:update"() is 'pgonce: trigger after update on app.thing'
        """);
    try (var connection = database.dataSource().getConnection();
        var pgonce = PgOnce.using(database.pooled(4))) {
      assertThat(Triggers.check(connection, channel)).isEmpty();
      assertThat(Triggers.plan(connection, channel).isEmpty()).isTrue();
      assertThat(Triggers.orphans(connection, channel, others))
          .extracting(Orphan::channel)
          .containsExactly("thing:update");
      pgonce
          .install(channel)
          .listen(channel, "acme", ListenOptions.DEFAULT, (thing, tx) -> {})
          .start();
    }
    Triggers.drop(database.dataSource(), channel);
    assertThat(database.queryLong("select count(*) from pgonce.channel where name = 'thing'"))
        .isZero();
  }

  /** Such a function runs with the installer's rights, and the owner's casts would too. */
  @Test
  void h38_aCastOfTheTablesOwnerIsRefusedWhereTheFunctionBelongsToTheInstaller(
      TestDatabase database) throws Exception {
    var deputy = database.loginRole("deputy", "pgonce_installer");
    database.execute(
        """
        grant usage on schema app to %1$s, %2$s;
        grant trigger on app.thing to %1$s;
        create type app.grade as enum ('a');
        create function app.told(app.grade) returns json language sql as 'select to_json(current_user::text)';
        create cast (app.grade as json) with function app.told(app.grade);
        alter function app.told(app.grade) owner to %2$s;
        alter table app.thing add grade app.grade
        """
            .formatted(deputy.user(), owner));
    var channel = thing().build();
    assertThatThrownBy(() -> PgOnce.using(deputy.dataSource()).install(channel))
        .hasMessageContaining("has a cast to json by function app.told(app.grade) of role " + owner)
        .hasMessageContaining("pgonce_owner or role " + deputy.user() + " own it");
    PgOnce.using(database.dataSource()).install(channel);
    try (var connection = deputy.dataSource().getConnection()) {
      assertThat(Triggers.check(connection, channel)).isEmpty();
    }
  }

  /** What the function calls is for its owner, and not for every role that may see the channel. */
  @Test
  void h34_whoCannotActAsTheFunctionsOwnerFindsNothingWrong(TestDatabase database)
      throws Exception {
    database.execute(
        "grant usage on schema app to %1$s; revoke execute on function app.f from public; grant execute on function app.f to %1$s"
            .formatted(owner));
    var channel = thing().when("app.f(new.id)").build();
    PgOnce.using(database.dataSource()).install(channel);
    var admin = database.loginRole("admin", "pgonce_admin", "pgonce_listener");
    database.execute(
        "grant usage on schema app to %1$s; grant all on app.thing to %1$s"
            .formatted(admin.user()));
    try (var connection = admin.dataSource().getConnection()) {
      assertThat(Triggers.check(connection, channel)).isEmpty();
    }
  }

  /**
   * Default privileges such as a database has where other roles are to use what its owner makes.
   */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void h36_defaultPrivilegesGiveTheFunctionToNobody(boolean printed, TestDatabase database)
      throws Exception {
    var other = database.loginRole("o'ther");
    database.execute(
        """
        alter default privileges for role %1$s grant all on functions to "%2$s", pgonce_monitor;
        alter default privileges for role %1$s grant all on tables to "%2$s";
        alter default privileges for role %1$s grant all on sequences to "%2$s"
        """
            .formatted(owner, other.user()));
    var channel = thing().build();
    try (var connection = database.dataSource().getConnection();
        var pgonce = PgOnce.using(database.pooled(4))) {
      if (printed) {
        database.execute(Triggers.migration(connection, channel).up());
      } else {
        pgonce.install(channel);
      }
      assertThat(Triggers.check(connection, channel)).isEmpty();
      pgonce.listen(channel, (thing, tx) -> {}).start();
      database.execute(
          "grant all on function pgonce_triggers.capture_thing() to \"%s\""
              .formatted(other.user()));
      assertThat(Triggers.check(connection, channel))
          .singleElement()
          .asString()
          .contains("may be executed by " + other.user());
      pgonce.install(channel);
      assertThat(Triggers.check(connection, channel)).isEmpty();
    }
  }

  private static void execute(Login login, String sql) throws SQLException {
    try (var connection = login.dataSource().getConnection();
        var statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }

  @Test
  void h72_eachSchemaAndRoleThatHasLostSomethingIsFoundAndMended(TestDatabase database)
      throws Exception {
    var channel = thing().build();
    PgOnce.using(database.dataSource()).install(channel);
    for (var loss :
        List.of(
            "alter schema pgonce_triggers owner to current_user",
            "alter schema pgonce_private owner to current_user",
            "revoke usage on schema pgonce from pgonce_installer")) {
      database.execute(loss);
      try (var connection = database.dataSource().getConnection()) {
        assertThat(Triggers.check(connection, channel))
            .singleElement()
            .asString()
            .contains("has lost owners or rights", loss.replaceAll(".*(pgonce_\\w+).*", "$1"));
        PgOnce.using(database.dataSource()).install(channel);
        assertThat(Triggers.check(connection, channel)).isEmpty();
      }
    }
  }
}
