package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.SQLException;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.pgonce.PgOnce;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.Seed;
import org.pgonce.testkit.TestDatabase;

/**
 * Tables of several with a trigger per statement, which is asked for: whoever applies what is
 * captured, in its order, to what was there has what is there.
 */
@PgTest(PgOnceInstalled.class)
class WholeTableTest {

  private static final int STATEMENTS = 300;
  private static final int TAGS = 60;

  // Rows are known by their tag, which nothing changes; the key of an update's pairs may change.
  private static final String PARTITIONED =
      """
      create table whole (k int, part int, tag int not null, primary key (k, part)) partition by list (part);
      create table whole_0 partition of whole for values in (0);
      create table whole_rest partition of whole default partition by hash (k);
      create table whole_rest_0 partition of whole_rest for values with (modulus 2, remainder 0);
      create table whole_rest_1 (part int not null, tag int not null, k int not null);
      alter table whole_rest attach partition whole_rest_1 for values with (modulus 2, remainder 1)
      """;
  private static final String INHERITED =
      """
      create table whole (k int, part int, tag int not null, primary key (k, part));
      create table heir (extra text default 'x') inherits (whole);
      insert into heir (k, part, tag) select 1000 + g, g % 4, g from generate_series(0, 19) g
      """;

  @ParameterizedTest
  @ValueSource(strings = {PARTITIONED, INHERITED})
  void h06_whoAppliesWhatStatementsTellHasTheTable(String schema, TestDatabase database)
      throws Exception {
    database.execute(schema);
    var rows = new TreeMap<String, String>();
    read(database, "select null, null, null, w.tag, row_to_json(w) from whole w", rows);
    var channel =
        TriggerChannel.changesOf("whole", Object.class)
            .afterInsert()
            .afterUpdate()
            .afterDelete()
            .afterTruncate()
            .form(TriggerForm.STATEMENT)
            .named("whole");
    PgOnce.using(database.dataSource()).install(channel.build());
    var random = Seed.random();
    for (var i = 0; i < STATEMENTS; i++) {
      try {
        database.execute(statement(random));
      } catch (SQLException e) {
        assertThat(e.getSQLState()).isEqualTo("23505"); // a key that is there
      }
    }
    var applied =
        read(
            database,
            """
            select n.payload ->> 'op', n.payload -> 'old' ->> 'tag', n.payload -> 'old', n.payload -> 'new' ->> 'tag', n.payload -> 'new'
              from pgonce.notification n where n.subscription_id > 0 order by n.id
            """,
            rows);
    assertThat(applied).isGreaterThan(STATEMENTS);
    var left = new TreeMap<String, String>();
    read(database, "select null, null, null, w.tag, row_to_json(w) from whole w", left);
    assertThat(rows).isEqualTo(left);
  }

  private static String statement(Random random) {
    var k = random.nextInt(TAGS);
    return switch (random.nextInt(30)) {
      case 0 -> "truncate whole";
      case 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 ->
          "insert into whole (k, part, tag) select g, g %% 4, g from generate_series(%1$d, %1$d + %2$d) g where g not in (select tag from whole)"
              .formatted(k, random.nextInt(TAGS - k));
      case 11, 12, 13 -> "delete from whole where tag % 7 = " + k % 7;
      case 14, 15 ->
          "insert into whole (k, part, tag) select g, g %% 4, g from generate_series(%1$d, %1$d) g where g not in (select tag from whole) on conflict (k, part) do update set k = whole.k + 500"
              .formatted(k);
      case 16, 17, 18, 19 ->
          "update whole set k = k + %d where tag %% 3 = %d"
              .formatted(random.nextInt(5) * 100, k % 3);
      // To another partition: PostgreSQL deletes there and inserts here.
      default ->
          "update whole set part = (part + %d) %% 4, k = k + %d where tag > %d"
              .formatted(random.nextInt(4), random.nextInt(2) * 100, k);
    };
  }

  /** Applies each to the rows; returns how many. */
  private static int read(TestDatabase database, String query, Map<String, String> rows)
      throws SQLException {
    try (var connection = database.dataSource().getConnection();
        var statement = connection.createStatement();
        var change = statement.executeQuery(query)) {
      var count = 0;
      while (change.next()) {
        count++;
        if ("TRUNCATE".equals(change.getString(1))) {
          rows.clear();
        } else if (change.getString(3) != null) {
          assertThat(rows.remove(change.getString(2))).isEqualTo(change.getString(3));
        }
        if ("UPDATE".equals(change.getString(1))) {
          assertThat(change.getString(4)).isEqualTo(change.getString(2));
        }
        if (change.getString(5) != null) {
          assertThat(rows.put(change.getString(4), change.getString(5))).isNull();
        }
      }
      return count;
    }
  }
}
