package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import javax.sql.DataSource;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.pgonce.Channel;
import org.pgonce.PgOnce;
import org.pgonce.PgOnceException;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** What definitions have left behind is found, told and, on request, dropped; nothing else is. */
@PgTest(PgOnceInstalled.class)
class OrphanTest {

  record Author(long id, String name) {}

  private static final TriggerChannel<Author> KEPT =
      TriggerChannel.on("author", Author.class).afterInsert().named("kept").build();
  private static final TriggerChannel<Author> OLD =
      TriggerChannel.on("author", Author.class).afterInsert().named("old").build();
  private static final Channel<String> PUBLISHED = Channel.of("published", String.class);

  @BeforeEach
  void install(TestDatabase database) throws SQLException {
    database.execute("create table author (id bigint not null, name text)");
    PgOnce.using(database.dataSource()).install(KEPT, OLD, PUBLISHED);
  }

  @Test
  void example_channelsThatNobodyDefinesAnyMoreAreToldAndDropped(TestDatabase database)
      throws Exception {
    database.execute("insert into author values (1, 'Ann'), (2, 'Bob')");
    database.execute(
        "insert into pgonce.dead_letter (subscription_id, id, attempts, created_at, reason, error, payload)"
            + " select s.id, 1, 1, now(), 'REJECTED', 'no', '{}' from pgonce.subscription s join pgonce.channel c on c.id = s.channel_id where c.name = 'old'");

    var orphans = orphans(database);
    assertThat(orphans)
        .singleElement()
        .hasToString(
            "channel old (trigger on author) is in no definition, trigger \"pgonce_old\" on public.author: 2 waiting, 0 scheduled, 1 dead letters");
    assertThat(orphans.get(0).held()).isEqualTo(3);

    Triggers.dropOrphans(database.dataSource(), orphans);
    assertThat(orphans(database)).isEmpty();
    try (var connection = database.dataSource().getConnection()) {
      assertThat(Triggers.check(connection, KEPT)).isEmpty();
    }
    assertThat(database.queryLong("select count(*) from pgonce.channel")).isEqualTo(2);
    assertThat(
            database.queryLong(
                "select concerned from pgonce.operation_log where what = 'DROP' and channel = 'old'"))
        .isEqualTo(3);
    Triggers.dropOrphans(database.dataSource(), orphans);
  }

  @Test
  void h83_aChannelWhoseTriggerIsGoneIsFound(TestDatabase database) throws Exception {
    database.execute("drop function pgonce_triggers.capture_old cascade");
    assertThat(orphans(database))
        .singleElement()
        .hasToString(
            "channel old (trigger on author) is in no definition, whose trigger is gone: 0 waiting, 0 scheduled, 0 dead letters");
    Triggers.dropOrphans(database.dataSource(), orphans(database));
    assertThat(orphans(database)).isEmpty();
  }

  @Test
  void h83_functionsOfNoChannelAreFound(TestDatabase database) throws Exception {
    database.execute("drop trigger pgonce_old on author; select pgonce.drop_channel('old')");
    assertThat(orphans(database))
        .singleElement()
        .hasToString(
            "channel old is not installed, function without a trigger pgonce_triggers.\"capture_old\"");

    Triggers.dropOrphans(database.dataSource(), orphans(database));
    assertThat(orphans(database)).isEmpty();
    assertThat(database.queryString("select to_regproc('pgonce_triggers.capture_old')::text"))
        .isNull();
  }

  /** Without the channel, each write to the table would fail. */
  @Test
  void h10_aChannelIsNotDroppedWhileATriggerStoresIntoIt(TestDatabase database) throws Exception {
    var how =
        "BEGIN; SET LOCAL lock_timeout = '800ms'; DROP FUNCTION pgonce_triggers.capture_old() CASCADE; SELECT pgonce.drop_channel('old'); COMMIT;";
    assertThatThrownBy(() -> database.execute("select pgonce.drop_channel('old')"))
        .hasMessageContaining("trigger pgonce_old of table public.author stores into it")
        .hasMessageContaining(how);
    assertThatThrownBy(
            () -> database.execute("select pgonce.drop_channels(array['published', 'old'])"))
        .hasMessageContaining("channel \"old\" was not dropped");
    database.execute("alter table author disable trigger pgonce_old");
    assertThatThrownBy(() -> database.execute("select pgonce.drop_channel('old')"))
        .hasMessageContaining("channel \"old\" was not dropped");
    database.execute(how);
    database.execute("insert into author values (1, 'Ann')");
    assertThat(orphans(database)).isEmpty();
  }

  @Test
  void h83_whatIsNotPgoncesIsNeitherFoundNorDropped(TestDatabase database) throws Exception {
    database.execute(
        """
        create function pgonce_triggers.capture_mine() returns trigger language plpgsql as 'begin return null; end';
        create function public.capture_old() returns trigger language plpgsql as 'begin return null; end';
        create function pgonce_triggers."capture_old:mine"() returns trigger language plpgsql as 'begin return null; end';
        create trigger pgonce_mine after insert on author for each row execute function pgonce_triggers.capture_mine();
        create trigger pgonce_old2 after insert on author for each row execute function public.capture_old();
        create trigger mine after insert on author for each row execute function pgonce_triggers."capture_old:mine"()
        """);
    assertThat(orphans(database)).extracting(Orphan::channel).containsExactly("old");

    Triggers.dropOrphans(database.dataSource(), orphans(database));

    assertThat(
            database.queryString(
                "select string_agg(tgname, ' ' order by tgname) from pg_trigger where not tgisinternal"))
        .isEqualTo("mine pgonce_kept pgonce_mine pgonce_old2");
  }

  @Test
  void h83_whatCameAfterItWasToldIsNotLost(TestDatabase database) throws Exception {
    var orphans = orphans(database);
    database.execute("insert into author values (1, 'Ann')");

    assertThatThrownBy(() -> Triggers.dropOrphans(database.dataSource(), orphans))
        .isInstanceOf(PgOnceException.class)
        .hasMessageContaining(
            "holds 1 notifications, dead letters included, and was said to hold 0");
    try (var connection = database.dataSource().getConnection()) {
      assertThat(Triggers.check(connection, OLD)).isEmpty();
    }
    assertThat(orphans(database)).singleElement().matches(orphan -> orphan.held() == 1);
  }

  @Test
  void h83_whatWasInstalledMeanwhileIsKept(TestDatabase database) throws Exception {
    database.execute("drop trigger pgonce_old on author; select pgonce.drop_channel('old')");
    var orphans = orphans(database);
    PgOnce.using(database.dataSource()).install(OLD);

    assertThatThrownBy(() -> Triggers.dropOrphans(database.dataSource(), orphans))
        .isInstanceOf(PgOnceException.class)
        .hasMessageContaining("was installed since it was looked at");
    try (var connection = database.dataSource().getConnection()) {
      assertThat(Triggers.check(connection, OLD)).isEmpty();
    }
  }

  private interface Drop {
    void run(DataSource dataSource) throws SQLException;
  }

  /** Between the two transactions of a drop, and while the second waits for who installs. */
  @ParameterizedTest
  @ValueSource(strings = {"installed", "installing"})
  void h83_whatIsInstalledBetweenTheTriggersAndTheChannelIsKept(String what, TestDatabase database)
      throws Exception {
    var orphans = orphans(database);
    for (Drop drop :
        List.<Drop>of(
            source -> Triggers.dropOrphans(source, orphans),
            source -> Triggers.drop(source, OLD))) {
      try (var installing = database.dataSource().getConnection()) {
        installing.setAutoCommit(false);
        var others = new ArrayList<CompletableFuture<?>>();
        var source =
            new BeforeTheSecond(
                database.dataSource(),
                () -> {
                  Triggers.apply(installing, OLD);
                  if (what.equals("installed")) {
                    installing.commit();
                  } else {
                    others.add(
                        CompletableFuture.runAsync(
                            () -> commitWhenWaitedFor(database, installing)));
                  }
                });
        assertThatThrownBy(() -> drop.run(source.proxy()))
            .isInstanceOf(SQLException.class)
            .hasMessageContaining("channel \"old\" was not dropped")
            .hasMessageContaining("If it was installed again meanwhile, stop whoever does that");
        for (var other : others) {
          other.get(30, TimeUnit.SECONDS);
        }
      }
      try (var connection = database.dataSource().getConnection()) {
        assertThat(Triggers.check(connection, OLD)).isEmpty();
      }
      var before = orphans(database).get(0).held();
      database.execute("insert into author values (1, 'Ann')");
      assertThat(orphans(database).get(0).held()).isEqualTo(before + 1);
      database.execute("delete from pgonce.notification where subscription_id > 0");
    }
  }

  private static void commitWhenWaitedFor(TestDatabase database, Connection installing) {
    Awaitility.await()
        .until(() -> database.queryLong("select count(*) from pg_locks where not granted") > 0);
    try {
      installing.commit();
    } catch (SQLException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Does something before the second connection is handed out. */
  private record BeforeTheSecond(DataSource source, Work work, AtomicInteger handedOut) {

    interface Work {
      void run() throws SQLException;
    }

    BeforeTheSecond(DataSource source, Work work) {
      this(source, work, new AtomicInteger());
    }

    DataSource proxy() {
      return (DataSource)
          Proxy.newProxyInstance(
              OrphanTest.class.getClassLoader(),
              new Class<?>[] {DataSource.class},
              (self, method, arguments) -> {
                if (method.getName().equals("getConnection") && handedOut.incrementAndGet() == 2) {
                  work.run();
                }
                return method.invoke(source, arguments);
              });
    }
  }

  @Test
  void h84_anOrphanIsDroppedInShortTriesWhileOthersWrite(TestDatabase database) throws Exception {
    try (var writer = database.dataSource().getConnection();
        var statement = writer.createStatement()) {
      writer.setAutoCommit(false);
      statement.execute("update author set name = name");
      var orphans = orphans(database);
      var drop =
          CompletableFuture.runAsync(
              () -> {
                try {
                  Triggers.dropOrphans(database.dataSource(), orphans);
                } catch (SQLException e) {
                  throw new IllegalStateException(e);
                }
              });
      Awaitility.await()
          .until(
              () ->
                  database.queryLong(
                          "select count(*) from pg_locks where not granted and mode = 'AccessExclusiveLock'")
                      > 0);
      // It steps back, and who came behind it passes.
      database.execute("delete from author");
      assertThat(drop).isNotDone();
      writer.commit();
      drop.get(30, TimeUnit.SECONDS);
    }
    assertThat(orphans(database)).isEmpty();
  }

  @Test
  void worksThroughPgjdbcNgToo(TestDatabase database) throws Exception {
    database.execute("insert into author values (1, 'Ann')");
    try (var connection = database.ngDataSource().getConnection()) {
      var changed = TriggerChannel.on("author", Author.class).afterUpdate().named("kept").build();
      assertThat(Triggers.migration(connection, changed).down()).contains("capture_kept");
      var orphans = Triggers.orphans(connection, KEPT, PUBLISHED);
      assertThat(orphans).singleElement().matches(orphan -> orphan.held() == 1);
      Triggers.dropOrphans(database.ngDataSource(), orphans);
    }
    assertThat(orphans(database)).isEmpty();
  }

  @Test
  void h34_withoutASchemaThereIsNone(TestDatabase database) throws Exception {
    database.execute("drop schema pgonce cascade");
    assertThat(orphans(database)).isEmpty();
  }

  private static List<Orphan> orphans(TestDatabase database) throws SQLException {
    try (var connection = database.dataSource().getConnection()) {
      return Triggers.orphans(connection, KEPT, PUBLISHED);
    }
  }
}
