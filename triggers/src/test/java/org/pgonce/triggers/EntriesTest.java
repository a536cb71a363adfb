package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.pgonce.ChannelOptions;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.testkit.Login;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/**
 * A channel's own view and function, its gate and its ids, as the functions of triggers use them.
 */
@Tag("versions")
@PgTest(PgOnceInstalled.class)
class EntriesTest {

  record Task(long id) {}

  private Login owner;

  /** Its rights are those of the trigger's function. */
  @BeforeEach
  void createTable(TestDatabase database) throws Exception {
    owner = database.loginRole("owner", "pgonce_installer");
    database.execute("create schema own authorization \"%s\"".formatted(owner.user()));
    asOwner("create table own.task (id bigint not null)");
  }

  private void asOwner(String sql) throws SQLException {
    as(owner, sql);
  }

  private static void as(Login login, String sql) throws SQLException {
    try (var connection = login.dataSource().getConnection();
        var statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }

  /** Another role that may install, with a schema of its own. */
  private static Login attacker(TestDatabase database) throws Exception {
    var other = database.loginRole("other", "pgonce_installer");
    database.execute("create schema lair authorization \"%s\"".formatted(other.user()));
    return other;
  }

  private static TriggerChannelBuilder<Task> tasks() {
    return TriggerChannel.on("own.task", Task.class).afterInsert().named("tasks");
  }

  private static String stored(TestDatabase database) throws SQLException {
    return database.queryString(
        "select string_agg(n.payload->>'id', ' ' order by n.id) from pgonce.notification n where n.subscription_id > 0");
  }

  /** The table has no CHECK, which PostgreSQL would plan for each writer's statement. */
  @Test
  void aStoreFunctionRefusesAKeyThatIsEmptyOrTooLong(TestDatabase database) throws Exception {
    PgOnce.using(owner.dataSource()).install(tasks().deliveryKey("id").build());
    for (var key : new String[] {"''", "repeat('x', 501)"}) {
      assertThatThrownBy(() -> asOwner("select pgonce.store_tasks('1', " + key + ")"))
          .hasMessageContaining("has no character, or more than 500");
    }
    asOwner("select pgonce.store_tasks('1', repeat('x', 500))");
    assertThat(database.queryLong("select count(*) from pgonce.delivery_key")).isEqualTo(1);
  }

  /** It pins no path, and runs with the rights of pgonce_owner. */
  @Test
  void h37_aStoreFunctionCallsNothingThatItsCallersPathLeadsTo(TestDatabase database)
      throws Exception {
    PgOnce.using(owner.dataSource()).install(tasks().deliveryKey("id").build());
    var operators = new StringBuilder();
    for (var type : List.of("int4", "int8", "text", "int4[]", "timestamptz", "jsonb")) {
      for (var operator : List.of("<>", "<", ">", "@>", "=")) {
        operators.append(
            """
            create operator trap.%1$s (leftarg = %2$s, rightarg = %2$s, function = trap.caught2);
            """
                .formatted(operator, type));
      }
      operators.insert(
          0,
          """
          create function trap.caught2(%1$s, %1$s) returns boolean language plpgsql as 'begin raise exception ''caught''; end';
          """
              .formatted(type));
    }
    database.execute(
        "create schema trap; grant usage on schema trap to public;\n"
            + operators
            + """
            create function trap.caught(int8) returns int8 language plpgsql as 'begin raise exception ''caught''; end';
            create operator trap.- (rightarg = int8, function = trap.caught);
            create function trap.length(text) returns int language plpgsql as 'begin raise exception ''caught''; end';
            create function trap.cardinality(anyarray) returns int language plpgsql as 'begin raise exception ''caught''; end';
            create function trap.nextval(regclass) returns int8 language plpgsql as 'begin raise exception ''caught''; end';
            create function trap.current_setting(text, boolean) returns text language plpgsql as 'begin raise exception ''caught''; end';
            create function trap.clock_timestamp() returns timestamptz language plpgsql as 'begin raise exception ''caught''; end';
            create function trap.date_part(text, timestamptz) returns float8 language plpgsql as 'begin raise exception ''caught''; end';
            create function trap.pg_notify(text, text) returns void language plpgsql as 'begin raise exception ''caught''; end';
            create function trap.sha256(bytea) returns bytea language plpgsql as 'begin raise exception ''caught''; end';
            create domain trap.jsonb as pg_catalog.text check (false);
            create domain trap.text as pg_catalog.text check (false);
            create domain trap.int4 as pg_catalog.int4 check (false);
            create domain trap.int8 as pg_catalog.int8 check (false)
            """);
    for (var how :
        List.of(
            "key => 'new'",
            "key => 'new'",
            "order_key => 'o', version => 2",
            "due_at => pg_catalog.now() operator(pg_catalog.+) interval '1 hour'",
            "error => 'no'",
            "context => '{\"a\": \"b\"}'")) {
      asOwner(
          "set search_path = trap, pg_catalog; select pgonce.store_tasks(payload => '1', %s)"
              .formatted(how));
    }
    assertThat(
            database.queryLong("select count(*) from pgonce.scheduled where subscription_id > 0"))
        .isOne();
    assertThatThrownBy(() -> asOwner("set search_path = trap, pg_catalog; select 1 <> 2"))
        .hasMessageContaining("caught");
  }

  /** As when it is published: the key is done at once, and remembered as long as others. */
  @ParameterizedTest
  @ValueSource(ints = {0, 1})
  void s12_theKeyOfARowThatNoSubscriptionTakesIsDone(int memory, TestDatabase database)
      throws Exception {
    var options =
        ChannelOptions.DEFAULT
            .withSubscriptions(Map.of("acme", Map.of("tenant", "acme")))
            .withKeyMemory(Duration.ofHours(memory));
    PgOnce.using(owner.dataSource()).install(tasks().options(options).deliveryKey("id").build());
    var insert =
        "select set_config('pgonce.context', '{\"tenant\":\"%s\"}', false); insert into own.task values (%d)";
    asOwner(insert.formatted("other", 1));
    database.execute("select pgonce.forget_keys()");
    asOwner(insert.formatted("acme", 1));
    asOwner(insert.formatted("acme", 2));
    assertThat(stored(database)).isEqualTo(memory == 0 ? "1 2" : "2");
  }

  @Test
  void s9_aBroadcastThatBecomesStoredHasAGate(TestDatabase database) throws Exception {
    PgOnce.using(owner.dataSource()).install(tasks().mode(Mode.BROADCAST).build());
    database.execute("select pgonce.change_mode('tasks', 'EXACTLY_ONCE')");
    var stored = tasks().build();
    PgOnce.using(owner.dataSource()).install(stored);
    asOwner("insert into own.task values (1)");
    assertThat(stored(database)).isEqualTo("1");
    var handled = new AtomicInteger();
    try (var pgonce = PgOnce.using(database.pooled(4))) {
      pgonce.listen(stored, (task, tx) -> handled.incrementAndGet()).start();
      asOwner("insert into own.task values (2)");
      Awaitility.await().until(() -> handled.get() == 2);
    }
  }

  /** As after a restore of data alone into a database that has the channel already. */
  @Test
  void h72_aChannelOfAnotherIdGetsAViewOfItsOwn(TestDatabase database) throws Exception {
    var tasks = tasks().build();
    PgOnce.using(owner.dataSource()).install(tasks);
    database.execute(
        """
        create temp table kept as select * from pgonce.channel;
        delete from pgonce.subscription where id > 0;
        delete from pgonce.channel;
        update kept set id = 77;
        insert into pgonce.channel overriding system value select * from kept;
        insert into pgonce.subscription (id, channel_id, of_channel, name) values (77 * 4096 + 1, 77, 'tasks', 'default');
        select pgonce.adopt('the original is gone')
        """);
    assertThatThrownBy(() -> asOwner("insert into own.task values (1)"))
        .hasMessageContaining("permission denied for view into_tasks");
    PgOnce.using(owner.dataSource()).install(tasks);
    asOwner("insert into own.task values (2)");
    assertThat(
            database.queryString(
                "select string_agg(concat(n.subscription_id / 4096, ' ', n.payload), '') from pgonce.notification n where n.subscription_id > 0"))
        .isEqualTo("77 {\"id\":2}");
  }

  @Test
  void h83_installingAgainUsesUpNoIdOfAChannel(TestDatabase database) throws Exception {
    for (var round = 0; round < 3; round++) {
      PgOnce.using(owner.dataSource()).install(tasks().build());
    }
    PgOnce.using(owner.dataSource()).install(tasks().named("next").build());
    assertThat(
            database.queryString(
                "select string_agg(name || id, ' ' order by id) from pgonce.channel"))
        .isEqualTo("tasks1 next2");
  }

  @Test
  void h30_aChannelHasNoMoreSubscriptionsThanIds(TestDatabase database) throws Exception {
    PgOnce.using(owner.dataSource()).install(tasks().build());
    database.execute("update pgonce.channel set numbered = 4094");
    var options = ChannelOptions.DEFAULT.withSubscriptions("default", "mail");
    PgOnce.using(owner.dataSource()).install(tasks().options(options).build());
    var more = ChannelOptions.DEFAULT.withSubscriptions("default", "mail", "audit");
    assertThatThrownBy(
            () -> PgOnce.using(owner.dataSource()).install(tasks().options(more).build()))
        .hasMessageContaining(
            "channel \"tasks\" has had 4095 subscriptions, dropped ones included, and with 1 more");
  }

  /** Its row is stored under a key, which then waits for those that are there alone. */
  @Test
  void s12_aKeyDoesNotWaitForADroppedSubscription(TestDatabase database) throws Exception {
    var two = ChannelOptions.DEFAULT.withSubscriptions("kept", "gone");
    PgOnce.using(owner.dataSource()).install(tasks().options(two).deliveryKey("id").build());
    database.execute("select pgonce.drop_subscription('tasks', 'gone')");
    asOwner("insert into own.task values (1)");
    assertThat(
            database.queryString(
                "select string_agg(s.name || k.waiting, ' ') from pgonce.notification n join pgonce.subscription s on s.id = n.subscription_id join pgonce.delivery_key k on k.id = n.id"))
        .isEqualTo("kept1");
  }

  /** Two statements with the same keys, of which each has them in another order. */
  @Test
  @Tag("all")
  void h48_statementsThatTakeTheSameKeysDoNotDeadlock(TestDatabase database) throws Exception {
    PgOnce.using(owner.dataSource()).install(tasks().deliveryKey("id").build());
    for (var round = 0; round < 5; round++) {
      var insert = "insert into own.task select g from generate_series(%s) g";
      var rows = 10_000 * round;
      var up = rows + 1 + ", " + (rows + 10_000) + ", 1";
      var down = rows + 10_000 + ", " + (rows + 1) + ", -1";
      var writers =
          Stream.of(up, down)
              .map(
                  order ->
                      CompletableFuture.runAsync(
                          () -> {
                            try {
                              asOwner(insert.formatted(order));
                            } catch (SQLException e) {
                              throw new IllegalStateException(e);
                            }
                          }))
              .toList();
      for (var writer : writers) {
        writer.get(60, TimeUnit.SECONDS);
      }
    }
    assertThat(
            database.queryLong(
                "select count(*) from pgonce.notification where subscription_id > 0"))
        .isEqualTo(50_000);
  }

  /** Over several statements nobody keeps them in order. */
  @Test
  void h48_ofTransactionsThatTakeTheSameKeysInOppositeOrdersOneIsToRunAgain(TestDatabase database)
      throws Exception {
    PgOnce.using(owner.dataSource()).install(tasks().deliveryKey("id").build());
    try (var one = owner.dataSource().getConnection();
        var other = owner.dataSource().getConnection()) {
      one.setAutoCommit(false);
      other.setAutoCommit(false);
      assertThat(List.of(stateOf(one, 1), stateOf(other, 2))).containsExactly("", "");
      var second = CompletableFuture.supplyAsync(() -> stateOf(one, 2));
      Awaitility.await()
          .until(() -> database.queryLong("select count(*) from pg_locks where not granted") > 0);
      var states = List.of(stateOf(other, 1), second.get(30, TimeUnit.SECONDS));
      assertThat(states).containsExactlyInAnyOrder("", "40P01");
      // The transaction that PostgreSQL ended is undone by its commit.
      one.commit();
      other.commit();
      assertThat(stored(database).split(" ")).containsExactlyInAnyOrder("1", "2");

      var ended = states.get(0).isEmpty() ? one : other;
      assertThat(List.of(stateOf(ended, 2), stateOf(ended, 1))).containsExactly("", "");
      ended.commit();
    }
    assertThat(stored(database).split(" ")).containsExactlyInAnyOrder("1", "2");
    assertThat(database.queryLong("select count(*) from own.task")).isEqualTo(4);
  }

  /** How the insert of a row has failed; empty if it has not. */
  private static String stateOf(Connection connection, int id) {
    try (var statement = connection.createStatement()) {
      statement.execute("insert into own.task values (" + id + ")");
      return "";
    } catch (SQLException e) {
      return e.getSQLState();
    }
  }

  /** Else each write to the table would fail. */
  @Test
  void h10_aChannelThatIsBeingInstalledIsNotDroppedUnderItsTrigger(TestDatabase database)
      throws Exception {
    PgOnce.using(owner.dataSource()).install(tasks().build());
    asOwner("drop trigger pgonce_tasks on own.task");
    try (var installing = owner.dataSource().getConnection()) {
      installing.setAutoCommit(false);
      Triggers.apply(installing, tasks().build());
      var drop =
          CompletableFuture.supplyAsync(
              () -> {
                try {
                  return database.queryString("select pgonce.drop_channel('tasks')");
                } catch (SQLException e) {
                  return e.getMessage();
                }
              });
      Awaitility.await()
          .until(() -> database.queryLong("select count(*) from pg_locks where not granted") > 0);
      installing.commit();
      assertThat(drop.get(30, TimeUnit.SECONDS))
          .contains("trigger pgonce_tasks of table own.task stores into it");
    }
    asOwner("insert into own.task values (1)");
    assertThat(stored(database)).isEqualTo("1");
  }

  /** PostgreSQL runs the expression of an index as its table's owner, whoever analyzes. */
  @Test
  void h38_anIndexGetsNoRightsFromWhoAnalyzes(TestDatabase database) throws Exception {
    PgOnce.using(owner.dataSource()).install(tasks().build());
    var other = attacker(database);
    as(
        other,
        """
        create table lair.bait (id int);
        insert into lair.bait values (1);
        create function lair.bite(int) returns int immutable language plpgsql as $$
        begin
          if session_user <> '%1$s' then
            perform pgonce.let_capture('tasks', '%1$s');
          end if;
          return $1;
        end $$;
        create index bitten on lair.bait (lair.bite(id))
        """
            .formatted(other.user()));
    assertThatThrownBy(() -> database.execute("analyze lair.bait"))
        .hasMessageContaining("within security-restricted operation");
    assertThat(
            database.queryLong(
                "select has_table_privilege('%s', 'pgonce.into_tasks', 'INSERT')::int"
                    .formatted(other.user())))
        .isZero();
  }

  /** A cast of somebody's type runs in the session of whoever writes, be it a superuser's. */
  @Test
  void h38_aTriggerGetsNoRightsFromWhoWrites(TestDatabase database) throws Exception {
    PgOnce.using(owner.dataSource()).install(tasks().build());
    var other = attacker(database);
    as(
        other,
        """
        create table lair.bait (id bigint);
        create function lair.bite() returns trigger language plpgsql security definer as $$
        begin
          perform pgonce.let_capture('tasks', '%s');
          return null;
        end $$;
        create trigger bite after insert on lair.bait execute function lair.bite()
        """
            .formatted(other.user()));
    assertThatThrownBy(() -> database.execute("insert into lair.bait values (1)"))
        .hasMessageContaining("channel \"tasks\" cannot be installed or changed by a trigger");
  }
}
