package org.pgonce.history;

import static org.assertj.core.api.Assertions.assertThat;
import static org.pgonce.stage.Stage.QUICK;

import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.pgonce.PgOnce;
import org.pgonce.internal.store.Schema;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** The partitions of the history: made ahead, dropped whole, and the net below them. */
@PgTest(PgOnceInstalled.class)
@Tag("versions")
class HistoryPartitionsTest {

  private static final String KEEP = "select pgonce_private.keep_history()::integer";
  private static final String AHEAD =
      "select count(*) from pgonce_private.history_partitions() p where p.ends > clock_timestamp()";
  private static final String INSERT =
      """
      insert into pgonce.handled (handled_at, created_at, due_at, claimed_at, took, id, subscription_id, attempts, skipped, instance)
      select t.at, t.at, t.at, t.at, '1 ms', %d, s.id, 1, false, 'by hand'
        from pgonce.subscription s join pgonce.channel c on c.id = s.channel_id cross join (select clock_timestamp() - interval '%s') as t (at)
       where c.name = '%s'
      """;

  private Stage stage;

  @BeforeEach
  void open(TestDatabase database) throws SQLException {
    stage = new Stage(database);
  }

  @AfterEach
  void close() {
    stage.close();
  }

  private void install(String name, String history) throws SQLException {
    stage.database.execute(
        "select pgonce.install_channel('%s', 'EXACTLY_ONCE', 'published', history => %s)"
            .formatted(name, history == null ? "null" : "'" + history + "'"));
  }

  private void keepUntilNothingIsLeft() throws SQLException {
    for (var calls = 0; stage.database.queryLong(KEEP) == 1; calls++) {
      assertThat(calls).as("it comes to an end").isLessThan(200);
    }
  }

  private void insert(int id, String age, String channel) throws SQLException {
    stage.database.execute(INSERT.formatted(id, age, channel));
  }

  /** As the housekeeping of that time would have made it. */
  private void partition(String name, String from, String to) throws SQLException {
    stage.database.execute(
        """
        set role pgonce_owner;
        do $$
        begin
          execute format('create table pgonce.%1$s partition of pgonce.handled for values from (%%L) to (%%L)',
                         date_trunc('hour', clock_timestamp()) - interval '%2$s', date_trunc('hour', clock_timestamp()) - interval '%3$s');
        end
        $$;
        reset role
        """
            .formatted(name, from, to));
  }

  private List<Long> ids(String table) throws SQLException {
    var ids =
        stage.database.queryString(
            "select string_agg(id::text, ' ' order by id) from pgonce." + table);
    return ids == null
        ? List.of()
        : List.of(ids.split(" ")).stream().map(Long::valueOf).sorted().toList();
  }

  @ParameterizedTest
  @CsvSource({"1 hour, 2 hours", "7 days, 48 hours", "400 days, 336 hours"})
  void history_partitionsAreMadeAheadWithoutAGap(String history, String ahead) throws Exception {
    install("mails", history);
    keepUntilNothingIsLeft();
    assertThat(
            stage.database.queryString(
                """
                select concat_ws(' ', max(p.ends) >= clock_timestamp() + interval '%s', min(p.begins) > clock_timestamp() + interval '30 s',
                                 sum(p.ends - p.begins) = max(p.ends) - min(p.begins))
                  from pgonce_private.history_partitions() p
                """
                    .formatted(ahead)))
        .isEqualTo("t t t");
    var made = stage.database.queryLong(AHEAD);
    keepUntilNothingIsLeft();
    assertThat(stage.database.queryLong(AHEAD)).isEqualTo(made);
  }

  /** Before PostgreSQL 18 India's IST is read as Israel's. */
  @Test
  void history_partitionsAreTheSameWhateverTheDateStyle() throws Exception {
    install("mails", "7 days");
    stage.database.execute(
        "do $$ begin set local datestyle = 'SQL, DMY'; set local timezone = 'Asia/Kolkata'; perform pgonce_private.keep_history(); end $$");
    assertThat(
            stage.database.queryString(
                "select bool_and(p.name = 'handled_' || to_char(p.begins at time zone 'UTC', 'YYYYMMDD_HH24MI'))::text from pgonce_private.history_partitions() p"))
        .isEqualTo("true");
  }

  /** What is older than the longest history goes with its partition, and nothing else goes. */
  @Test
  void history_partitionsBeyondTheLongestRetentionAreDroppedWhole() throws Exception {
    install("short", "1 hour");
    install("long", "3 hours");
    partition("handled_older", "10 hours", "5 hours");
    partition("handled_younger", "5 hours", "2 hours");
    insert(1, "6 hours", "long");
    insert(2, "2 hours 30 minutes", "short");
    insert(3, "2 hours 30 minutes", "long");
    keepUntilNothingIsLeft();
    assertThat(stage.database.queryString("select to_regclass('pgonce.handled_older')::text"))
        .isNull();
    assertThat(ids("handled")).containsExactly(2L, 3L);
    // Each channel shows what lies within its own.
    assertThat(ids("history")).containsExactly(3L);
    assertThat(ids("history_of('short')")).isEmpty();
    install("long", null);
    install("short", null);
    keepUntilNothingIsLeft();
    assertThat(ids("handled")).isEmpty();
    assertThat(stage.database.queryString("select to_regclass('pgonce.handled_younger')::text"))
        .isNull();
  }

  @Test
  void history_theDefaultPartitionTakesWhatHasNoOtherAndIsEmptiedByAge() throws Exception {
    install("mails", "1 hour");
    insert(1, "2 hours", "mails");
    insert(2, "1 minute", "mails");
    assertThat(ids("handled_default")).containsExactly(1L, 2L);
    keepUntilNothingIsLeft();
    assertThat(ids("handled_default")).containsExactly(2L);
  }

  /**
   * A clock was set back: rows of the time of a partition that is to be made are there already.
   * Whatever the minute of the hour, they leave one that can be made.
   */
  @Test
  void history_rowsOfALaterTimeDoNotKeepTheNextPartitionsFromBeingMade() throws Exception {
    install("mails", "1 hour");
    insert(1, "-40 minutes", "mails");
    insert(2, "-45 minutes", "mails");
    keepUntilNothingIsLeft();
    assertThat(stage.database.queryLong(AHEAD)).isPositive();
    assertThat(ids("history")).containsExactly(1L, 2L);
  }

  /** A backup reads the table for hours. */
  @Test
  void history_aReaderKeepsHousekeepingFromItsWorkAndNobodyWaits() throws Exception {
    install("mails", "1 hour");
    partition("handled_older", "10 hours", "5 hours");
    try (var connection = stage.dataSource.getConnection();
        var reader = connection.createStatement()) {
      connection.setAutoCommit(false);
      reader.execute("select count(*) from pgonce.handled");
      var begun = System.nanoTime();
      assertThat(stage.database.queryLong(KEEP)).isZero();
      assertThat(Duration.ofNanos(System.nanoTime() - begun)).isLessThan(Duration.ofSeconds(10));
      insert(1, "1 second", "mails");
      connection.rollback();
    }
    keepUntilNothingIsLeft();
    assertThat(stage.database.queryLong(AHEAD)).isPositive();
    assertThat(stage.database.queryString("select to_regclass('pgonce.handled_older')::text"))
        .isNull();
  }

  /** To make one reads the default partition, which may take longer than housekeeping has. */
  @Test
  void history_whatIsTooOldGoesThoughNoPartitionCanBeMadeInTime() throws Exception {
    install("calls", "1 hour");
    insert(1, "2 hours", "calls");
    try (var reader = stage.database.dataSource().getConnection()) {
      reader.setAutoCommit(false);
      reader.createStatement().execute("lock table pgonce.handled_default in access share mode");
      stage.awaitSoon(
          () -> {
            try {
              // Less than a partition waits for its reader.
              stage.database.execute(
                  "begin; set local statement_timeout = 80; select pgonce_private.keep_history(1); commit");
            } catch (SQLException e) {
              assertThat(e.getSQLState()).isEqualTo("57014");
            }
            return ids("handled_default").isEmpty();
          });
    }
    insert(2, "0 hours", "calls");
    stage.database.execute(
        "set role pgonce_owner; truncate pgonce.handled_default; reset role"); // as the docs say
    assertThat(ids("handled_default")).isEmpty();
  }

  @Test
  void history_everyListenersHousekeepingDoesIt() throws Exception {
    install("mails", "1 hour");
    partition("handled_older", "10 hours", "5 hours");
    stage.pgonce().listen(Stage.ORDERS, QUICK, Stage::effect).start();
    stage.awaitSoon(
        () ->
            stage.database.queryLong(AHEAD) > 1
                && stage.database.queryString("select to_regclass('pgonce.handled_older')::text")
                    == null);
  }

  @Test
  void history_goesWithTheSchemaAndADroppedChannelShowsNoMore() throws Exception {
    install("mails", "1 hour");
    keepUntilNothingIsLeft();
    insert(1, "1 minute", "mails");
    assertThat(ids("history")).containsExactly(1L);
    stage.database.execute("select pgonce.drop_channel('mails')");
    assertThat(ids("history")).isEmpty();
    PgOnce.using(stage.dataSource).install(Stage.ORDERS);
    stage.database.execute(Schema.uninstallScript());
    assertThat(
            stage.database.queryLong("select count(*) from pg_class where relname like 'handled%'"))
        .isZero();
  }

  /** Pages of the latest, by time and by key, without a row twice or left out. */
  @Test
  void history_isReadInPages() throws Exception {
    stage.database.execute(
        """
        select pgonce.install_channel('mails', 'EXACTLY_ONCE', 'published', '{"audit": null, "send": null}', history => '1 day');
        insert into pgonce.handled (handled_at, created_at, due_at, claimed_at, took, id, subscription_id, attempts, skipped, instance, delivery_key)
        select t.at, t.at, t.at, t.at, '1 ms', g, s.id, 1, false, 'by hand', 'key ' || g % 10
          from generate_series(1, 50) g cross join pgonce.subscription s join pgonce.channel c on c.id = s.channel_id
         cross join lateral (select date_trunc('minute', clock_timestamp()) - g / 5 * interval '1 minute') as t (at)
         where c.name = 'mails';
        create table read as select * from pgonce.history_of('mails', most => 7) limit 0;
        do $$
        declare
          last record;
        begin
          select null::timestamptz as handled_at, null::bigint as id into last;
          for page in 1 .. 30 loop
            insert into read select * from pgonce.history_of('mails', before => last.handled_at, before_id => last.id, most => 7);
            exit when not found;
            select r.handled_at, r.id into last from read r order by r.handled_at, r.id limit 1;
          end loop;
        end
        $$
        """);
    assertThat(
            stage.database.queryString(
                "select concat_ws(' ', count(*), count(distinct (subscription, id))) from read"))
        .isEqualTo("100 100");
    assertThat(
            stage.database.queryLong(
                "select count(*) from pgonce.history_of('mails', key => 'key 3')"))
        .isEqualTo(10);
    assertThat(
            stage.database.queryLong(
                "select count(*) from pgonce.history_of('mails', since => clock_timestamp() - interval '3 minutes', subscription_name => 'send')"))
        .isBetween(10L, 20L);
  }
}
