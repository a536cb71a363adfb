package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.sql.Statement;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.pgonce.PgOnce;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import tools.jackson.databind.JsonNode;

/**
 * Rows of PostgreSQL's own types are stored in one statement, whose kept plan knows that they are.
 * It must not go on knowing it when the table has a column of a type whose owner says how it
 * becomes JSON: that runs without rights, see {@link HostileTypeTest}.
 */
@PgTest(PgOnceInstalled.class)
class PlainTypesTest {

  // With which rights a column becomes JSON, by its payload.
  private static final String SPY =
      """
      create type grade as enum ('a', 'b');
      create function spy(grade) returns json language sql as 'select to_json(current_user::text)';
      create cast (grade as json) with function spy(grade);
      create table plain (id int primary key, name text);
      """;
  private static final String ADD = "alter table plain add column grade grade default 'a'";
  private static final String STORED =
      "select string_agg(payload ->> 'grade', ' ' order by id) from pgonce.notification where subscription_id > 0 and payload ->> 'grade' is not null";
  private static final String SANDBOX = "pgonce_sandbox";
  private static final String LOOK_UPS =
      "select coalesce(sum(seq_scan + idx_scan), 0) from pg_stat_xact_user_tables where relid = 'pgonce.subscription'::regclass";

  private static final String AS_JSON =
      "select coalesce(sum(calls), 0) from pg_stat_xact_user_functions where funcname = 'as_json'";

  @BeforeEach
  void setUp(TestDatabase database) throws Exception {
    database.execute(SPY);
  }

  private static TriggerChannelBuilder<JsonNode> plain() {
    return TriggerChannel.on("plain", JsonNode.class).form(TriggerForm.STATEMENT);
  }

  private static void install(TestDatabase database, TriggerChannelBuilder<JsonNode> channel) {
    PgOnce.using(database.dataSource()).install(channel.build());
  }

  /** Statements that go together, in one transaction. */
  private static void write(Statement statement, String... lines) throws Exception {
    statement.execute("begin");
    for (var line : lines) {
      statement.execute(line);
    }
    statement.execute("commit");
  }

  @Test
  void h36_aColumnThatIsNewToASessionIsReadWithoutRights(TestDatabase database) throws Exception {
    install(database, plain().afterInsert());
    try (var connection = database.dataSource().getConnection();
        var statement = connection.createStatement()) {
      statement.execute("insert into plain values (1, 'one')");
      database.execute(ADD);
      statement.execute("insert into plain values (2, 'two')");
    }
    assertThat(database.queryString(STORED)).isEqualTo(SANDBOX);
  }

  /** Whose plan is made anew in a transaction that sees the catalog as it was. */
  @Test
  void h36_soIsOneThatIsNewerThanTheTransactionsSnapshot(TestDatabase database) throws Exception {
    install(database, plain().afterInsert());
    try (var connection = database.dataSource().getConnection();
        var statement = connection.createStatement()) {
      statement.execute("insert into plain values (1, 'one')");
      statement.execute("begin isolation level repeatable read");
      statement.execute("select count(*) from pg_attribute");
      database.execute(ADD);
      statement.execute("insert into plain values (2, 'two')");
      statement.execute("commit");
      statement.execute("insert into plain values (3, 'three')");
    }
    assertThat(database.queryString(STORED)).isEqualTo(SANDBOX + " " + SANDBOX);
  }

  /**
   * What a foreign key deletes is told by the statement that has led to it, whose snapshot is from
   * before it locked that table.
   */
  @Test
  void h36_soIsOneThatIsNewerThanTheStatement(TestDatabase database) throws Exception {
    database.execute("create table owner (id int primary key)");
    database.execute("alter table plain add foreign key (id) references owner on delete cascade");
    install(database, plain().afterDelete());
    database.execute("insert into owner values (1)");
    database.execute("insert into plain values (1, 'one')");
    try (var gate = database.dataSource().getConnection();
        var closed = gate.createStatement()) {
      closed.execute("select pg_advisory_lock(1)");
      var deletion = CompletableFuture.runAsync(() -> deleteBehindTheGate(database));
      await()
          .atMost(Duration.ofSeconds(20))
          .until(
              () ->
                  database.queryLong(
                          "select count(*) from pg_locks where locktype = 'advisory' and not granted")
                      == 1);
      database.execute(ADD);
      closed.execute("select pg_advisory_unlock(1)");
      deletion.get(20, TimeUnit.SECONDS);
    }
    assertThat(database.queryString(STORED)).isEqualTo(SANDBOX);
  }

  private static void deleteBehindTheGate(TestDatabase database) {
    try {
      database.execute("delete from owner where id = 1 and pg_advisory_lock_shared(1) is not null");
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  @Test
  void h36_soIsOneThatARollbackBringsBack(TestDatabase database) throws Exception {
    database.execute(ADD);
    install(database, plain().afterInsert());
    try (var connection = database.dataSource().getConnection();
        var statement = connection.createStatement()) {
      statement.execute("begin");
      statement.execute("alter table plain drop column grade");
      statement.execute("insert into plain values (1, 'one')");
      statement.execute("rollback");
      statement.execute("insert into plain values (2, 'two')");
      write(
          statement,
          "savepoint here",
          "alter table plain drop column grade",
          "insert into plain values (3, 'three')",
          "rollback to here",
          "insert into plain values (4, 'four')");
    }
    assertThat(database.queryString(STORED)).isEqualTo(SANDBOX + " " + SANDBOX);
  }

  /** Each look at rows that could not be stored, or that nobody wants, looks them up once more. */
  @ParameterizedTest
  @ValueSource(strings = {"read committed", "read uncommitted"})
  void subscriptionsAreLookedUpOnceForEachWrite(String level, TestDatabase database)
      throws Exception {
    install(database, plain().afterInsert());
    assertThat(counted(database, level, "insert into plain values (0, 'none')", LOOK_UPS))
        .isEqualTo(1);
    var many = "insert into plain select g, 'x' from generate_series(1, 9) g";
    assertThat(counted(database, level, many, LOOK_UPS)).isEqualTo(1);
    var none = "insert into plain select 1, 'x' where false";
    assertThat(counted(database, level, none, LOOK_UPS)).isZero();
    assertThat(
            database.queryLong(
                "select count(*) from pgonce.notification where subscription_id > 0"))
        .isEqualTo(10);
  }

  /** Twice where it is tried first. */
  @ParameterizedTest
  @ValueSource(strings = {"read committed", "read uncommitted"})
  void aRowOfAnOwnTypeBecomesJsonOnce(String level, TestDatabase database) throws Exception {
    database.execute(ADD + "; drop cast (grade as json)");
    install(database, plain().afterInsert());
    database.execute(
        "alter database \"%s\" set track_functions = 'all'".formatted(database.name()));
    assertThat(counted(database, level, "insert into plain values (1, 'one')", AS_JSON)).isOne();
  }

  private static long counted(TestDatabase database, String level, String sql, String count)
      throws Exception {
    try (var connection = database.dataSource().getConnection();
        var statement = connection.createStatement()) {
      statement.execute("begin isolation level " + level);
      statement.execute(sql);
      try (var row = statement.executeQuery(count)) {
        row.next();
        var counted = row.getLong(1);
        statement.execute("commit");
        return counted;
      }
    }
  }
}
