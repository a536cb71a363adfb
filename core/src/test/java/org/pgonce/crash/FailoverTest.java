package org.pgonce.crash;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.sql.SQLException;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
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
 * The primary dies, and its standby is promoted. Writers and listeners know both by one URL: nobody
 * configures them anew.
 */
@Tag("all")
class FailoverTest {

  private static final int SOME = 200;

  private static final Duration PAUSE = Duration.ofMillis(10);

  private static final String EFFECTS = "select count(*) from effect";

  // The registry came along, with the sessions on the dead one.
  private static final String HEARING =
      """
      select count(*) from pgonce.listener l join pg_stat_activity a on a.pid = l.backend
       where l.listens_by <> 'polling' and a.datname = current_database() and a.backend_start < l.seen_at
      """;

  private final TestServer primary = TestServer.start();
  private @Nullable TestServer copy;
  private TestDatabase database;
  private Stage stage;
  private volatile boolean enough;

  @BeforeEach
  void start() throws SQLException {
    database = primary.createDatabase();
    stage = new Stage(database);
    database.execute("create table written (id bigint primary key)");
    copy = primary.standby();
  }

  @AfterEach
  void end() {
    enough = true;
    if (stage != null) {
      stage.close();
    }
    if (copy != null) {
      copy.close();
    }
    primary.close();
  }

  private TestServer standby() {
    return Objects.requireNonNull(copy);
  }

  private void awaitStandby(String state) {
    stage.awaitSoon(
        () ->
            database.queryLong(
                    "select count(*) from pg_stat_replication where '%s' in (state, sync_state)"
                        .formatted(state))
                == 1);
  }

  private String url() {
    return "jdbc:postgresql://%s:%d,%s:%d/%s?targetServerType=primary"
        .formatted(
            primary.host(), primary.port(), standby().host(), standby().port(), database.name());
  }

  private JvmProcess listener() {
    return JvmProcess.start(ListenerProcess.class, url(), database.user());
  }

  private DataSource onStandby() {
    return new Login(standby().host(), standby().port(), database.name(), database.user(), "")
        .dataSource();
  }

  private CompletableFuture<Void> writer(DataSource pool) {
    return CompletableFuture.runAsync(() -> write(pool), task -> new Thread(task).start());
  }

  @Test
  void h66_behindAFailoverEachIsHandledOnceAndHeardAgain() throws Exception {
    // From here on the primary acknowledges no commit that the standby does not have.
    database.execute("alter system set synchronous_standby_names = '*'");
    database.execute("select pg_reload_conf()");
    awaitStandby("sync");
    try (var pool = Stage.pooled(new String[] {url(), database.user()}, 4);
        var one = listener();
        var other = listener()) {
      one.awaitLine("started", Stage.SOON);
      other.awaitLine("started", Stage.SOON);
      var writer = writer(pool);
      stage.awaitSoon(() -> stage.effects() > SOME);

      failOver();
      requireEachOnce(pool, writer);
      assertThat(one.isAlive() && other.isAlive()).isTrue();
    }
  }

  @Test
  void h66_whereTheStandbyHasLostCommitsEachThatItHasIsHandledOnce() throws Exception {
    awaitStandby("streaming");
    try (var pool = Stage.pooled(new String[] {url(), database.user()}, 4);
        var one = listener()) {
      one.awaitLine("started", Stage.SOON);
      var writer = writer(pool);
      stage.awaitSoon(() -> stage.effects() > SOME);

      // What follows is lost: rows, a listener in the registry, and ids, which come again.
      ask(onStandby(), "alter system set primary_conninfo = ''");
      ask(onStandby(), "select pg_reload_conf()");
      stage.awaitSoon(() -> database.queryLong("select count(*) from pg_stat_replication") == 0);
      var kept = stage.effects();
      try (var other = listener()) {
        other.awaitLine("started", Stage.SOON);
        stage.awaitSoon(() -> stage.effects() > kept + 10 * SOME);

        failOver();
        requireEachOnce(pool, writer);
        assertThat(one.isAlive() && other.isAlive()).isTrue();
      }
    }
  }

  private void failOver() throws SQLException {
    primary.killPostmaster();
    ask(onStandby(), "select pg_promote()");
  }

  private void requireEachOnce(DataSource pool, CompletableFuture<Void> writer) throws Exception {
    var before = count(onStandby(), EFFECTS);
    await().atMost(Stage.SOON).until(() -> count(pool, EFFECTS) > before + SOME);
    await().atMost(Stage.SOON).until(() -> count(pool, HEARING) == 2);
    enough = true;
    writer.get(Stage.SOON.toSeconds(), TimeUnit.SECONDS);
    await().atMost(Stage.SOON).until(() -> count(pool, Stage.WAITING) == 0);
    assertThat(ask(pool, Stage.NOT_ONCE)).as("id and how often handled").isNull();
    assertThat(count(pool, "select count(*) from pgonce.dead_letter")).isZero();
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
        LockSupport.parkNanos(PAUSE.toNanos());
      }
    }
  }

  private static long count(DataSource dataSource, String sql) throws SQLException {
    return Long.parseLong(String.valueOf(ask(dataSource, sql)));
  }

  /** The first column of its first row; null if it has none. */
  private static @Nullable String ask(DataSource dataSource, String sql) throws SQLException {
    try (var connection = dataSource.getConnection();
        var statement = connection.createStatement()) {
      if (!statement.execute(sql)) {
        return null;
      }
      try (var row = statement.getResultSet()) {
        row.next();
        return row.getString(1);
      }
    }
  }
}
