package org.pgonce.handler;

import static org.assertj.core.api.Assertions.assertThat;
import static org.pgonce.stage.Stage.QUICK;

import com.zaxxer.hikari.HikariDataSource;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.pgonce.Channel;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.Publisher;
import org.pgonce.WriterContext;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.stage.Stage.Order;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** What a handler leaves of its session: the next user of the pooled connection finds nothing. */
@Tag("versions")
@PgTest(PgOnceInstalled.class)
class SessionSettingsTest {

  private static final String TENANT = "select pgonce.current_context()::jsonb ->> 'tenant'";

  private Stage stage;
  private HikariDataSource pool;

  @BeforeEach
  void open(TestDatabase database) throws SQLException {
    stage = new Stage(database);
    pool = database.pooled(1);
    database.execute(
        """
        create function keep(name text, value text) returns text language sql
        begin atomic select set_config(name, value, false); end
        """);
  }

  @AfterEach
  void close() {
    stage.close();
  }

  private void publish(Channel<Order> channel, int count) throws SQLException {
    try (var connection = stage.dataSource.getConnection()) {
      connection.setAutoCommit(false);
      for (var id = 1; id <= count; id++) {
        WriterContext.set(connection, Map.of("tenant", "t" + id));
        Publisher.standard().publish(connection, channel, new Order(id, "item"));
      }
      connection.commit();
    }
  }

  /** Of the pool's only connection. */
  private Map<String, String> settings() throws SQLException {
    var settings = new TreeMap<String, String>();
    try (var connection = pool.getConnection();
        var statement = connection.createStatement();
        var row =
            statement.executeQuery(
                """
                select name, setting from pg_settings where name <> 'application_name' and name not like 'plpgsql.%'
                union all
                select n, coalesce(current_setting(n, true), '')
                  from unnest(array['role', 'pgonce.context', 'pgonce.depth', 'pgonce.operator', 'app.tenant']) n
                """)) {
      while (row.next()) {
        settings.put(row.getString(1), row.getString(2));
      }
    }
    return settings;
  }

  /** The session, before and after handlers that set something for good. */
  private void leavesNothing(Mode mode, String sql) throws Exception {
    var channel = Stage.wokenAlways("settings." + mode.name().toLowerCase(Locale.ROOT), mode);
    PgOnce.using(stage.dataSource).install(channel);
    var before = settings();
    var handled = new AtomicInteger();
    try (var pgonce = PgOnce.builder(pool).wakeUpBy().build()) {
      pgonce.listen(
          channel,
          QUICK.withConcurrency(1).withMaxAttempts(1),
          (order, tx) -> {
            Stage.effect(order, tx);
            if (order.payload().id() == 1) {
              tx.query(sql, row -> 1);
            }
            handled.incrementAndGet();
          });
      publish(channel, 3);
      pgonce.start();
      stage.awaitSoon(() -> handled.get() == 3);
      stage.awaitNothingWaits();
    }
    assertThat(stage.deadLetters()).isZero();
    assertThat(stage.eachOnce(3)).isTrue();
    assertNothingIsLeft(before);
  }

  private void assertNothingIsLeft(Map<String, String> before) throws SQLException {
    var after = settings();
    after.entrySet().removeAll(before.entrySet());
    assertThat(after).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "select keep('pgonce.context', '{\"tenant\": \"another\"}')",
        // The very value that the claim has set for its transaction.
        "select keep('pgonce.context', current_setting('pgonce.context'))",
        "select keep('pgonce.depth', '90'), keep('pgonce.operator', 'somebody')",
        "select pgonce.set_context('tenant', 'another', for_session => true)",
        "select keep('statement_timeout', '1h'), keep('lock_timeout', '1h')",
        "select set_config('app.tenant', 'another', false)",
        "select set_config('work_mem', '7MB', length('three') < 3)",
      })
  void h58_whatAHandlerSetsForGoodIsNotFoundByTheNext(String sql) throws Exception {
    leavesNothing(Mode.EXACTLY_ONCE, sql);
  }

  @ParameterizedTest
  @EnumSource(names = {"AT_LEAST_ONCE", "AT_MOST_ONCE"})
  void h58_theSameInAHandlersOwnTransaction(Mode mode) throws Exception {
    leavesNothing(
        mode,
        "select set_config('app.tenant', 'another', false), keep('pgonce.context', current_setting('pgonce.context'))");
  }

  /** Of 17 and later; an earlier server takes the name for one that it does not know. */
  @ParameterizedTest
  @EnumSource(names = {"EXACTLY_ONCE", "AT_LEAST_ONCE"})
  void h58_aTransactionTimeoutForGoodIsNotFoundByTheNext(Mode mode) throws Exception {
    leavesNothing(
        mode,
        """
        select case when current_setting('transaction_timeout', true) is not null
                 then keep('transaction_timeout', '1h') end
        """);
  }

  /** By whose rights its deletion would fail, and the notification become a dead letter. */
  @ParameterizedTest
  @ValueSource(strings = {"set_config('role', '%s', true)", "keep('role', '%s')"})
  void h58_aRoleSetByAFunctionDoesNotSettle(String call) throws Exception {
    var tenant = stage.database.loginRole("tenant").user();
    leavesNothing(Mode.EXACTLY_ONCE, "select " + call.formatted(tenant));
    stage.clear();
    leavesNothing(Mode.AT_LEAST_ONCE, "select " + call.formatted(tenant));
  }

  /**
   * The claim has set context and depth for its transaction, which the run after it is still in.
   */
  @ParameterizedTest
  @ValueSource(ints = {1, 20})
  void h58_aRunAfterAConflictLeavesNoContext(int batch) throws Exception {
    var channel = Stage.wokenAlways("settings.conflict", Mode.EXACTLY_ONCE);
    PgOnce.using(stage.dataSource).install(channel);
    var before = settings();
    var runs = new AtomicInteger();
    var tenants = new CopyOnWriteArrayList<String>();
    try (var pgonce = PgOnce.builder(pool).wakeUpBy().build()) {
      pgonce.listen(
          channel,
          QUICK.withConcurrency(1).withBatch(batch),
          (order, tx) -> {
            tenants.addAll(tx.query(TENANT, row -> row.getString(1)));
            if (runs.incrementAndGet() == 1) {
              tx.update("do $$ begin raise serialization_failure; end $$");
            }
          });
      publish(channel, 1);
      pgonce.start();
      stage.awaitNothingWaits();
    }
    assertThat(runs).hasValue(2);
    assertThat(tenants).containsExactly("t1", "t1");
    assertNothingIsLeft(before);
  }

  /** What the pool's user has set for the session is not pgonce's to take away. */
  @Test
  void h58_aContextThatTheSessionHadBeforeStays() throws Exception {
    try (var connection = pool.getConnection()) {
      WriterContext.setForSession(connection, Map.of("service", "shop"));
    }
    leavesNothing(
        Mode.EXACTLY_ONCE, "select keep('pgonce.context', current_setting('pgonce.context'))");
    try (var connection = pool.getConnection();
        var statement = connection.createStatement();
        var row = statement.executeQuery("select pgonce.current_context()::jsonb ->> 'service'")) {
      row.next();
      assertThat(row.getString(1)).isEqualTo("shop");
    }
  }

  /** A session is read once, and compared behind each handler: a reload is none of its changes. */
  @Test
  void h58_whatTheServersConfigurationSaysAnewStays() throws Exception {
    var channel = Stage.wokenAlways("settings.reload", Mode.EXACTLY_ONCE);
    PgOnce.using(stage.dataSource).install(channel);
    var handled = new AtomicInteger();
    try (var pgonce = PgOnce.builder(pool).wakeUpBy().build()) {
      pgonce.listen(
          channel,
          QUICK.withConcurrency(1),
          (order, tx) -> {
            if (order.payload().id() == 2) {
              stage.database.execute("alter system set lock_timeout = '7s'");
              stage.database.execute("select pg_reload_conf()");
              stage.awaitSoon(() -> lockTimeout(tx.connection()).equals("7s"));
            }
            Stage.effect(order, tx);
            handled.incrementAndGet();
          });
      publish(channel, 3);
      pgonce.start();
      stage.awaitSoon(() -> handled.get() == 3);
      stage.awaitNothingWaits();
      try (var connection = pool.getConnection()) {
        assertThat(lockTimeout(connection)).isEqualTo("7s");
      }
    } finally {
      stage.database.execute("alter system reset lock_timeout");
      stage.database.execute("select pg_reload_conf()");
    }
    assertThat(stage.eachOnce(3)).isTrue();
  }

  private static String lockTimeout(Connection connection) throws SQLException {
    try (var statement = connection.createStatement();
        var row = statement.executeQuery("show lock_timeout")) {
      row.next();
      return row.getString(1);
    }
  }

  /** A shorter one than pgonce's own bounds: it is kept, and nothing is lost or doubled. */
  @Test
  void h58_timeoutsOfTheDatabaseDoNotFailWhatIsShort() throws Exception {
    var name = stage.database.name();
    stage.database.execute(
        "alter database %s set statement_timeout = '20s'; alter database %s set lock_timeout = '1s'"
            .formatted(name, name));
    if (stage.database.queryLong("select current_setting('server_version_num')::int") >= 170000) {
      stage.database.execute("alter database %s set transaction_timeout = '20s'".formatted(name));
    }
    leavesNothing(Mode.EXACTLY_ONCE, "select 1");
    stage.clear();
    leavesNothing(Mode.AT_MOST_ONCE, "select 1");
  }
}
