package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.StringReader;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.pgonce.PgOnce;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.Seed;
import org.pgonce.testkit.TestDatabase;
import org.postgresql.PGConnection;

/**
 * All kinds of tables, and writers that do whatever comes to their mind: what is captured is what a
 * plain trigger per row, written by hand, has seen, no more and no less, and with the same rows.
 */
@Tag("all")
@PgTest(PgOnceInstalled.class)
class RandomWorkloadTest {

  private static final int TRANSACTIONS = 150;
  private static final int FIRST_WITH_MERGE = 15;
  private static final int FIRST_THAT_MERGES_VIEWS = 17;

  /** Tables with two columns k and v beside what makes them special. */
  private static final List<String> TABLES =
      List.of(
          "plain", "composite", "generated", "partitioned", "parent", "child", "tree", "viewed");

  private static final List<String> SCHEMA =
      List.of(
          "create table plain (k int primary key, v int, body text)",
          "create table composite (k int, part int default 1, v int, primary key (part, k))",
          "create table generated (id int generated always as identity, k int primary key, v int, twice int generated always as (v * 2) stored)",
          "create table partitioned (k int, v int not null, primary key (k, v)) partition by list (v)",
          "create table partitioned_0 partition of partitioned for values in (0, 1, 2)",
          "create table partitioned_rest partition of partitioned default partition by hash (k)",
          "create table partitioned_rest_0 partition of partitioned_rest for values with (modulus 2, remainder 0)",
          "create table partitioned_rest_1 partition of partitioned_rest for values with (modulus 2, remainder 1)",
          "create table parent (k int primary key, v int)",
          "create table child (extra int default 5) inherits (parent)",
          "create table tree (k int primary key, v int, up int references tree on update cascade on delete cascade)",
          "create table viewed (k int primary key, v int, hidden text default 'h')",
          "create view view_of as select k, v from viewed",
          // What was seen: by a trigger per row, and by one per statement for TRUNCATE.
          "create table seen (tab text, op text, old text, new text)",
          """
          create function see() returns trigger language plpgsql as $$
          begin
            insert into seen values (tg_argv[0], tg_op, case when tg_op in ('UPDATE', 'DELETE') then row_to_json(old)::text end,
                                     case when tg_op in ('INSERT', 'UPDATE') then row_to_json(new)::text end);
            return null;
          end $$
          """);

  private static final String CAPTURED =
      """
      select string_agg(concat_ws(' ', c.name, n.payload ->> 'op', n.payload -> 'old', n.payload -> 'new'), E'\\n' order by concat_ws(' ', c.name, n.payload ->> 'op', n.payload -> 'old', n.payload -> 'new'))
        from pgonce.notification n join pgonce.subscription s on s.id = n.subscription_id join pgonce.channel c on c.id = s.channel_id
      """;
  private static final String SEEN =
      "select string_agg(concat_ws(' ', tab, op, old, new), E'\\n' order by concat_ws(' ', tab, op, old, new)) from seen";

  @ParameterizedTest
  @EnumSource(TriggerForm.class)
  void h06_whatIsCapturedIsWhatWasDone(TriggerForm form, TestDatabase database) throws Exception {
    for (var sql : SCHEMA) {
      database.execute(sql);
    }
    for (var table : TABLES) {
      for (var sql : watch(table)) {
        database.execute(sql);
      }
      var channel =
          TriggerChannel.changesOf(table, Object.class)
              .afterInsert()
              .afterUpdate()
              .afterDelete()
              .afterTruncate()
              .named(table);
      // Per statement where the library chooses that.
      PgOnce.using(database.dataSource())
          .install(form == TriggerForm.STATEMENT ? channel.build() : channel.form(form).build());
    }
    var random = Seed.random();
    var refused = 0;
    var version =
        (int) (database.queryLong("select current_setting('server_version_num')::bigint") / 10_000);
    try (var connection = database.dataSource().getConnection()) {
      connection.setAutoCommit(false);
      for (var i = 0; i < TRANSACTIONS; i++) {
        refused += new Writer(connection, random, version).transaction();
      }
    }
    var seen = lines(database.queryString(SEEN));
    assertThat(seen).hasSizeGreaterThan(TRANSACTIONS);
    assertThat(refused).isLessThan(TRANSACTIONS * 2);
    assertThat(lines(database.queryString(CAPTURED))).isEqualTo(seen);
  }

  private static List<String> watch(String table) {
    var rows =
        table.equals("parent")
            // A child's rows, when they are written as its own, are not the parent's.
            ? "create trigger see after insert or update or delete on parent for each row execute function see('parent')"
            : "create trigger see after insert or update or delete on %1$s for each row execute function see('%1$s')";
    return List.of(
        rows.formatted(table),
        "create trigger see_all after truncate on %1$s for each statement execute function see('%1$s')"
            .formatted(table));
  }

  private static List<String> lines(String text) {
    return new ArrayList<>(List.of(text.split("\n", -1)));
  }

  /** One writer, in one transaction. */
  private record Writer(Connection connection, Random random, int version) {

    /** Some statements, some of them in savepoints, and an end; how many the database refused. */
    int transaction() throws SQLException {
      var refused = 0;
      for (var i = random.nextInt(5); i >= 0; i--) {
        var before = connection.setSavepoint();
        try {
          statement();
          if (random.nextInt(6) == 0) {
            connection.rollback(before);
          }
        } catch (SQLException e) {
          // A key that is there, most of them; a TRUNCATE while deferred triggers wait.
          assertThat(e.getSQLState()).isIn("23505", "23503", "21000", "22003", "55006");
          connection.rollback(before);
          refused++;
        }
      }
      if (random.nextInt(5) == 0) {
        connection.rollback();
      } else {
        connection.commit();
      }
      return refused;
    }

    private void statement() throws SQLException {
      var table = TABLES.get(random.nextInt(TABLES.size()));
      var target = table.equals("viewed") && random.nextBoolean() ? "view_of" : table;
      if (table.equals("partitioned") && random.nextInt(4) == 0) {
        target = "partitioned_0";
      }
      var k = random.nextInt(60);
      var v = random.nextInt(target.equals("partitioned_0") ? 3 : 8);
      if (target.equals("view_of") || random.nextInt(10) > 0) {
        try (var statement = connection.createStatement()) {
          statement.execute(sql(target, table, k, v));
        }
      } else {
        var copy = connection.unwrap(PGConnection.class).getCopyAPI();
        try {
          copy.copyIn(
              "copy " + target + " (k, v) from stdin",
              new StringReader("%d\t%d\n".formatted(100 + k, v)));
        } catch (IOException e) {
          throw new SQLException(e);
        }
      }
    }

    private String sql(String target, String table, int k, int v) {
      var rows =
          "select i, %d from generate_series(%d, %d) i".formatted(v, k, k + random.nextInt(4));
      var only = table.equals("parent") && random.nextBoolean() ? "only " : "";
      if (version >= (target.equals("view_of") ? FIRST_THAT_MERGES_VIEWS : FIRST_WITH_MERGE)
          && random.nextInt(8) == 0) {
        return """
            merge into %s%s x using (select i as k from generate_series(%d, %d) i) g on x.k = g.k
              when matched and x.v > 4 then delete
              when matched and x.k %% 3 = 0 then do nothing
              when matched then update set v = (x.v + 1) %% 3
              when not matched then insert (k, v) values (g.k, %d)"""
            .formatted(only, target, k, k + 5, v);
      }
      switch (random.nextInt(table.equals("partitioned") ? 6 : 8)) {
        case 0, 1 -> {
          return "insert into %s (k, v) %s".formatted(target, rows);
        }
        case 2 -> {
          return "update %s%s set v = (v + 1) %% 3 where k between %d and %d"
              .formatted(only, target, k, k + 5);
        }
        case 3 -> {
          return "update %s%s set k = k + 100 where k %% 7 = %d".formatted(only, target, k % 7);
        }
        case 4 -> {
          return "delete from %s%s where k %% 5 = %d".formatted(only, target, k % 5);
        }
        case 5 -> {
          if (random.nextInt(4) == 0 && !target.equals("view_of")) {
            return "truncate %s%s".formatted(only, target);
          }
          return "with gone as (delete from %1$s where k = %2$d returning k) update %1$s set v = v where k > %2$d"
              .formatted(target, k);
        }
        case 6 -> {
          var conflict =
              table.equals("composite") ? "(part, k)" : table.equals("child") ? "" : "(k)";
          return conflict.isEmpty()
              ? "insert into %s (k, v) %s on conflict do nothing".formatted(target, rows)
              : "insert into %1$s as x (k, v) %2$s on conflict %3$s do update set v = x.v + 1 where x.k %% 2 = 0"
                  .formatted(target, rows, conflict);
        }
        default -> {
          return table.equals("tree")
              ? "insert into tree (k, v, up) select i, 1, (select min(k) from tree) from generate_series(%d, %d) i"
                  .formatted(200 + k, 202 + k)
              : "update %s set v = v where k < %d".formatted(target, k);
        }
      }
    }
  }
}
