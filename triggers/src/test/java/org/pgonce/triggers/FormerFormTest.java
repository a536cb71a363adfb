package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.pgonce.PgOnce;
import org.pgonce.PgOnceException;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/**
 * Triggers as a former library made them: their functions lie in schema pgonce, belong to
 * pgonce_owner, and look the channel's subscriptions up in each call.
 */
@PgTest
class FormerFormTest {

  record Author(long id, String name) {}

  private static final TriggerChannel<Author> ADDED =
      TriggerChannel.on("author", Author.class).afterInsert().build();

  private static final Duration SOON = Duration.ofSeconds(20);
  // As docs/migrations.md has it, and a machine that does other things as well.
  private static final Duration BOUND = Duration.ofMillis(1500).plus(Duration.ofSeconds(3));

  private static final String FORMER =
      """
      set role pgonce_owner;
      create function pgonce.capture_author_inserted() returns trigger language plpgsql security definer
      set search_path = pg_catalog, pg_temp set "TimeZone" = 'UTC'
      as $$
      declare
        writer_context constant jsonb := case when current_setting('pgonce.context', true) <> '' then pgonce.current_context() end;
      begin
        insert into pgonce.notification (subscription_id, id, payload, context)
        select s.id, nextval('pgonce.notification_id'), row_to_json(n), writer_context
          from new_rows n cross join pgonce.subscription s
         where s.of_channel = 'author_inserted' and (s.filter is null or writer_context @> s.filter);
        if found then
          perform pgonce.wake_up('author_inserted');
        end if;
        return null;
      end
      $$;
      revoke all on function pgonce.capture_author_inserted() from public;
      comment on function pgonce.capture_author_inserted() is 'pgonce: trigger after insert on author, EXACTLY_ONCE, definition 0123456789ab';
      reset role;
      create trigger pgonce_author_inserted after insert on author
        referencing new table as new_rows for each statement execute function pgonce.capture_author_inserted();
      """;

  private static final String FUNCTIONS =
      """
      select coalesce(string_agg(n.nspname || '.' || p.proname || ' of ' || p.proowner::regrole || ' with '
               || (select count(*) from pg_trigger t where t.tgfoid = p.oid) || ' trigger', ', '), '')
        from pg_proc p join pg_namespace n on n.oid = p.pronamespace where p.proname like 'capture\\_%'
      """;

  @BeforeEach
  void former(TestDatabase database) throws SQLException {
    database.execute("create table author (id bigint not null, name text)");
    PgOnce.using(database.dataSource()).install(ADDED);
    database.execute("drop function pgonce_triggers.capture_author_inserted() cascade");
    database.execute(FORMER);
  }

  private static String former() {
    return "pgonce.capture_author_inserted of pgonce_owner with 1 trigger";
  }

  private static String present(String owner) {
    return "pgonce_triggers.capture_author_inserted of " + owner + " with 1 trigger";
  }

  @Test
  void h83_itIsFoundAndToldWhatBecomesOfIt(TestDatabase database) throws Exception {
    try (var connection = database.dataSource().getConnection()) {
      assertThat(Triggers.check(connection, ADDED))
          .anyMatch(it -> it.contains("capture_author_inserted") && it.contains("install the"));
      assertThat(Triggers.plan(connection, ADDED).changes())
          .extracting(Plan.Change::summary)
          .containsExactly(
              "drop function pgonce.\"capture_author_inserted\" and its trigger, which locks the table for a moment",
              "create function pgonce_triggers.\"capture_author_inserted\"",
              "create trigger \"pgonce_author_inserted\" on public.author, which locks the table against writers for a moment");
      assertThat(Triggers.orphans(connection, ADDED)).isEmpty();
      assertThat(Triggers.orphans(connection))
          .singleElement()
          .asString()
          .contains("\"pgonce_author_inserted\" on public.author");
    }
  }

  /** A row that waits, one whose transaction is open, and those that are written meanwhile. */
  @Test
  void h83_installingReplacesItAndEveryRowIsHandledOnce(TestDatabase database) throws Exception {
    database.execute("insert into author values (1000001, 'waits')");
    var handled = new CopyOnWriteArrayList<Long>();
    try (var pgonce = PgOnce.using(database.pooled(4));
        var writers = new BusyWriters(database, List.of("author"), 2, 0, 1);
        var open = begin(database, "insert into author values (1000002, 'open')")) {
      await().atMost(SOON).until(() -> writers.written() > 50);
      var install =
          CompletableFuture.runAsync(() -> PgOnce.using(database.dataSource()).install(ADDED));
      awaitWaitFor(database);
      open.commit();
      install.join();
      assertThat(writers.longestWait()).isLessThan(BOUND);
      assertThat(database.queryString(FUNCTIONS)).isEqualTo(present(database.user()));
      var written = writers.written();
      await().atMost(SOON).until(() -> writers.written() > written + 50);
      assertThat(writers.failures()).isEmpty();
      writers.close();
      database.execute("insert into author values (1000003, 'after')");

      var stored = database.queryLong("select backlog from pgonce.channel_status");
      pgonce.listen(ADDED, (author, tx) -> handled.add(author.payload().id())).start();
      await().atMost(SOON).until(() -> handled.size() >= stored);
      assertThat(handled).hasSize((int) stored);
    }
    assertThat(handled.stream().filter(id -> id > 1000000))
        .containsExactlyInAnyOrder(1000001L, 1000002L, 1000003L);
    assertThat(
            database.queryLong(
                "select count(*) from pgonce.notification where subscription_id > 0"))
        .isZero();
    try (var connection = database.dataSource().getConnection()) {
      assertThat(Triggers.check(connection, ADDED)).isEmpty();
      assertThat(Triggers.plan(connection, ADDED)).hasToString("nothing to do\n");
    }
  }

  @Test
  void h84_whereTheTableIsInUseItStaysAndWritersGoOn(TestDatabase database) throws Exception {
    try (var open = begin(database, "insert into author values (1, 'open')");
        var writers = new BusyWriters(database, List.of("author"), 2, 0, 1)) {
      assertThatThrownBy(() -> PgOnce.using(database.dataSource()).install(ADDED))
          .isInstanceOf(PgOnceException.class)
          .hasMessageContaining("table public.author is in use");
      assertThat(writers.longestWait()).isLessThan(BOUND);
      assertThat(writers.failures()).isEmpty();
      open.rollback();
    }
    assertThat(database.queryString(FUNCTIONS)).isEqualTo(former());
    PgOnce.using(database.dataSource()).install(ADDED);
    assertThat(database.queryString(FUNCTIONS)).isEqualTo(present(database.user()));
  }

  @Test
  void h83_whoMayNotDropItIsToldWhatIsMissing(TestDatabase database) throws Exception {
    var login = database.loginRole("deployer", "pgonce_admin");
    database.execute("alter table author owner to " + login.user());
    assertThatThrownBy(() -> PgOnce.using(login.dataSource()).install(ADDED))
        .isInstanceOf(PgOnceException.class)
        .hasMessageContaining("function pgonce.capture_author_inserted() belongs to pgonce_owner")
        .hasMessageContaining("GRANT pgonce_owner TO " + login.user());
    assertThat(database.queryString(FUNCTIONS)).isEqualTo(former());

    database.execute("grant pgonce_owner to " + login.user());
    PgOnce.using(login.dataSource()).install(ADDED);
    assertThat(database.queryString(FUNCTIONS)).isEqualTo(present(login.user()));
  }

  @Test
  void h83_aMigrationReplacesItAndItsWayBackBringsItAgain(
      TestDatabase database, @TempDir Path directory) throws Exception {
    var scene = MigrationScene.of(database, directory);
    var before = scene.state();
    Migration migration;
    try (var connection = database.dataSource().getConnection()) {
      migration = Triggers.migration(connection, ADDED);
    }
    database.execute(migration.up());
    assertThat(database.queryString(FUNCTIONS)).isEqualTo(present(database.user()));
    database.execute(migration.down());
    assertThat(scene.state()).isEqualTo(before);
    database.execute("insert into author values (1, 'Ann')");
    assertThat(database.queryLong("select backlog from pgonce.channel_status")).isEqualTo(1);
  }

  /** Each channel is installed in a transaction of its own. */
  @Test
  void h83_itFeedsItsChannelWhileOthersAreInstalled(TestDatabase database) throws Exception {
    var other = TriggerChannel.on("author", Author.class).afterInsert().named("other").build();
    PgOnce.using(database.dataSource()).install(other);
    database.execute("insert into author values (1, 'Ann')");
    assertThat(
            database.queryString(
                "select string_agg(channel || ' ' || backlog, ', ' order by channel) from pgonce.channel_status"))
        .isEqualTo("author_inserted 1, other 1");
  }

  @Test
  void h83_droppingTheChannelDropsIt(TestDatabase database) throws Exception {
    Triggers.drop(database.dataSource(), ADDED);
    assertThat(database.queryString(FUNCTIONS)).isEmpty();
    assertThat(database.queryLong("select count(*) from pgonce.channel")).isZero();
    database.execute("insert into author values (1, 'Ann')");
  }

  @Test
  void h83_asAnOrphanItIsDroppedToo(TestDatabase database) throws Exception {
    List<Orphan> orphans;
    try (var connection = database.dataSource().getConnection()) {
      orphans = Triggers.orphans(connection);
    }
    Triggers.dropOrphans(database.dataSource(), orphans);
    assertThat(database.queryString(FUNCTIONS)).isEmpty();
  }

  private static void awaitWaitFor(TestDatabase database) {
    await()
        .atMost(SOON)
        .until(
            () ->
                database.queryLong(
                        "select count(*) from pg_locks where not granted and mode = 'AccessExclusiveLock'")
                    > 0);
  }

  private static Connection begin(TestDatabase database, String sql) throws SQLException {
    var connection = database.dataSource().getConnection();
    connection.setAutoCommit(false);
    try (var statement = connection.createStatement()) {
      statement.execute(sql);
    }
    return connection;
  }
}
