package org.pgonce.guards;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.sql.SQLException;
import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.pgonce.testkit.JvmProcess;
import org.pgonce.testkit.ParentWatch;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.ShiftedClock;
import org.pgonce.testkit.TestDatabase;
import org.postgresql.ds.PGSimpleDataSource;

/** H80: processes whose clocks are a day off keep guards as long as was promised. */
@PgTest(GuardsInstalled.class)
class GuardClockTest {

  private static final Duration BOUND = Duration.ofSeconds(60);
  private static final Guard<String, String> PAYMENT =
      Guard.of("payment", String.class, String.class)
          .withOptions(GuardOptions.DEFAULT.withRetention(Duration.ofHours(1)));

  /** Pays, and says what was deleted before and what it got. */
  static final class Payer {
    public static void main(String[] arguments) {
      ParentWatch.exitWhenParentDies();
      System.out.println("its clock says " + System.currentTimeMillis());
      var dataSource = new PGSimpleDataSource();
      dataSource.setUrl(arguments[0]);
      dataSource.setUser(arguments[1]);
      var guards = Guards.using(dataSource);
      var purged = guards.purge(10);
      var receipt =
          guards.once(PAYMENT, "order-1", "7 EUR", () -> arguments[2] + " receipt").orElseThrow();
      System.out.println("purged " + purged + ", " + receipt);
    }
  }

  private static void assertPays(
      TestDatabase database, ShiftedClock clock, String receipt, String said) throws Exception {
    var command =
        JvmProcess.of(Payer.class).arguments(database.jdbcUrl(), database.user(), receipt);
    try (var payer = clock.on(command).start()) {
      var time = payer.awaitLine("its clock says ", BOUND).replace("its clock says ", "");
      assertThat(Long.parseLong(time) - System.currentTimeMillis())
          .isCloseTo(clock.shift.toMillis(), within(Duration.ofMinutes(2).toMillis()));
      payer.awaitLine(said, BOUND);
    }
  }

  @ParameterizedTest
  @EnumSource
  @Tag("all")
  void h80_itRemembersGuardsAsLongAsWasPromised(ShiftedClock clock, TestDatabase database)
      throws Exception {
    assertPays(database, clock, "first", "purged 0, first receipt");
    var begun = Guards.using(database.dataSource()).find(PAYMENT.key("order-1")).orElseThrow();
    assertThat(begun.age()).isBetween(Duration.ZERO, BOUND);
    passes(database, "59 minutes");
    assertPays(database, clock, "second", "purged 0, first receipt");
    passes(database, "1 minute");
    assertPays(database, clock, "second", "purged 1, second receipt");
  }

  /** So much time goes by in the database: what it has noted lies further back. */
  private static void passes(TestDatabase database, String time) throws SQLException {
    database.execute(
        "update pgonce_guards.guard set settled_at = settled_at - interval '%1$s', keep_until = keep_until - interval '%1$s'"
            .formatted(time));
  }
}
