package org.pgonce.handler;

import static org.assertj.core.api.Assertions.assertThat;
import static org.pgonce.stage.Stage.QUICK;

import com.zaxxer.hikari.HikariDataSource;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.pgonce.Channel;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.Publisher;
import org.pgonce.WriterContext;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.stage.Stage.Order;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TappedSource;
import org.pgonce.testkit.TestDatabase;

/**
 * One connection, which the application and a handler have in turn. pgonce reads the session's
 * settings once, and remembers what it left.
 */
@PgTest(PgOnceInstalled.class)
class RememberedSessionTest {

  private static final Channel<Order> CHANNEL =
      Stage.wokenAlways("settings.remembered", Mode.EXACTLY_ONCE);
  private static final Channel<Order> NEXT = Stage.wokenAlways("settings.next", Mode.EXACTLY_ONCE);

  private Stage stage;
  private HikariDataSource pool;
  private PgOnce pgonce;
  private final List<Integer> sessions = new CopyOnWriteArrayList<>();
  private final List<String> asked = new CopyOnWriteArrayList<>();
  private volatile String inHandler = "select 1";
  private int published;

  @BeforeEach
  void open(TestDatabase database) throws Exception {
    stage = new Stage(database);
    pool = database.pooled(1);
    database.execute(
        """
        create function keep(name text, value text) returns text language sql
        begin atomic select set_config(name, value, false); end
        """);
    PgOnce.using(stage.dataSource).install(CHANNEL, NEXT);
    var tapped =
        TappedSource.over(
            pool,
            (sql, real) -> {
              asked.add(sql);
              return sql;
            });
    pgonce = PgOnce.builder(tapped).wakeUpBy().build();
    pgonce.listen(
        CHANNEL,
        QUICK.withConcurrency(1).withMaxAttempts(1),
        (order, tx) -> {
          Stage.effect(order, tx);
          sessions.add(tx.query("select pg_backend_pid()", row -> row.getInt(1)).get(0));
          tx.query(inHandler, row -> 1);
          tx.publish(NEXT, order.payload());
        });
    pgonce.start();
  }

  @AfterEach
  void close() {
    pgonce.close();
    pool.close();
    stage.close();
  }

  /** Publishes one, and waits until it is handled and the pool has its connection. */
  private void handleOne() throws Exception {
    published++;
    try (var connection = stage.dataSource.getConnection()) {
      Publisher.standard().publish(connection, CHANNEL, new Order(published, "item"));
    }
    stage.awaitSoon(
        () ->
            sessions.size() == published && pool.getHikariPoolMXBean().getActiveConnections() == 0);
    assertThat(stage.eachOnce(published)).isTrue();
  }

  private String setting(String name) throws SQLException {
    try (var connection = pool.getConnection();
        var statement = connection.prepareStatement("select current_setting(?, true)")) {
      statement.setString(1, name);
      try (var row = statement.executeQuery()) {
        row.next();
        return row.getString(1);
      }
    }
  }

  private interface Use {
    void of(Connection connection) throws SQLException;
  }

  private void application(Use use) throws SQLException {
    try (var connection = pool.getConnection()) {
      use.of(connection);
    }
  }

  private long reads() {
    return asked.stream().filter(sql -> sql.contains("AS idle_before")).count();
  }

  @Test
  void h58_aSessionIsReadOnce() throws Exception {
    handleOne();
    handleOne();
    handleOne();
    assertThat(reads()).isEqualTo(1);
    assertThat(sessions).containsOnly(sessions.get(0));
  }

  @Test
  void h58_whatALaterHandlerSetsForGoodIsNotFoundByTheNext() throws Exception {
    var before = setting("statement_timeout");
    handleOne();
    inHandler = "select keep('statement_timeout', '1h')";
    handleOne();
    assertThat(setting("statement_timeout")).isEqualTo(before);
    handleOne();
    assertThat(setting("statement_timeout")).isEqualTo(before);
    // The second one had its connection closed; from then on they are set back.
    assertThat(sessions.get(1)).isEqualTo(sessions.get(0));
    assertThat(sessions.get(2)).isNotEqualTo(sessions.get(0));
    assertThat(reads()).isEqualTo(2);
  }

  @Test
  void h58_whatThePoolsUserSetsIsNotTakenFromItsSession() throws Exception {
    handleOne();
    application(
        connection -> connection.createStatement().execute("set intervalstyle = 'iso_8601'"));
    handleOne();
    // It was not known what it had been, so it was closed, and not set back.
    assertThat(setting("intervalstyle")).isEqualTo("postgres");
    application(
        connection -> connection.createStatement().execute("set intervalstyle = 'iso_8601'"));
    handleOne();
    handleOne();
    assertThat(setting("intervalstyle")).isEqualTo("iso_8601");
    assertThat(sessions.get(3)).isEqualTo(sessions.get(2)).isNotEqualTo(sessions.get(1));
  }

  @Test
  void h54_aContextThatThePoolsUserSetsMeanwhileIsNotTheNotifications() throws Exception {
    handleOne();
    application(connection -> WriterContext.setForSession(connection, Map.of("service", "shop")));
    handleOne();
    assertThat(sessions.get(1)).isEqualTo(sessions.get(0));
    assertThat(setting("pgonce.context")).contains("shop");
    assertThat(
            stage.database.queryLong(
                "select count(*) from pgonce.notification where subscription_id > 0 and context is not null"))
        .isZero();
    handleOne();
    assertThat(reads()).isEqualTo(1);
  }

  @Test
  void h42_aModeThatThePoolsUserSetsMeanwhileIsNotTheHandlers() throws Exception {
    handleOne();
    application(
        connection ->
            connection
                .createStatement()
                .execute(
                    "set session characteristics as transaction isolation level serializable"));
    inHandler = "select 1 / (current_setting('transaction_isolation') = 'read committed')::int";
    handleOne();
    assertThat(stage.deadLetters()).isZero();
  }
}
