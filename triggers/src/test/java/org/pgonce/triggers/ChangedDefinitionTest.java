package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.pgonce.ChannelOptions;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** A channel is defined otherwise than it is installed: its triggers become what they should be. */
@PgTest(PgOnceInstalled.class)
class ChangedDefinitionTest {

  private static final String TRIGGERS =
      "select coalesce(string_agg(tgname || ' ' || tgtype || case when tgdeferrable then ' deferred' else '' end, ', ' order by tgname), '-')"
          + " from pg_trigger where not tgisinternal and tgparentid = 0";
  private static final String FUNCTIONS =
      "select count(*) from pg_proc where proname like 'capture\\_%'";

  @BeforeEach
  void table(TestDatabase database) throws SQLException {
    database.execute("create table thing (id int primary key)");
  }

  private static TriggerChannelBuilder<RowChange<Object>> thing() {
    return TriggerChannel.changesOf("thing", Object.class).named("thing");
  }

  @Test
  void h83_eventsThatComeAndGoBringAndTakeTheirTriggers(TestDatabase database) throws Exception {
    assertInstalled(thing().afterInsert(), "pgonce_thing 4", database);
    assertInstalled(
        thing().afterInsert().afterDelete().afterTruncate(),
        "pgonce_thing 4, pgonce_thing:delete 8, pgonce_thing:trunc 32",
        database);
    assertThat(database.queryLong(FUNCTIONS)).isOne();
    database.execute("insert into thing values (1); delete from thing; truncate thing");
    assertThat(stored(database)).isEqualTo(3);
    assertInstalled(thing().afterUpdate(), "pgonce_thing 16", database);
    assertThat(database.queryLong(FUNCTIONS)).isOne();
    database.execute("insert into thing values (1); update thing set id = 2; delete from thing");
    assertThat(stored(database)).isEqualTo(4);
  }

  @Tag("all")
  @Test
  void h83_eachFormBecomesEachOther(TestDatabase database) throws Exception {
    var shapes =
        Map.of(
            TriggerForm.STATEMENT, "pgonce_thing 4",
            TriggerForm.ROW, "pgonce_thing 5",
            TriggerForm.DEFERRED, "pgonce_thing 5 deferred");
    var expected = 0;
    for (var from : TriggerForm.values()) {
      for (var to : TriggerForm.values()) {
        for (var form : List.of(from, to)) {
          assertInstalled(
              thing().afterInsert().form(form), Objects.requireNonNull(shapes.get(form)), database);
          database.execute("insert into thing values (" + expected + ")");
          assertThat(stored(database)).as(from + " to " + to).isEqualTo(++expected);
        }
      }
    }
  }

  /** It would fail every write: the function reads what a trigger of its form does not have. */
  @Tag("all")
  @Test
  void h83_aTriggerThatWasRenamedByHandGoesWhenAnotherFormComes(TestDatabase database)
      throws Exception {
    for (var from : TriggerForm.values()) {
      for (var to : TriggerForm.values()) {
        if (from == to) {
          continue;
        }
        PgOnce.using(database.dataSource()).install(thing().afterInsert().form(from).build());
        database.execute("truncate thing; alter trigger pgonce_thing on thing rename to mine");
        var before = database.queryString(TRIGGERS);
        var wanted = thing().afterInsert().form(to).build();
        try (var connection = database.dataSource().getConnection()) {
          assertThat(Triggers.plan(connection, wanted).changes())
              .extracting(Plan.Change::summary)
              .contains(
                  "drop trigger \"mine\" on public.thing, which runs the same function, and locks the table for a moment");
          var migration = Triggers.migration(connection, wanted);
          connection.setAutoCommit(false);
          connection.createStatement().execute(migration.up());
          connection.createStatement().execute(migration.down());
          connection.commit();
        }
        assertThat(database.queryString(TRIGGERS)).isEqualTo(before).startsWith("mine ");
        PgOnce.using(database.dataSource()).install(wanted);
        var stored = stored(database);
        database.execute("insert into thing values (1)");
        assertThat(stored(database)).as(from + " to " + to).isEqualTo(stored + 1);
        assertThat(database.queryString(TRIGGERS)).startsWith("pgonce_thing ");
      }
    }
  }

  @ParameterizedTest
  @EachForm
  void h83_eventsGoAndComeBackByAPrintedMigration(TriggerForm form, TestDatabase database)
      throws Exception {
    for (var former : List.of(thing().afterInsert(), thing().afterInsert().afterUpdate())) {
      PgOnce.using(database.dataSource()).install(former.form(form).build());
      var before = database.queryString(TRIGGERS);
      var wanted = thing().afterDelete().form(form).build();
      try (var connection = database.dataSource().getConnection()) {
        var migration = Triggers.migration(connection, wanted);
        connection.createStatement().execute(migration.up());
        assertThat(Triggers.check(connection, wanted)).isEmpty();
        database.execute("insert into thing values (1); delete from thing");
        assertThat(stored(database)).isOne();
        connection.createStatement().execute(migration.down());
        assertThat(Triggers.check(connection, former.build())).isEmpty();
      }
      assertThat(database.queryString(TRIGGERS)).isEqualTo(before);
      database.execute("insert into thing values (1); delete from thing");
      assertThat(stored(database)).isEqualTo(2);
      Triggers.drop(database.dataSource(), wanted);
      database.execute("select pgonce_private.clear_leftovers()");
    }
  }

  @Test
  void h83_aSecondTriggerOfTheSameFunctionGoesWithTheNextInstallation(TestDatabase database)
      throws Exception {
    var channel = thing().afterInsert().form(TriggerForm.ROW).build();
    PgOnce.using(database.dataSource()).install(channel);
    database.execute(
        "alter trigger pgonce_thing on thing rename to mine; create trigger pgonce_thing after insert on thing for each row execute function pgonce_triggers.capture_thing()");
    PgOnce.using(database.dataSource()).install(channel);
    database.execute("insert into thing values (1)");
    assertThat(stored(database)).isOne();
    assertThat(database.queryString(TRIGGERS)).isEqualTo("pgonce_thing 5");
  }

  @Test
  void example_aPlanShowsWhichTriggersComeAndGo(TestDatabase database) throws Exception {
    PgOnce.using(database.dataSource()).install(thing().afterInsert().build());
    try (var connection = database.dataSource().getConnection()) {
      assertThat(Triggers.plan(connection, thing().afterInsert().afterDelete().build()).changes())
          .extracting(Plan.Change::summary)
          .containsExactly(
              "replace function pgonce_triggers.\"capture_thing\"",
              "create trigger \"pgonce_thing:delete\" on public.thing, which locks the table against writers for a moment");
      assertThat(Triggers.plan(connection, thing().afterDelete().build()).changes())
          .extracting(Plan.Change::summary)
          .containsExactly(
              "replace function pgonce_triggers.\"capture_thing\"",
              "replace trigger \"pgonce_thing\" on public.thing, which locks the table against writers for a moment");
      assertThat(Triggers.check(connection, thing().afterDelete().build()))
          .contains(
              "channel thing: trigger \"pgonce_thing\" on table public.thing was made from another definition: install the channel again, unless this is the earlier of two releases that run side by side");
    }
  }

  /** Two channels of such names never come to the same function. */
  @Test
  void h30_aChannelIsNotTakenForAnothersEvent(TestDatabase database) throws Exception {
    assertInstalled(
        thing().afterInsert().afterDelete(),
        "pgonce_thing:delete 8, pgonce_thing:insert 4",
        database);
    PgOnce.using(database.dataSource())
        .install(thing().afterInsert().named("thing.insert").build());
    database.execute("insert into thing values (1)");
    assertThat(stored(database)).isEqualTo(2);
    assertInstalled(
        thing().afterDelete(), "pgonce_thing.insert 4, pgonce_thing:delete 8", database);
  }

  @Test
  void h09_aPartitionWhoseTriggerIsDisabledIsFound(TestDatabase database) throws Exception {
    database.execute("create table whole (id int primary key) partition by range (id)");
    database.execute(
        "create table part partition of whole for values from (0) to (9) partition by range (id)");
    database.execute("create table leaf partition of part default");
    var channel = TriggerChannel.on("whole", Object.class).afterInsert().build();
    PgOnce.using(database.dataSource()).install(channel);
    try (var connection = database.dataSource().getConnection()) {
      assertThat(Triggers.check(connection, channel)).isEmpty();
      database.execute("alter table leaf disable trigger pgonce_whole_inserted");
      assertThat(Triggers.check(connection, channel))
          .singleElement()
          .asString()
          .endsWith("ALTER TABLE public.leaf ENABLE TRIGGER \"pgonce_whole_inserted\"");
      database.execute("alter table leaf enable trigger pgonce_whole_inserted");
      assertThat(Triggers.check(connection, channel)).isEmpty();
    }
  }

  /** A row that is written to a partition by its own name too, and one that is attached later. */
  @Test
  void h09_everyPartitionFeedsTheChannel(TestDatabase database) throws Exception {
    database.execute("create table whole (id int primary key) partition by range (id)");
    database.execute("create table part partition of whole for values from (0) to (9)");
    var channel = TriggerChannel.on("whole", Object.class).afterInsert().build();
    PgOnce.using(database.dataSource()).install(channel);
    database.execute("create table later (id int primary key)");
    database.execute("alter table whole attach partition later for values from (9) to (99)");
    database.execute(
        "insert into part values (1); insert into later values (10); insert into whole values (2), (11)");
    assertThat(stored(database)).isEqualTo(4);
    database.execute("alter table whole detach partition later");
    database.execute("insert into later values (12)");
    assertThat(stored(database)).isEqualTo(4);
  }

  /** Its notifications come with the commit, and hold what the statement made of the row. */
  @Test
  void example_aDeferredTriggerFiresAtTheCommit(TestDatabase database) throws Exception {
    PgOnce.using(database.dataSource())
        .install(thing().afterInsert().form(TriggerForm.DEFERRED).build());
    try (var connection = database.dataSource().getConnection();
        var statement = connection.createStatement()) {
      connection.setAutoCommit(false);
      statement.execute("insert into thing values (1)");
      statement.execute("update thing set id = 2");
      try (var row =
          statement.executeQuery(
              "select count(*) from pgonce.notification where subscription_id > 0")) {
        row.next();
        assertThat(row.getLong(1)).isZero();
      }
      var before = connection.setSavepoint();
      assertThatThrownBy(() -> statement.execute("truncate thing"))
          .hasMessageContaining("pending trigger events");
      connection.rollback(before);
      connection.commit();
    }
    assertThat(
            database.queryString(
                "select payload -> 'new' ->> 'id' from pgonce.notification where subscription_id > 0"))
        .isEqualTo("1");
  }

  /** Writers are in the old functions meanwhile: what these store waits, and nothing is lost. */
  @ParameterizedTest
  @EachForm
  void whoWritesWhileAChannelBecomesABroadcastStoresByTheOldFunction(
      TriggerForm form, TestDatabase database) throws Exception {
    for (var builder :
        List.of(
            thing().afterInsert(),
            thing().afterInsert().deliveryKey("id").named("keyed"),
            thing()
                .afterInsert()
                .when("1 / new.id > 0")
                .unstorable(Unstorable.DEAD_LETTER)
                .named("buried"))) {
      PgOnce.using(database.dataSource()).install(builder.form(form).build());
    }
    try (var admin = database.dataSource().getConnection();
        var migration = admin.createStatement()) {
      admin.setAutoCommit(false);
      for (var name : List.of("thing", "keyed", "buried")) {
        migration.execute("select pgonce.change_mode('%s', 'BROADCAST')".formatted(name));
      }
      var writers =
          Stream.of(0, 1)
              .map(id -> inBackground("insert into thing values (" + id + ")", database))
              .toList();
      await()
          .atMost(Duration.ofSeconds(20))
          .until(() -> database.queryLong(WAITING) == writers.size());
      // The others have their functions still.
      Triggers.apply(admin, thing().afterInsert().form(form).mode(Mode.BROADCAST).build());
      admin.commit();
      for (var writer : writers) {
        writer.get(20, TimeUnit.SECONDS);
      }
    }
    // The first waited in the function of keyed, the second in that of buried.
    var waiting = "buried 1 1, keyed 1 0, thing 0 0";
    assertThat(database.queryString(BACKLOGS)).isEqualTo(waiting);
    database.execute("insert into thing values (2)");
    assertThat(database.queryLong("select count(*) from thing")).isEqualTo(3);
    assertThat(database.queryString(BACKLOGS)).as("none of a broadcast").isEqualTo(waiting);

    database.execute("select pgonce.change_mode('thing', 'AT_LEAST_ONCE')");
    PgOnce.using(database.dataSource())
        .install(thing().afterInsert().form(form).mode(Mode.AT_LEAST_ONCE).build());
    database.execute("insert into thing values (3)");
    assertThat(database.queryString(BACKLOGS)).startsWith("buried 1 1, keyed 1 0, thing 1 0");
  }

  /** It waits where the person on call sees it, and is handled when the channel stores again. */
  @Test
  void whoHasAnOlderSnapshotStillStoresForABroadcast(TestDatabase database) throws Exception {
    PgOnce.using(database.dataSource()).install(thing().afterInsert().build());
    try (var connection = database.dataSource().getConnection();
        var writer = connection.createStatement()) {
      writer.execute("begin isolation level repeatable read");
      writer.execute("select count(*) from thing");
      database.execute("select pgonce.change_mode('thing', 'BROADCAST')");
      writer.execute("insert into thing values (1)");
      writer.execute("commit");
    }
    assertThat(database.queryLong("select backlog from pgonce.channel_status")).isOne();
    database.execute("select pgonce.change_mode('thing', 'EXACTLY_ONCE')");
    assertThat(database.queryLong("select backlog from pgonce.channel_status")).isOne();
  }

  @Test
  void anInstallationBesideAChangeOfModeIsRefused(TestDatabase database) throws Exception {
    var channel = thing().afterInsert().build();
    PgOnce.using(database.dataSource()).install(channel);
    try (var connection = database.dataSource().getConnection();
        var operator = connection.createStatement()) {
      operator.execute("begin; select pgonce.pause('thing', 'why')");
      var change = inBackground("select pgonce.change_mode('thing', 'AT_LEAST_ONCE')", database);
      awaitBlocked(1, database);
      var install =
          CompletableFuture.runAsync(
              () -> PgOnce.using(database.dataSource()).install(channel),
              task -> new Thread(task).start());
      awaitBlocked(2, database);
      operator.execute("rollback");
      change.get(30, TimeUnit.SECONDS);
      assertThatThrownBy(() -> install.get(30, TimeUnit.SECONDS))
          .hasMessageContaining("is installed with mode AT_LEAST_ONCE, not EXACTLY_ONCE");
    }
  }

  private static void awaitBlocked(int sessions, TestDatabase database) {
    await()
        .atMost(Duration.ofSeconds(30))
        .until(
            () ->
                database.queryLong(
                        "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'")
                    == sessions);
  }

  @Test
  void anInstallationMendsWhatOneBesideAChangeOfModeHasLeft(TestDatabase database)
      throws Exception {
    var channel = thing().afterInsert().build();
    PgOnce.using(database.dataSource()).install(channel);
    database.execute("update pgonce.subscription set of_channel = null where id > 0");
    PgOnce.using(database.dataSource()).install(channel);
    database.execute("insert into thing values (1)");
    assertThat(database.queryLong("select backlog from pgonce.channel_status")).isOne();
  }

  private static final String WAITING =
      "select count(*) from pg_locks where locktype = 'relation' and relation = 'pgonce.notification'::regclass and not granted";
  private static final String BACKLOGS =
      "select string_agg(concat_ws(' ', channel, backlog, dead_letters), ', ' order by channel) from pgonce.channel_status";

  private static CompletableFuture<Void> inBackground(String sql, TestDatabase database) {
    return CompletableFuture.runAsync(
        () -> {
          try {
            database.execute(sql);
          } catch (SQLException e) {
            throw new IllegalStateException(e);
          }
        });
  }

  private static void assertInstalled(
      TriggerChannelBuilder<?> builder, String triggers, TestDatabase database) throws Exception {
    var channel = builder.build();
    PgOnce.using(database.dataSource()).install(channel);
    assertThat(database.queryString(TRIGGERS)).isEqualTo(triggers);
    try (var connection = database.dataSource().getConnection()) {
      assertThat(Triggers.check(connection, channel)).isEmpty();
      assertThat(Triggers.plan(connection, channel).isEmpty()).isTrue();
    }
  }

  private static long stored(TestDatabase database) throws SQLException {
    return database.queryLong("select count(*) from pgonce.notification where subscription_id > 0");
  }

  @Test
  void h83_theWayBackOfAChannelWithoutSubscriptions(TestDatabase database) throws Exception {
    var channel = thing().afterInsert().build();
    PgOnce.using(database.dataSource()).install(channel);
    database.execute("select pgonce.drop_subscription('thing', 'default')");
    Migration printed;
    try (var connection = database.dataSource().getConnection()) {
      printed = Triggers.migration(connection, channel);
    }
    database.execute(printed.up());
    database.execute(printed.down());
    assertThat(database.queryLong("select count(*) from pgonce.subscription")).isZero();
    assertThat(database.queryLong("select count(*) from pgonce.channel")).isOne();
  }

  /** Or it would be stored for again. */
  @Test
  void h83_aMigrationWithAnOlderSnapshotThanADropFails(TestDatabase database) throws Exception {
    var options = ChannelOptions.DEFAULT;
    PgOnce.using(database.dataSource())
        .install(thing().afterInsert().options(options.withSubscriptions("one", "two")).build());
    var next = thing().afterInsert().options(options.withSubscriptions("two", "three")).build();
    try (var migration = database.dataSource().getConnection();
        var statement = migration.createStatement()) {
      migration.setAutoCommit(false);
      migration.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
      statement.execute("select 1 from thing");
      database.execute("select pgonce.drop_subscription('thing', 'one')");
      assertThatThrownBy(() -> statement.execute(Migration.of(next).up()))
          .hasMessageContaining("could not serialize access");
    }
  }
}
