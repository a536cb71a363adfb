package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import java.io.StringReader;
import java.sql.Connection;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.PgOnce;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import org.postgresql.PGConnection;

/** One notification per row that a committed statement inserted, and one wake-up per statement. */
@Tag("versions")
@PgTest(PgOnceInstalled.class)
class CaptureTest {

  record Author(long id, String name) {}

  static final TriggerChannel<Author> ADDED =
      TriggerChannel.on("author", Author.class).afterInsert().build();

  @BeforeEach
  void install(TestDatabase database) throws Exception {
    database.execute("create table author (id bigint primary key, name text not null)");
    PgOnce.using(database.dataSource()).install(ADDED);
  }

  @Test
  void h01_nothingOfARolledBackTransaction(TestDatabase database) throws Exception {
    try (var wakeUps = new Ear(database, ADDED)) {
      database.execute("begin; insert into author values (1, 'Ann'); rollback");

      assertThat(stored(database)).isEmpty();
      assertThat(wakeUps.take()).isEmpty();
    }
  }

  @Test
  void h01_nothingOfARolledBackSavepoint(TestDatabase database) throws Exception {
    database.execute(
        """
        begin;
        insert into author values (1, 'Ann');
        savepoint s;
        insert into author values (2, 'Bob');
        rollback to savepoint s;
        commit
        """);

    assertThat(stored(database)).isEqualTo("{\"id\":1,\"name\":\"Ann\"}");
  }

  @Test
  void h02_theSamePayloadTwiceInOneTransactionIsTwoNotifications(TestDatabase database)
      throws Exception {
    database.execute("alter table author drop constraint author_pkey");
    database.execute(
        "begin; insert into author values (1, 'Ann'); insert into author values (1, 'Ann'); commit");

    assertThat(
            database.queryLong(
                "select count(distinct id) from pgonce.notification where subscription_id > 0"))
        .isEqualTo(2);
  }

  @Test
  void h06_onConflictDoNothingMakesNoneForTheRowThatWasThere(TestDatabase database)
      throws Exception {
    database.execute(
        "insert into author values (1, 'Ann'); delete from pgonce.notification where subscription_id > 0");
    try (var wakeUps = new Ear(database, ADDED)) {
      database.execute("insert into author values (1, 'Ann') on conflict do nothing");

      assertThat(stored(database)).isEmpty();
      assertThat(wakeUps.take()).isEmpty();
    }
  }

  @Test
  void h06_onConflictDoUpdateMakesOneForTheInsertedRowOnly(TestDatabase database) throws Exception {
    database.execute(
        "insert into author values (1, 'Ann'); delete from pgonce.notification where subscription_id > 0");
    database.execute(
        "insert into author values (1, 'Anna'), (2, 'Bob') on conflict (id) do update set name = excluded.name");

    assertThat(stored(database)).isEqualTo("{\"id\":2,\"name\":\"Bob\"}");
  }

  @Test
  void h06_manyRowsOfOneStatementMakeOneWakeUp(TestDatabase database) throws Exception {
    try (var wakeUps = new Ear(database, ADDED)) {
      database.execute(
          "insert into author select g, 'author ' || g from generate_series(1, 10000) g");

      assertThat(
              database.queryLong(
                  "select count(distinct id) from pgonce.notification where subscription_id > 0"))
          .isEqualTo(10_000);
      assertThat(wakeUps.take()).containsExactly("");
    }
  }

  @Test
  @Tag("all")
  void h06_aCopyOfAMillionRowsMakesOneForEach(TestDatabase database) throws Exception {
    var lines =
        IntStream.rangeClosed(1, 1_000_000)
            .mapToObj(id -> id + "\tAnn\n")
            .collect(Collectors.joining());
    try (var connection = database.dataSource().getConnection();
        var wakeUps = new Ear(database, ADDED)) {
      connection
          .unwrap(PGConnection.class)
          .getCopyAPI()
          .copyIn("copy author from stdin", new StringReader(lines));

      assertThat(
              database.queryLong(
                  "select count(*) from pgonce.notification where subscription_id > 0"))
          .isEqualTo(1_000_000);
      assertThat(wakeUps.take()).containsExactly("");
    }
  }

  @Test
  void h06_mergeMakesOneForEachInsertedRow(TestDatabase database) throws Exception {
    assumeThat(database.queryLong("select current_setting('server_version_num')::int"))
        .describedAs("MERGE came with PostgreSQL 15")
        .isGreaterThanOrEqualTo(150_000);
    database.execute(
        "insert into author values (1, 'Ann'); delete from pgonce.notification where subscription_id > 0");
    database.execute(
        """
        merge into author a using (values (1, 'Anna'), (2, 'Bob')) v (id, name) on v.id = a.id
         when matched then update set name = v.name when not matched then insert values (v.id, v.name)
        """);

    assertThat(stored(database)).isEqualTo("{\"id\":2,\"name\":\"Bob\"}");
  }

  @Test
  void h06_insertsByAViewOrInsideOfAnotherStatementCountToo(TestDatabase database)
      throws Exception {
    database.execute("create view writer as select * from author");
    database.execute("insert into writer values (1, 'Ann')");
    database.execute(
        "with added as (insert into author values (2, 'Bob') returning id) select count(*) from added");

    assertThat(
            database.queryLong(
                "select count(*) from pgonce.notification where subscription_id > 0"))
        .isEqualTo(2);
  }

  @Test
  void h06_updateAndDeleteAndAnEmptyInsertMakeNone(TestDatabase database) throws Exception {
    database.execute(
        "insert into author values (1, 'Ann'); delete from pgonce.notification where subscription_id > 0");
    try (var wakeUps = new Ear(database, ADDED)) {
      database.execute(
          """
          update author set name = 'Anna';
          insert into author select 2, 'Bob' where false;
          delete from author;
          truncate author
          """);

      assertThat(stored(database)).isEmpty();
      assertThat(wakeUps.take()).isEmpty();
    }
  }

  @Tag("all")
  @Test
  void aTransactionWhoseSnapshotIsOlderThanTheChannelIsCaptured(TestDatabase database)
      throws Exception {
    var later = TriggerChannel.on("author", Author.class).afterInsert().named("later").build();
    try (var connection = database.dataSource().getConnection();
        var statement = connection.createStatement()) {
      connection.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
      connection.setAutoCommit(false);
      statement.execute("select now()");
      PgOnce.using(database.dataSource()).install(later);
      statement.execute("insert into author values (1, 'Ann')");
      connection.commit();
      statement.execute("insert into author values (2, 'Bob')");
      connection.commit();
    }
    assertThat(
            database.queryString(
                """
                select string_agg(n.payload ->> 'name', ' ' order by n.id) from pgonce.notification n join pgonce.subscription s on s.id = n.subscription_id
                  join pgonce.channel c on c.id = s.channel_id where c.name = 'later'
                """))
        .isEqualTo("Ann Bob");
  }

  private static String stored(TestDatabase database) throws Exception {
    return database.queryString(
        "select coalesce(string_agg(payload::text, ' ' order by id), '') from pgonce.notification where subscription_id > 0");
  }
}
