package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assumptions.assumeThat;

import java.sql.SQLException;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
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

  @Tag("all")
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

  private static final String SWALLOWS =
      """
      create function swallow() returns trigger language plpgsql as $$
      begin
        if new.tag = 5 then
          return null;
        end if;
        return new;
      end $$;
      create trigger swallow before insert on whole_rest_0 for each row execute function swallow();
      create trigger swallow before insert on whole_rest_1 for each row execute function swallow();
      """;
  private static final String TOLD =
      "select count(*) from pgonce.notification where subscription_id > 0";

  private static TriggerChannelBuilder<?> moved() {
    return TriggerChannel.changesOf("whole", Object.class)
        .afterUpdate()
        .unstorable(Unstorable.DEAD_LETTER)
        .form(TriggerForm.STATEMENT);
  }

  /** PostgreSQL leaves the copies of a trigger per row to the partitions. */
  @Test
  void h09_triggersPerRowOfPartitionsGoWhereTheyBecomePerStatement(TestDatabase database)
      throws Exception {
    database.execute(PARTITIONED);
    var channel =
        TriggerChannel.changesOf("whole", Object.class).afterInsert().afterUpdate().named("whole");
    var stored = "select count(*) from pgonce.notification where subscription_id > 0";
    for (var form :
        new TriggerForm[] {
          TriggerForm.ROW,
          TriggerForm.STATEMENT,
          TriggerForm.ROW,
          TriggerForm.DEFERRED,
          TriggerForm.STATEMENT
        }) {
      var before = database.queryLong(stored);
      PgOnce.using(database.dataSource()).install(channel.form(form).build());
      database.execute("insert into whole values (1, 0, 1), (2, 7, 2); delete from whole");
      assertThat(database.queryLong(stored) - before).as(form.name()).isEqualTo(2);
    }
  }

  /** PostgreSQL deletes it where it was, and shows that, before the other half is swallowed. */
  @Test
  void h06_aMoveThatATriggerSwallowsShiftsNoOtherRow(TestDatabase database) throws Exception {
    database.execute(PARTITIONED + ";" + SWALLOWS);
    PgOnce.using(database.dataSource())
        .install(
            moved().named("changes").build(),
            moved().deliveryKey("tag").named("keyed").build(),
            moved().when("new.tag > 0").named("some").build(),
            TriggerChannel.on("whole", Object.class)
                .afterUpdate()
                .onlyIfChanged("part")
                .unstorable(Unstorable.DEAD_LETTER)
                .form(TriggerForm.STATEMENT)
                .named("rows")
                .build());
    database.execute(
        "insert into whole (k, part, tag) select g, 0, g from generate_series(5, 9) g");
    database.execute("update whole set part = 1 where tag in (5, 6, 7)");
    assertThat(database.queryLong(TOLD)).isZero();
    for (var channel : new String[] {"changes", "keyed", "some"}) {
      assertThat(letters(database, channel))
          .isEqualToIgnoringWhitespace(
              "{'op':'UPDATE','old':{'k':5,'part':0}} {'op':'UPDATE','old':{'k':6,'part':0}} {'op':'UPDATE','old':{'k':7,'part':0}}");
    }
    assertThat(letters(database, "rows"))
        .isEqualToIgnoringWhitespace("{'k':5,'part':0} {'k':6,'part':0} {'k':7,'part':0}");
    assertThat(
            database.queryString("select string_agg(distinct error, '|') from pgonce.dead_letter"))
        .contains("3 rows before the update and 2 after it")
        .doesNotContain("|");

    database.execute("update whole set part = 1 where tag in (8, 9)");
    assertThat(database.queryLong(TOLD)).as("four channels, two rows").isEqualTo(8);
    assertThat(database.queryLong("select count(*) from pgonce.dead_letter")).isEqualTo(12);
  }

  /** Where nothing is left to be seen after the update. */
  @Test
  void h06_norIsALoneRowSwallowedWithoutATrace(TestDatabase database) throws Exception {
    database.execute(PARTITIONED + ";" + SWALLOWS);
    PgOnce.using(database.dataSource()).install(moved().named("changes").build());
    database.execute("insert into whole (k, part, tag) values (5, 0, 5)");
    database.execute("update whole set part = 1");
    assertThat(database.queryLong("select count(*) from whole")).isZero();
    assertThat(letters(database, "changes"))
        .isEqualToIgnoringWhitespace("{'op':'UPDATE','old':{'k':5,'part':0}}");

    PgOnce.using(database.dataSource())
        .install(moved().unstorable(Unstorable.FAIL_WRITE).named("strict").build());
    database.execute("insert into whole (k, part, tag) values (5, 0, 5)");
    assertThatThrownBy(() -> database.execute("update whole set part = 1"))
        .hasMessageContaining("1 rows before the update and 0 after it")
        .hasMessageContaining("capture_strict");
    assertThat(database.queryLong("select count(*) from whole")).isOne();
  }

  private static String letters(TestDatabase database, String channel) throws SQLException {
    return String.valueOf(
            database.queryString(
                "select string_agg(l.payload::text, ' ' order by l.id) from pgonce.dead_letter l join pgonce.subscription s on s.id = l.subscription_id where s.of_channel = '%s'"
                    .formatted(channel)))
        .replace('"', '\'');
  }

  /** As PostgreSQL (15 to 18) has it: transition tables know of no such row, a warning does. */
  @Test
  void h09_aRowThatAMergeMovesIsToldPerRowOnlyAndWarnedOf(TestDatabase database) throws Exception {
    assumeThat(database.queryLong("select current_setting('server_version_num')::int"))
        .describedAs("MERGE came with PostgreSQL 15")
        .isGreaterThanOrEqualTo(150_000);
    database.execute(PARTITIONED);
    var all =
        TriggerChannel.changesOf("whole", Object.class).afterInsert().afterUpdate().afterDelete();
    var perRow = all.named("per_row").build();
    var perStatement = all.form(TriggerForm.STATEMENT).named("per_statement").build();
    database.execute("insert into whole (k, part, tag) values (1, 0, 1)");
    PgOnce.using(database.dataSource()).install(perRow, perStatement);
    database.execute(
        "merge into whole w using (values (1)) s (k) on w.k = s.k when matched then update set part = w.part + 1");
    assertThat(told(database)).isEqualTo("per_row DELETE, per_row INSERT");
    // With what a MERGE inserts beside it comes one half of such a row.
    database.execute("delete from pgonce.notification where subscription_id > 0");
    database.execute(
        "merge into whole w using (values (1), (2)) s (k) on w.k = s.k when matched then update set part = 0 when not matched then insert values (s.k, 0, s.k)");
    assertThat(told(database))
        .isEqualTo(
            "per_row DELETE, per_row INSERT, per_row INSERT, per_statement INSERT, per_statement INSERT");
    try (var connection = database.dataSource().getConnection()) {
      assertThat(Triggers.plan(connection, perStatement).warnings())
          .anyMatch(line -> line.contains("a MERGE moves to another partition"));
      assertThat(Triggers.plan(connection, perRow).warnings())
          .noneMatch(line -> line.contains("MERGE"));
    }
  }

  private static @Nullable String told(TestDatabase database) throws SQLException {
    return database.queryString(
        "select string_agg(s.of_channel || ' ' || (n.payload ->> 'op'), ', ' order by s.of_channel, n.id) from pgonce.notification n join pgonce.subscription s on s.id = n.subscription_id");
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
