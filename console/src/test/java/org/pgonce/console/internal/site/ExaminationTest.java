package org.pgonce.console.internal.site;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.console.Stage;
import org.pgonce.console.internal.look.Source;
import org.pgonce.operations.internal.sql.RefusedException;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** What doctor finds, where the database does not answer. */
@Tag("all")
@PgTest(Stage.class)
class ExaminationTest {

  private static final long NEVER_OLD = Duration.ofDays(1).toNanos();

  private static String look(Examination examination, TestDatabase database) {
    try (var one = new Source(database.dataSource()).open()) {
      return examination.table(one, false).rows().toString();
    }
  }

  @Test
  void aLookThatHangsEndsAndSaysWhatWasNotExamined(TestDatabase database) throws Exception {
    try (var holder = database.dataSource().getConnection();
        var statement = holder.createStatement()) {
      holder.setAutoCommit(false);
      statement.execute("lock table pgonce.listener in access exclusive mode");
      assertThat(look(new Examination(), database))
          .contains("NO_LISTENER was not examined: ERROR: canceling statement due to lock timeout")
          .contains("Somebody holds the lock");
      holder.rollback();
    }
  }

  /** The bound is a minute; here it has passed at once, or never does. */
  @Test
  void whileALookHangsOthersAreGivenWhatIsYoungEnough(TestDatabase database) throws Exception {
    var patient = new Examination(-1, NEVER_OLD);
    var strict = new Examination(-1, -1);
    var before = look(patient, database);
    look(strict, database);
    try (var holder = database.dataSource().getConnection();
        var statement = holder.createStatement()) {
      holder.setAutoCommit(false);
      statement.execute("lock table pgonce.listener in access exclusive mode");
      var first = CompletableFuture.supplyAsync(() -> look(patient, database));
      var second = CompletableFuture.supplyAsync(() -> look(strict, database));
      await()
          .atMost(Duration.ofSeconds(30))
          .until(
              () ->
                  database.queryLong(
                          "select count(distinct pid) from pg_locks where not granted and relation = 'pgonce.listener'::regclass")
                      == 2);
      assertThat(look(patient, database)).isEqualTo(before);
      assertThatThrownBy(() -> look(strict, database))
          .isInstanceOf(RefusedException.class)
          .hasMessageContaining("The database is slow");
      holder.rollback();
      first.get(60, TimeUnit.SECONDS);
      second.get(60, TimeUnit.SECONDS);
    }
  }
}
