package org.pgonce.internal.claim;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.pgonce.Channel;
import org.pgonce.PgOnce;
import org.pgonce.internal.jdbc.Borrowed;
import org.pgonce.internal.jdbc.PoolSettings;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/**
 * A claim is planned once, and by its index, whatever the tables look like when that happens: a
 * session keeps its plan for long.
 */
@PgTest(PgOnceInstalled.class)
class ClaimPlanTest {

  // pgjdbc prepares at the 5th execution; the server then tries 5 plans before it keeps one.
  private static final int EXECUTIONS = 20;

  private static final String STORE =
      """
      insert into pgonce.notification (subscription_id, payload) select %1$d, '{}' from generate_series(1, %2$d);
      insert into pgonce.scheduled
        select %1$d, g, clock_timestamp(), 1, clock_timestamp(), 'x', '{}' from generate_series(1, %2$d) g
      """;
  private static final String CLEAR =
      "delete from pgonce.notification where subscription_id > 0; delete from pgonce.scheduled where subscription_id > 0";

  private final PoolSettings pool = new PoolSettings();

  @BeforeEach
  void install(TestDatabase database) {
    PgOnce.using(database.unpooled()).install(Channel.of("orders", String.class));
  }

  private static void store(TestDatabase database, int subscription, int rows) throws SQLException {
    database.execute(STORE.formatted(subscription, rows));
  }

  private static void vacuum(TestDatabase database, String how) throws SQLException {
    database.execute(how + " pgonce.notification");
    database.execute(how + " pgonce.scheduled");
  }

  private void claimOften(Connection connection) throws SQLException {
    var session =
        new ClaimSession(
            new Borrowed(connection),
            pool.take(connection, Duration.ofSeconds(30)),
            Duration.ofMinutes(5));
    for (var due : new boolean[] {false, true}) {
      for (var i = 0; i < EXECUTIONS; i++) {
        var unused = ClaimStatement.claim(session, 1, due, 0, 1);
        connection.rollback();
      }
    }
  }

  /** The plans of the claims' statements as this session has them, one text each. */
  private static List<String> plans(Connection connection) throws SQLException {
    var plans = new ArrayList<String>();
    try (var statement = connection.createStatement()) {
      var calls = new ArrayList<String>();
      try (var prepared =
          statement.executeQuery(
              "select name, cardinality(parameter_types) from pg_prepared_statements where statement like '%SKIP LOCKED%'")) {
        while (prepared.next()) {
          // Of new rows, all and those behind the cursor.
          for (var last : prepared.getInt(2) == 3 ? List.of(", 0", ", 1000000000") : List.of("")) {
            calls.add("\"%s\" (false, 1%s)".formatted(prepared.getString(1), last));
          }
        }
      }
      for (var call : calls) {
        var text = new StringBuilder();
        try (var lines = statement.executeQuery("explain execute " + call)) {
          while (lines.next()) {
            text.append(lines.getString(1)).append('\n');
          }
        }
        plans.add(text.toString());
      }
    }
    connection.rollback();
    return plans;
  }

  private static void assertByIndex(Connection connection) throws SQLException {
    assertThat(plans(connection))
        .hasSize(3)
        .allSatisfy(
            plan ->
                assertThat(plan)
                    .doesNotContain("Seq Scan")
                    .doesNotContain("Sort")
                    .doesNotContain("Bitmap"))
        .anySatisfy(plan -> assertThat(plan).contains("Index Scan using notification_pkey"))
        .anySatisfy(plan -> assertThat(plan).contains("Index Scan using scheduled_due"));
  }

  private void assertPlannedByIndex(TestDatabase database) throws SQLException {
    for (var mode : List.of("auto", "force_generic_plan", "force_custom_plan")) {
      for (var pageCost : List.of("4", "1.1")) {
        try (var connection = database.dataSource().getConnection();
            var statement = connection.createStatement()) {
          statement.execute(
              "set plan_cache_mode = %s; set random_page_cost = %s".formatted(mode, pageCost));
          claimOften(connection);
          assertByIndex(connection);
        }
      }
    }
  }

  @Test
  void theStatementIsPlannedOnceAndNotForEachClaim(TestDatabase database) throws Exception {
    store(database, 1, 1);
    try (var connection = database.dataSource().getConnection()) {
      claimOften(connection);
      try (var statement = connection.createStatement();
          var plans =
              statement.executeQuery(
                  "select custom_plans, generic_plans from pg_prepared_statements where statement like '%SKIP LOCKED%'")) {
        for (var each = 0; each < 2; each++) {
          assertThat(plans.next()).isTrue();
          assertThat(plans.getInt(1)).as("planned anew").isLessThanOrEqualTo(5);
          assertThat(plans.getInt(2)).as("the kept plan used").isGreaterThanOrEqualTo(10);
        }
      }
    }
  }

  @Test
  void byTheIndexAfterInstall(TestDatabase database) throws Exception {
    assertPlannedByIndex(database);
  }

  @Test
  void byTheIndexWhileItFillsAndAfterItHasBeenEmptied(TestDatabase database) throws Exception {
    byTheIndexWhileItFillsAndAfterItHasBeenEmptied(1_000, database);
  }

  @Tag("all")
  @ParameterizedTest
  @ValueSource(ints = {1, 50_000})
  void soItIsWithFewAndWithMany(int rows, TestDatabase database) throws Exception {
    byTheIndexWhileItFillsAndAfterItHasBeenEmptied(rows, database);
  }

  private void byTheIndexWhileItFillsAndAfterItHasBeenEmptied(int rows, TestDatabase database)
      throws SQLException {
    store(database, 1, rows);
    assertPlannedByIndex(database);
    vacuum(database, "vacuum analyze");
    assertPlannedByIndex(database);
    database.execute(CLEAR);
    vacuum(database, "analyze");
    assertPlannedByIndex(database);
    vacuum(database, "vacuum analyze");
    assertPlannedByIndex(database);
  }

  @Test
  void byTheIndexBesideASubscriptionThatHasAlmostAllRows(TestDatabase database) throws Exception {
    store(database, 2, 50_000);
    vacuum(database, "vacuum analyze");
    assertPlannedByIndex(database);
    store(database, 1, 3);
    vacuum(database, "vacuum analyze");
    assertPlannedByIndex(database);
  }

  @Test
  void byTheIndexAmongManySubscriptionsThatHaveARowEach(TestDatabase database) throws Exception {
    // As many as make the index for what is due one level higher than the primary key's: then that
    // one, and a sort, would look cheaper for the one row that is expected.
    database.execute(
        """
        insert into pgonce.notification (subscription_id, payload) select g, '{}' from generate_series(1, 60000) g;
        insert into pgonce.scheduled
          select g, g, clock_timestamp(), 1, clock_timestamp(), 'x', '{}' from generate_series(1, 60000) g;
        reindex table pgonce.scheduled
        """);
    vacuum(database, "vacuum analyze");
    assertPlannedByIndex(database);
  }

  @Test
  void byTheIndexAfterVacuumFull(TestDatabase database) throws Exception {
    vacuum(database, "vacuum full");
    assertPlannedByIndex(database);
  }

  @Test
  void aSessionThatPlannedOnAnEmptyTablePlansAnewAfterTheNextScan(TestDatabase database)
      throws Exception {
    vacuum(database, "truncate");
    vacuum(database, "vacuum analyze");
    try (var connection = database.dataSource().getConnection()) {
      claimOften(connection);
      assertThat(plans(connection)).anySatisfy(plan -> assertThat(plan).contains("Seq Scan"));
      database.execute("select pgonce_private.keep_padding()");
      assertByIndex(connection);
      database.execute("select pgonce_private.keep_padding()"); // nothing to do: the plans stay
      assertByIndex(connection);
    }
    assertThat(database.queryLong("select count(*) from pgonce.notification")).isEqualTo(512);
    assertThat(database.queryLong("select count(*) from pgonce.scheduled")).isEqualTo(512);
  }
}
