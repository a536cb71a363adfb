package org.pgonce.internal.claim;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.pgonce.Channel;
import org.pgonce.PgOnce;
import org.pgonce.internal.deliver.PoolSettings;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** What a claim costs beside its work. */
@PgTest
class ClaimPlanTest {

  // pgjdbc prepares at the 5th execution; the server then tries 5 plans before it keeps one.
  private static final int EXECUTIONS = 20;

  @Test
  void theStatementIsPlannedOnceAndNotForEachClaim(TestDatabase database) throws Exception {
    PgOnce.using(database.unpooled()).install(Channel.of("orders", String.class));
    database.execute("select pgonce.publish('orders', '\"a\"')");
    try (var connection = database.dataSource().getConnection()) {
      var taken = new PoolSettings().take(connection);
      for (var i = 0; i < EXECUTIONS; i++) {
        assertThat(ClaimStatement.claim(connection, taken, 1, false, Duration.ofMinutes(5)))
            .isNotNull();
        connection.rollback();
      }
      try (var statement = connection.createStatement();
          var plans =
              statement.executeQuery(
                  "select custom_plans, generic_plans from pg_prepared_statements where statement like '%pgonce.claim(%'")) {
        assertThat(plans.next()).isTrue();
        assertThat(plans.getInt(1)).as("planned anew").isLessThanOrEqualTo(5);
        assertThat(plans.getInt(2)).as("the kept plan used").isGreaterThanOrEqualTo(10);
      }
    }
  }
}
