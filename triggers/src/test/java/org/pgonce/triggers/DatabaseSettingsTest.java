package org.pgonce.triggers;

import static java.util.concurrent.TimeUnit.SECONDS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.awaitility.Awaitility.await;

import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.KeyOrder;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import tools.jackson.databind.JsonNode;

/** H77: whatever a database has as its defaults, pgonce installs, finds no drift, and works. */
@Tag("versions")
@PgTest
class DatabaseSettingsTest {

  private static final Duration BOUND = Duration.ofSeconds(60);

  private static final ChannelOptions ORDERED =
      ChannelOptions.DEFAULT.withOrder(KeyOrder.DEAD_LETTER_BLOCKS);
  private static final Channel<String> PUBLISHED = Channel.of("published", String.class);
  private static final List<TriggerChannel<?>> FED =
      List.of(
          rows(TriggerForm.STATEMENT).named("per_statement").build(),
          rows(TriggerForm.ROW).named("per_row").build(),
          rows(TriggerForm.DEFERRED).named("deferred").build(),
          rows(TriggerForm.STATEMENT).columns("name").deliveryKey("id").named("keyed").build(),
          rows(TriggerForm.ROW)
              .orderKey("name")
              .options(ORDERED)
              .mode(Mode.AT_LEAST_ONCE)
              .named("leased")
              .build(),
          rows(TriggerForm.ROW).primaryKeyOnly().named("key_only").build(),
          rows(TriggerForm.STATEMENT).withoutColumns("born").named("without").build(),
          TriggerChannel.computed("author", JsonNode.class, "new.name || '\\n'")
              .afterInsert()
              .when("new.name <> '\\'")
              .dueAt("now()")
              .named("computed")
              .build(),
          TriggerChannel.changesOf("author", JsonNode.class)
              .afterInsert()
              .afterUpdate()
              .onlyIfChanged("name")
              .afterDelete()
              .unstorable(Unstorable.FAIL_WRITE)
              .named("changes")
              .build());

  private static TriggerChannelBuilder<JsonNode> rows(TriggerForm form) {
    return TriggerChannel.on("author", JsonNode.class).afterInsert().form(form);
  }

  enum Defaults {
    STRICT(
        "quote_all_identifiers = on",
        "plpgsql.extra_errors = 'all'",
        "plpgsql.extra_warnings = 'all'",
        "default_transaction_isolation = 'serializable'",
        "default_transaction_deferrable = on",
        "standard_conforming_strings = off",
        "DateStyle = 'German, DMY'",
        "IntervalStyle = 'sql_standard'",
        "TimeZone = 'Asia/Kathmandu'",
        "bytea_output = 'escape'",
        "extra_float_digits = -15"),
    LAX(
        "quote_all_identifiers = on",
        "check_function_bodies = off",
        "client_min_messages = 'error'",
        "default_transaction_isolation = 'repeatable read'",
        "array_nulls = off",
        "transform_null_equals = on",
        "default_statistics_target = 1",
        "random_page_cost = 1000",
        "DateStyle = 'SQL, MDY'",
        "IntervalStyle = 'postgres_verbose'");

    private final String settings;

    Defaults(String... settings) {
      this.settings = String.join("\n", settings);
    }

    void set(TestDatabase database) throws SQLException {
      for (var setting : settings.lines().toList()) {
        database.execute("alter database %s set %s".formatted(database.name(), setting));
      }
    }
  }

  private static TriggerChannel<?>[] fed() {
    return FED.toArray(TriggerChannel<?>[]::new);
  }

  private static Channel<?>[] all() {
    var all = new Channel<?>[FED.size() + 1];
    all[0] = PUBLISHED;
    System.arraycopy(fed(), 0, all, 1, FED.size());
    return all;
  }

  @ParameterizedTest
  @EnumSource(Defaults.class)
  @Tag("all")
  void h77_itInstallsFindsNoDriftAndWorks(Defaults defaults, TestDatabase database)
      throws Exception {
    createTable(database);
    defaults.set(database);
    PgOnce.using(database.dataSource()).install(all());
    assertNoDrift(database);
    assertWorks(database);
    PgOnce.using(database.dataSource()).install(all());
    Triggers.drop(database.dataSource(), fed());
    database.execute(Migration.ofSchema().down());
  }

  @ParameterizedTest
  @EnumSource(Defaults.class)
  @Tag("all")
  void h77_soDoMigrationsUpAndDown(Defaults defaults, TestDatabase database) throws Exception {
    createTable(database);
    defaults.set(database);
    database.execute(Migration.ofSchema().up());
    var former = rows(TriggerForm.ROW).named("per_statement").build();
    database.execute(Migration.of(former).up());
    Migration printed;
    try (var connection = database.dataSource().getConnection()) {
      assertThat(Triggers.check(connection, former)).isEmpty();
      printed = Triggers.migration(connection, all());
    }
    database.execute(printed.up());
    assertNoDrift(database);
    assertWorks(database);

    database.execute(printed.down());
    try (var connection = database.dataSource().getConnection()) {
      assertThat(Triggers.check(connection, former)).isEmpty();
    }
    database.execute(Migration.ofSchema().down());
  }

  /** Whatever the default, it does not go by a snapshot from before it waited. */
  @ParameterizedTest
  @EnumSource(Defaults.class)
  void h83_theWayBackSeesWhatIsCommittedWhileItWaits(Defaults defaults, TestDatabase database)
      throws Exception {
    defaults.set(database);
    PgOnce.using(database.dataSource()).install(PUBLISHED);
    for (var way : List.of(Migration.of(PUBLISHED), Migration.ofSchema())) {
      // Where the writer was too slow for its patience, it is tried again.
      await()
          .atMost(BOUND)
          .untilAsserted(
              () ->
                  assertThat(failureBesideAWriter(database, way))
                      .contains("still holds notifications: 1 waiting"));
    }
  }

  private static String failureBesideAWriter(TestDatabase database, Migration way)
      throws Exception {
    database.execute("delete from pgonce.notification");
    try (var writer = database.dataSource().getConnection()) {
      writer.setAutoCommit(false);
      PgOnce.using(database.dataSource()).publisher().publish(writer, PUBLISHED, "open");
      var back =
          new FutureTask<>(
              () -> {
                database.execute(way.down());
                return way;
              });
      new Thread(back).start();
      await()
          .atMost(BOUND)
          .pollInterval(Duration.ofMillis(5))
          .until(
              () ->
                  back.isDone()
                      || database.queryLong(
                              "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'")
                          == 1);
      writer.commit();
      return catchThrowable(() -> back.get(60, SECONDS)).getMessage();
    }
  }

  /** Installed under one set of defaults, and looked at under another. */
  @Tag("all")
  @Test
  void h77_driftIsComparedByMeaning(TestDatabase database) throws Exception {
    createTable(database);
    Defaults.STRICT.set(database);
    database.execute(Migration.ofSchema().up());
    try (var connection = database.dataSource().getConnection()) {
      database.execute(Triggers.migration(connection, all()).up());
    }
    assertNoDrift(database);
    database.execute("alter database %s reset all".formatted(database.name()));
    assertNoDrift(database);
    database.execute(
        "alter function pgonce_triggers.\"capture_per_row\"() set search_path = \"pg_catalog, pg_temp\"");
    try (var connection = database.dataSource().getConnection()) {
      assertThat(Triggers.check(connection, fed()))
          .as("one schema of such a name is another path")
          .singleElement()
          .asString()
          .contains("was changed after it was installed");
    }
  }

  private static void createTable(TestDatabase database) throws SQLException {
    database.execute(
        "create table author (id bigint primary key, name text, born date, score float8)");
  }

  private static void assertNoDrift(TestDatabase database) throws SQLException {
    try (var connection = database.dataSource().getConnection()) {
      assertThat(Triggers.check(connection, fed())).isEmpty();
      var plan = Triggers.plan(connection, fed());
      assertThat(plan.changes()).isEmpty();
      assertThat(plan.obstacles()).isEmpty();
      assertThat(Triggers.migration(connection, all()).isEmpty()).isTrue();
      assertThat(Triggers.orphans(connection, all())).isEmpty();
    }
  }

  /** Each first attempt fails where there is another. */
  private static <T> void listen(
      PgOnce pgonce, TriggerChannel<T> channel, Set<String> handled, Set<String> failed) {
    pgonce.listen(
        channel,
        (row, tx) -> {
          if (failed.add(channel.name())) {
            throw new IllegalStateException("not yet");
          }
          handled.add(channel.name());
        });
  }

  private static void assertWorks(TestDatabase database) throws SQLException {
    Set<String> handled = ConcurrentHashMap.newKeySet();
    Set<String> failed = ConcurrentHashMap.newKeySet();
    var pool = database.pooled(10);
    try (var pgonce = PgOnce.builder(pool).pollInterval(Duration.ofMillis(200)).build()) {
      for (var channel : FED) {
        listen(pgonce, channel, handled, failed);
      }
      pgonce.listen(PUBLISHED, (text, tx) -> handled.add(text.payload()));
      pgonce.start();
      database.execute(
          "insert into author values (1, 'Ann', '2000-02-01', 0.1), (2, 'Bob', null, null)");
      database.execute("update author set name = 'Eve' where id = 1");
      database.execute("delete from author");
      database.execute("select pgonce.publish('published', '\"at once\"')");
      database.execute(
          "select pgonce.publish('published', '\"later\"', delay => '100 ms', delivery_key => 'k')");
      database.execute("select pgonce.pause('published', 'a look at it')");
      database.execute("select pgonce.publish('published', '\"paused\"')");
      database.execute("select pgonce.resume('published', 'looked at')");
      for (var channel : all()) {
        if (!channel.equals(PUBLISHED)) {
          await(channel.name()).atMost(BOUND).until(() -> handled.contains(channel.name()));
        }
      }
      await().atMost(BOUND).until(() -> handled.containsAll(List.of("at once", "later", "paused")));
      await()
          .atMost(BOUND)
          .until(
              () ->
                  database.queryLong(
                          "select count(*) from pgonce.channel_status where backlog + scheduled > 0")
                      == 0);
      assertThat(database.queryString("select string_agg(error, ', ') from pgonce.dead_letter"))
          .isNull();
    }
  }
}
