package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.pgonce.Channel;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.internal.store.Schema;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/**
 * H76: what installs or takes back is run again on a database where a transaction is open that has
 * written the watched table and pgonce's own, and others go on writing.
 */
@Tag("versions")
@PgTest
class RerunTest {

  record Author(long id, String name) {}

  // As docs/migrations.md has it, and a machine that does other things as well.
  private static final Duration BOUND = Duration.ofMillis(1500);
  private static final Duration SLACK = Duration.ofSeconds(2);

  private static final Channel<String> MAIL = Channel.of("mail", String.class, Mode.BROADCAST);
  private static final TriggerChannel<Author> ADDED =
      TriggerChannel.on("author", Author.class).afterInsert().build();
  private static final TriggerChannel<?> CHANGED =
      TriggerChannel.changesOf("author", Author.class)
          .afterInsert()
          .afterUpdateOf("name", "id")
          .afterDelete()
          .named("changed")
          .build();
  private static final TriggerChannel<Author> DEFERRED =
      TriggerChannel.on("author", Author.class)
          .afterInsert()
          .form(TriggerForm.DEFERRED)
          .named("deferred")
          .build();
  private static final Channel<?>[] ALL = {MAIL, ADDED, CHANGED, DEFERRED};

  // Those that make a writer, or a reader of a view, wait.
  private static final String STRONG_LOCKS =
      """
      select string_agg(l.relation::regclass || ' ' || l.mode, ', ') from pg_locks l
       where l.pid = pg_backend_pid() and l.locktype = 'relation' and l.relation >= 16384
         and l.mode not in ('AccessShareLock', 'RowShareLock', 'RowExclusiveLock')
      """;

  /** What is run again, after it was run once. */
  enum Way {
    THE_SCRIPT {
      @Override
      List<String> statements(TestDatabase database) throws SQLException {
        return ranOnce(database, List.of(PgOnce.migration(ALL)));
      }
    },
    FILE_BY_FILE {
      @Override
      List<String> statements(TestDatabase database) throws Exception {
        var files = new ArrayList<String>();
        for (var name : Schema.FILES) {
          files.add(file(name));
        }
        return ranOnce(database, files);
      }
    },
    PRINTED_FOR_ANY_DATABASE {
      @Override
      List<String> statements(TestDatabase database) throws SQLException {
        return ranOnce(database, List.of(Migration.ofSchema().up(), Migration.of(ALL).up()));
      }
    },
    PRINTED_FOR_THIS_ONE {
      @Override
      List<String> statements(TestDatabase database) throws Exception {
        installSomethingElse(database);
        return ranOnce(database, List.of(printed(database).up()));
      }
    },
    WAY_BACK_OF_NEW_ONES {
      @Override
      List<String> statements(TestDatabase database) throws SQLException {
        PgOnce.using(database.dataSource()).install(ALL);
        return ranOnce(database, List.of(Migration.of(ALL).down()));
      }
    },
    WAY_BACK_OF_CHANGED_ONES {
      @Override
      List<String> statements(TestDatabase database) throws Exception {
        installSomethingElse(database);
        var printed = printed(database);
        runEach(database, List.of(printed.up()));
        return ranOnce(database, List.of(printed.down()));
      }
    };

    abstract List<String> statements(TestDatabase database) throws Exception;
  }

  private static List<String> ranOnce(TestDatabase database, List<String> statements)
      throws SQLException {
    runEach(database, statements);
    return statements;
  }

  private static Migration printed(TestDatabase database) throws SQLException {
    try (var connection = database.dataSource().getConnection()) {
      return Triggers.migration(connection, ALL);
    }
  }

  private static String file(String name) throws Exception {
    try (var in = Schema.class.getResourceAsStream("/org/pgonce/sql/" + name)) {
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    }
  }

  @ParameterizedTest
  @EnumSource(Way.class)
  @Tag("all")
  void h76_whatIsRunAgainTakesNoLockThatAWriterWaitsFor(Way way, TestDatabase database)
      throws Exception {
    database.execute("create table author (id bigint not null, name text)");
    var statements = way.statements(database);

    try (var writer = begin(database, WRITE);
        var writers = new BusyWriters(database, List.of("author"), 2, 0, 1)) {
      await().atMost(Duration.ofSeconds(30)).until(() -> writers.written() > 0);
      var again =
          CompletableFuture.supplyAsync(
              () -> {
                try {
                  return runEach(database, statements);
                } catch (SQLException e) {
                  throw new IllegalStateException(e);
                }
              });
      assertThat(again.get(60, TimeUnit.SECONDS)).as("locks").isEmpty();
      assertWritersGoOn(writers);
      writer.commit();
    }
  }

  @ParameterizedTest
  @EnumSource(Library.class)
  void h76_whatTheLibraryInstallsAgainTakesNoLockThatAWriterWaitsFor(
      Library library, TestDatabase database) throws Exception {
    database.execute("create table author (id bigint not null, name text)");
    library.install(database);
    try (var writer = begin(database, WRITE);
        var writers = new BusyWriters(database, List.of("author"), 2, 0, 1)) {
      await().atMost(Duration.ofSeconds(30)).until(() -> writers.written() > 0);
      var again =
          CompletableFuture.runAsync(
              () -> {
                try {
                  library.install(database);
                } catch (SQLException e) {
                  throw new IllegalStateException(e);
                }
              });
      again.get(60, TimeUnit.SECONDS);
      assertWritersGoOn(writers);
      writer.commit();
    }
  }

  enum Library {
    INSTALL {
      @Override
      void install(TestDatabase database) {
        PgOnce.using(database.dataSource()).install(ALL);
      }
    },
    APPLY {
      @Override
      void install(TestDatabase database) throws SQLException {
        PgOnce.using(database.dataSource()).install();
        try (var transaction = begin(database, "select 1")) {
          Triggers.apply(transaction, ADDED, CHANGED, DEFERRED);
          try (var statement = transaction.createStatement();
              var row = statement.executeQuery(STRONG_LOCKS)) {
            row.next();
            var locks = row.getString(1);
            if (database.queryLong("select count(*) from author") > 0) {
              assertThat(locks).isNull();
            }
          }
          transaction.commit();
        }
      }
    };

    abstract void install(TestDatabase database) throws SQLException;
  }

  private static final String WRITE =
      """
      insert into author values (1000, 'Ann');
      insert into pgonce.notification (subscription_id, id, payload) values (0, 1000, '1');
      insert into pgonce.scheduled (subscription_id, id, due_at, attempts, created_at, payload) values (0, 1000, 'infinity', 0, now(), '1');
      select count(*) from pgonce.channel_status
      """;

  /** Whose triggers, functions and mode a migration has to change. */
  private static void installSomethingElse(TestDatabase database) {
    var former =
        TriggerChannel.changesOf("author", Author.class)
            .afterInsert()
            .afterDelete()
            .form(TriggerForm.ROW)
            .named("changed")
            .build();
    PgOnce.using(database.dataSource())
        .install(former, Channel.of("mail", String.class, Mode.EXACTLY_ONCE));
  }

  /** Returns the locks that each held at its end. */
  private static List<String> runEach(TestDatabase database, List<String> statements)
      throws SQLException {
    var locks = new ArrayList<String>();
    for (var sql : statements) {
      try (var transaction = begin(database, sql);
          var statement = transaction.createStatement();
          var row = statement.executeQuery(STRONG_LOCKS)) {
        row.next();
        if (row.getString(1) != null) {
          locks.add(row.getString(1));
        }
        transaction.commit();
      }
    }
    return locks;
  }

  private static Connection begin(TestDatabase database, String sql) throws SQLException {
    var connection = database.dataSource().getConnection();
    connection.setAutoCommit(false);
    try (var statement = connection.createStatement()) {
      statement.execute(sql);
    }
    return connection;
  }

  private static void assertWritersGoOn(BusyWriters writers) {
    var longest = writers.longestWait();
    System.out.printf(
        "the longest wait of %d writes was %d ms%n", writers.written(), longest.toMillis());
    assertThat(writers.failures()).isEmpty();
    assertThat(longest).isLessThan(BOUND.plus(SLACK));
  }
}
