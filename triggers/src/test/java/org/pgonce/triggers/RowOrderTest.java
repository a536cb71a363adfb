package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.pgonce.ChannelOptions;
import org.pgonce.KeyOrder;
import org.pgonce.PgOnce;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/**
 * The rows of one statement, under an order key. A hash join that does not fit into memory brings
 * its rows in another order: the join of an update's rows, and that with what a condition reads.
 */
@Tag("versions")
@PgTest(PgOnceInstalled.class)
class RowOrderTest {

  private static final int ROWS = 2_000;
  private static final String IN = "coalesce(new.id, old.id) in (select g.id from public.good g)";
  private static final String EXISTS =
      "exists (select from public.good g where g.id = coalesce(new.id, old.id))";

  private static final String STORED =
      """
      select string_agg(concat(o.rows, ' rows, ', o.back, ' behind a later one'), ', ' order by o.subscription_id)
        from (select r.subscription_id, count(*) as rows, count(*) filter (where r.row < r.before) as back
                from (select n.subscription_id, p.row, lag(p.row) over (partition by n.subscription_id order by n.id) as before
                        from pgonce.notification n
                       cross join lateral (select (coalesce(n.payload -> 'new', n.payload -> 'old') ->> 'id')::int as row) as p
                       where n.subscription_id > 0) as r
               group by r.subscription_id) as o
      """;

  private static final String SESSION = "set work_mem = '64kB';\n";

  /** By which the session has its plans. */
  private static final String FEW_ROWS =
      """
      insert into thing values (0, 'k', 0);
      update thing set n = 1 where id = 0;
      delete from thing where id = 0;
      delete from pgonce.notification where subscription_id > 0;
      """;

  private static Stream<TriggerChannelBuilder<?>> builders() {
    return Stream.of(
        changes(),
        changes().onlyIfChanged("n"),
        changes().when("new.n is distinct from old.n"),
        changes().when(IN),
        changes().when(EXISTS),
        changes().when(EXISTS).columns("id", "n").unstorable(Unstorable.DEAD_LETTER),
        changes().when(EXISTS).dueAt("null"),
        changes().when(EXISTS).form(TriggerForm.ROW));
  }

  private static TriggerChannelBuilder<RowChange<Object>> changes() {
    return TriggerChannel.changesOf("thing", Object.class)
        .afterInsert()
        .afterUpdate()
        .afterDelete()
        .orderKey("key");
  }

  @BeforeEach
  void createTables(TestDatabase database) throws Exception {
    database.execute(
        """
        create table thing (id int, key text, n int);
        create table good (id int primary key);
        insert into good select g from generate_series(1, 20000) g order by hashint4(g);
        analyze good
        """);
  }

  @ParameterizedTest
  @MethodSource("builders")
  void h53_rowsOfOneStatementAreStoredInTheOrderOfTheirChange(
      TriggerChannelBuilder<?> builder, TestDatabase database) throws Exception {
    var options =
        ChannelOptions.DEFAULT
            .withOrder(KeyOrder.DEAD_LETTER_PASSES)
            .withSubscriptions("mail", "audit");
    PgOnce.using(database.dataSource()).install(builder.named("thing").options(options).build());
    for (var before : List.of("", FEW_ROWS)) {
      for (var statement :
          List.of(
              "insert into thing select g, 'k', 0 from generate_series(1, %d) g".formatted(ROWS),
              "update thing set n = n + 1",
              "delete from thing")) {
        database.execute(SESSION + before + statement);
        assertThat(database.queryString(STORED))
            .as(before + statement)
            .isEqualTo(
                "%1$d rows, 0 behind a later one, %1$d rows, 0 behind a later one".formatted(ROWS));
        database.execute("delete from pgonce.notification where subscription_id > 0");
      }
      database.execute("truncate thing");
    }
  }

  /** PostgreSQL fires a statement's triggers for the inner statement first. */
  @ParameterizedTest
  @CsvSource({"ROW, 1 2", "STATEMENT, 2 1"})
  void h53_aRowThatAnotherTriggerWritesAgainTakesAFormPerRow(
      TriggerForm form, String stored, TestDatabase database) throws Exception {
    var options = ChannelOptions.DEFAULT.withOrder(KeyOrder.DEAD_LETTER_PASSES);
    PgOnce.using(database.dataSource())
        .install(changes().form(form).named("thing").options(options).build());
    database.execute(
        """
        create function again() returns trigger language plpgsql as $$
        begin update thing set n = 2 where id = new.id; return null; end $$;
        create trigger zz_again after update on thing for each row when (new.n = 1) execute function again();
        insert into thing values (1, 'k', 0);
        delete from pgonce.notification where subscription_id > 0;
        update thing set n = 1
        """);
    assertThat(
            database.queryString(
                "select string_agg(payload -> 'new' ->> 'n', ' ' order by id) from pgonce.notification where subscription_id > 0"))
        .isEqualTo(stored);
  }
}
