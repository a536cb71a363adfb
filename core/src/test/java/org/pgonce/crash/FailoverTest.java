package org.pgonce.crash;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.sql.SQLException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.Publisher;
import org.pgonce.stage.ListenerProcess;
import org.pgonce.stage.Stage;
import org.pgonce.stage.Stage.Order;
import org.pgonce.testkit.JvmProcess;
import org.pgonce.testkit.Login;
import org.pgonce.testkit.TestDatabase;
import org.pgonce.testkit.TestServer;

/**
 * The primary dies, and its standby is promoted, which has all that was acknowledged. Writers and
 * listeners know both by one URL: nobody configures them anew.
 */
@Tag("all")
class FailoverTest {

  private static final int SOME = 200;

  private static final String EFFECTS = "select count(*) from effect";

  // The registry came along, with the sessions on the dead one.
  private static final String HEARING =
      """
      select count(*) from pgonce.listener l join pg_stat_activity a on a.pid = l.backend
       where l.listens_by <> 'polling' and a.datname = current_database() and a.backend_start < l.seen_at
      """;

  private TestServer primary;
  private TestServer standby;
  private TestDatabase database;
  private Stage stage;
  private volatile boolean enough;

  @BeforeEach
  void start() throws SQLException {
    primary = TestServer.start();
    database = primary.createDatabase();
    stage = new Stage(database);
    database.execute("create table written (id bigint primary key)");
    standby = primary.standby();
    // From here on the primary acknowledges no commit that the standby does not have.
    database.execute("alter system set synchronous_standby_names = '*'");
    database.execute("select pg_reload_conf()");
    stage.awaitSoon(
        () ->
            database.queryLong("select count(*) from pg_stat_replication where sync_state = 'sync'")
                == 1);
  }

  @AfterEach
  void end() {
    enough = true;
    stage.close();
    standby.close();
    primary.close();
  }

  private String url() {
    return "jdbc:postgresql://%s:%d,%s:%d/%s?targetServerType=primary"
        .formatted(primary.host(), primary.port(), standby.host(), standby.port(), database.name());
  }

  @Test
  void h66_behindAFailoverEachIsHandledOnceAndHeardAgain() throws Exception {
    try (var pool = Stage.pooled(new String[] {url(), database.user()}, 4);
        var one = JvmProcess.start(ListenerProcess.class, url(), database.user());
        var other = JvmProcess.start(ListenerProcess.class, url(), database.user())) {
      one.awaitLine("started", Stage.SOON);
      other.awaitLine("started", Stage.SOON);
      var writer = CompletableFuture.runAsync(() -> write(pool), task -> new Thread(task).start());
      stage.awaitSoon(() -> stage.effects() > SOME);

      primary.killPostmaster();
      var promoted =
          new Login(standby.host(), standby.port(), database.name(), database.user(), "");
      ask(promoted.dataSource(), "select pg_promote()");

      var before = count(promoted.dataSource(), EFFECTS);
      await().atMost(Stage.SOON).until(() -> count(pool, EFFECTS) > before + SOME);
      await().atMost(Stage.SOON).until(() -> count(pool, HEARING) == 2);
      enough = true;
      writer.get(Stage.SOON.toSeconds(), TimeUnit.SECONDS);
      await().atMost(Stage.SOON).until(() -> count(pool, Stage.WAITING) == 0);
      assertThat(ask(pool, Stage.NOT_ONCE)).as("id and how often handled").isNull();
      assertThat(count(pool, "select count(*) from pgonce.dead_letter")).isZero();
      assertThat(one.isAlive() && other.isAlive()).isTrue();
    }
  }

  /** Whether a commit that failed has happened, the table says. */
  private void write(DataSource dataSource) {
    for (var id = 1L; !enough; id++) {
      try (var connection = dataSource.getConnection();
          var insert = connection.prepareStatement("insert into written values (?)")) {
        connection.setAutoCommit(false);
        insert.setLong(1, id);
        insert.execute();
        Publisher.standard().publish(connection, Stage.ORDERS, new Order(id, "x"));
        connection.commit();
      } catch (SQLException e) {
        // There is no primary for a while.
      }
    }
  }

  private static long count(DataSource dataSource, String sql) throws SQLException {
    return Long.parseLong(String.valueOf(ask(dataSource, sql)));
  }

  private static @Nullable String ask(DataSource dataSource, String sql) throws SQLException {
    try (var connection = dataSource.getConnection();
        var statement = connection.createStatement();
        var row = statement.executeQuery(sql)) {
      row.next();
      return row.getString(1);
    }
  }
}
