package org.pgonce.cost;

import static org.assertj.core.api.Assertions.assertThat;
import static org.pgonce.stage.Stage.QUICK;

import com.zaxxer.hikari.HikariDataSource;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Pattern;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.Publisher;
import org.pgonce.stage.Stage;
import org.pgonce.stage.Stage.Order;
import org.pgonce.testkit.Login;
import org.pgonce.testkit.TestDatabase;
import org.pgonce.testkit.TestServer;

/**
 * What a notification costs as the server counts it, statements by pg_stat_statements and commits
 * by pg_stat_database, and as the docs print it. {@link CostTest} counts what the driver is asked.
 */
class ServerCostTest {

  private static final int FIRST = 20;
  private static final int COUNTED = 200;
  private static final int PUBLISHED = FIRST + COUNTED + 20;

  private static final Pattern ROW =
      Pattern.compile("\\| ([A-Z_, ]+) \\| (\\d+)[^|]*\\| (\\d+) \\| (\\d+)(?:, or (\\d+))? \\|");

  private static TestServer server;

  /** Per notification, without its handler's own statement. */
  private record Cost(long statements, long commits) {

    static Cost of(Map<String, Long> calls, long commits) {
      // BEGIN goes with the first statement, COMMIT is counted by itself.
      var statements = new HashMap<>(calls);
      statements.keySet().removeAll(List.of("BEGIN", "COMMIT"));
      // Counted until the driver has prepared its message, and no more.
      statements.keySet().removeIf(sql -> sql.contains("SAVEPOINT"));
      statements.keySet().removeIf(sql -> sql.contains("insert into effect"));
      // That of the start may come late.
      statements.keySet().removeIf(sql -> sql.contains("pgonce.listener_starts("));
      // One a second while something waits, the heartbeat each 15 s, and no more than that.
      statements
          .entrySet()
          .removeIf(
              e ->
                  (e.getKey().contains("pgonce.poll")
                          || e.getKey().contains("pgonce.listener_seen(")
                          || e.getKey().contains("pgonce.keep_house(")
                          || e.getKey().startsWith("SELECT pg_catalog.set_config($1, $2, $3)")
                          || e.getKey().contains("NOTIFY \"pgonce_self"))
                      && e.getValue() < COUNTED / 5);
      // One and the same, whether it looks for what lies behind or not.
      var deletions = new HashMap<>(statements);
      deletions.keySet().removeIf(sql -> !sql.contains("DELETE FROM pgonce."));
      statements.keySet().removeAll(deletions.keySet());
      statements.put("deletions", deletions.values().stream().mapToLong(n -> n).sum());
      // Else something else than the notifications was counted with them.
      assertThat(statements)
          .as("how often each was run")
          .allSatisfy((sql, n) -> assertThat(n % COUNTED).as(sql).isZero());
      // Of all; those that install and start are few beside them.
      return new Cost(
          statements.values().stream().mapToLong(n -> n).sum() / COUNTED,
          Math.round((double) commits / PUBLISHED));
    }
  }

  @BeforeAll
  static void start() throws SQLException {
    server =
        TestServer.start(
            Map.of(
                "shared_preload_libraries",
                "pg_stat_statements",
                // What a function runs is the function's affair.
                "pg_stat_statements.track",
                "top"));
    ask("create extension pg_stat_statements", "");
  }

  @AfterAll
  static void stop() {
    server.close();
  }

  /** From the database for maintenance: that is not counted. */
  private static Map<String, Long> ask(String sql, String database) throws SQLException {
    var login =
        new Login(
            server.host(), server.port(), server.database(), server.user(), server.password());
    try (var connection = login.dataSource().getConnection();
        var statement = connection.prepareStatement(sql)) {
      if (!database.isEmpty()) {
        statement.setString(1, database);
      }
      var answer = new HashMap<String, Long>();
      if (statement.execute()) {
        try (var row = statement.getResultSet()) {
          while (row.next()) {
            answer.put(row.getString(1), row.getLong(2));
          }
        }
      }
      return answer;
    }
  }

  private static Map<String, Long> calls(String database) throws SQLException {
    return ask(
        """
        select s.query, sum(s.calls) from pg_stat_statements s
          join pg_database d on d.oid = s.dbid and d.datname = ? group by s.query
        """,
        database);
  }

  private static long sessions(String database) throws SQLException {
    return ask(
            "select 'n', count(*) from pg_stat_activity where backend_type = 'client backend' and datname = ?",
            database)
        .getOrDefault("n", 0L);
  }

  private static long committed(String database) throws SQLException {
    return ask("select 'n', xact_commit from pg_stat_database where datname = ?", database)
        .getOrDefault("n", 0L);
  }

  /** What was called in between. */
  private static Map<String, Long> between(Map<String, Long> before, Map<String, Long> after) {
    var calls = new HashMap<String, Long>();
    after.forEach(
        (sql, n) -> {
          var more = n - before.getOrDefault(sql, 0L);
          if (more > 0) {
            calls.put(sql, more);
          }
        });
    return calls;
  }

  /** The table of docs/claims.md: for each mode without and with the handler's transaction. */
  private static Map<Mode, List<Cost>> printed() throws Exception {
    var printed = new HashMap<Mode, List<Cost>>();
    for (var line : Files.readAllLines(Path.of("../docs/claims.md"))) {
      var row = ROW.matcher(line);
      if (row.matches()) {
        var commits = Long.parseLong(row.group(4));
        var with = row.group(5) == null ? commits : Long.parseLong(row.group(5));
        for (var mode : row.group(1).split(", ", -1)) {
          printed.put(
              Mode.valueOf(mode),
              List.of(
                  new Cost(Long.parseLong(row.group(2)), commits),
                  new Cost(Long.parseLong(row.group(3)), with)));
        }
      }
    }
    return printed;
  }

  @Test
  void theDocsPrintTheCostOfEachMode() throws Exception {
    assertThat(printed()).containsOnlyKeys(Mode.values());
  }

  @Tag("all")
  @ParameterizedTest
  @EnumSource(Mode.class)
  void h47_steadyCostIsWhatTheDocsPrint(Mode mode) throws Exception {
    assertThat(List.of(cost(mode, false), cost(mode, true))).isEqualTo(printed().get(mode));
  }

  /** What opens a session later would be counted. */
  private static HikariDataSource filled(TestDatabase database) throws SQLException {
    var pool = database.pooled(4);
    var sessions = new ArrayList<Connection>();
    for (var i = 0; i < pool.getMaximumPoolSize(); i++) {
      sessions.add(pool.getConnection());
    }
    for (var session : sessions) {
      session.close();
    }
    return pool;
  }

  private static Cost cost(Mode mode, boolean usesTx) throws Exception {
    var channel = Stage.wokenAlways("cost." + mode.name().toLowerCase(Locale.ROOT), mode);
    try (var database = server.createDatabase();
        var stage = new Stage(database)) {
      PgOnce.using(stage.dataSource).install(channel);
      var name = database.name();
      var seen = new AtomicInteger();
      var first = new CompletableFuture<Map<String, Long>>();
      var last = new CompletableFuture<Map<String, Long>>();
      // What a session has committed is told when it ends, at the latest.
      stage.dataSource.close();
      stage.awaitSoon(() -> sessions(name) == 0);
      var before = committed(name);
      try (var pool = filled(database);
          var pgonce =
              PgOnce.builder(pool)
                  .pollInterval(Duration.ofHours(1)) // no scan in between
                  .build()) {
        pgonce
            .listen(
                channel,
                QUICK.withConcurrency(1).withLease(Duration.ofHours(1)), // and no renewal
                (order, tx) -> {
                  var call = seen.incrementAndGet();
                  if (call == FIRST) {
                    first.complete(calls(name));
                  } else if (call == FIRST + COUNTED) {
                    last.complete(calls(name));
                  }
                  if (usesTx) {
                    Stage.effect(order, tx);
                  }
                })
            .start();
        var orders = new ArrayList<Order>();
        LongStream.rangeClosed(1, PUBLISHED).forEach(id -> orders.add(new Order(id, "item")));
        try (var connection = pool.getConnection()) {
          Publisher.standard().publishAll(connection, channel, orders);
        }
        stage.awaitSoon(() -> seen.get() == PUBLISHED);
      }
      stage.awaitSoon(() -> sessions(name) == 0);
      return Cost.of(
          between(first.get(1, TimeUnit.SECONDS), last.get(1, TimeUnit.SECONDS)),
          committed(name) - before);
    }
  }
}
