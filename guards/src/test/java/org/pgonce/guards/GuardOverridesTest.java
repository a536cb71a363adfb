package org.pgonce.guards;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.pgonce.guards.GuardTest.CHARGE;
import static org.pgonce.guards.GuardTest.PAYMENT;

import java.io.IOException;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.PgOnceException;
import org.pgonce.guards.GuardTest.Receipt;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** What persons decide, who may, how long it is kept, and by which clock. */
@PgTest(GuardsInstalled.class)
@Tag("drivers")
class GuardOverridesTest {

  private static final GuardKey KEY = PAYMENT.key("order-1");
  private static final String HISTORY =
      "select string_agg(concat_ws(' ', key, attempt, action, was, became, who, why), '; ' order by id) from pgonce_guards.guard_history";

  private TestDatabase database;
  private Guards guards;

  @BeforeEach
  void setUp(TestDatabase database) {
    this.database = database;
    guards = Guards.using(database.pooled(8));
  }

  private GuardResult<Receipt> call(
      Guard<GuardTest.Charge, Receipt> guard, Callable<Receipt> call) {
    return guards.once(guard, KEY.key(), CHARGE, call);
  }

  private static Receipt lost() throws IOException {
    throw new IOException("reset");
  }

  private static Receipt done() {
    return new Receipt("done");
  }

  @Test
  void example_aPersonReleasesWhatNobodyKnowsAndItIsRecorded() throws Exception {
    assertThat(call(PAYMENT, GuardOverridesTest::lost)).isInstanceOf(GuardResult.Unknown.class);

    guards.release(KEY, "ada", "the bank confirmed that nothing had arrived");

    assertThat(call(PAYMENT, GuardOverridesTest::done).orElseThrow())
        .isEqualTo(new Receipt("done"));
    assertThat(database.queryString(HISTORY))
        .isEqualTo(
            "order-1 1 RELEASED UNKNOWN FAILED ada the bank confirmed that nothing had arrived");
    assertThat(
            database.queryLong(
                "select count(*) from pgonce_guards.guard_history where role = session_user and at <= clock_timestamp()"))
        .isEqualTo(1);
  }

  @Test
  void s6_aPersonSettlesItAndRepeatsGetThatAnswer() throws Exception {
    call(PAYMENT, GuardOverridesTest::lost);
    guards.settle(
        KEY, Receipt.class, GuardAnswer.happened(new Receipt("paper")), "ada", "on paper");
    assertThat(call(PAYMENT, GuardOverridesTest::done).orElseThrow())
        .isEqualTo(new Receipt("paper"));
    assertThatThrownBy(() -> guards.release(KEY, "ada", "again"))
        .isInstanceOf(PgOnceException.class)
        .hasMessageContaining("has succeeded, which nobody can undo");
    assertThatThrownBy(() -> guards.release(PAYMENT.key("x"), "ada", "why"))
        .hasMessageContaining("is not there: look for it in pgonce_guards.guard_status");
    assertThatThrownBy(
            () -> guards.settle(KEY, Receipt.class, GuardAnswer.cannotTell(), "ada", "why"))
        .isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void s6_nobodyDecidesAboutACallThatMayStillRunNorWithoutANameAndAReason() throws Exception {
    call(
        PAYMENT,
        () -> {
          assertThatThrownBy(() -> guards.release(KEY, "ada", "impatient"))
              .isInstanceOf(PgOnceException.class)
              .hasMessageContaining("may still be running on \"pid");
          return lost();
        });
    for (var blank : List.of("", "  ", "x".repeat(2_001))) {
      assertThatThrownBy(() -> guards.release(KEY, blank, "why"))
          .isInstanceOf(IllegalArgumentException.class);
      assertThatThrownBy(() -> guards.release(KEY, "ada", blank))
          .isInstanceOf(IllegalArgumentException.class);
      assertThatThrownBy(
              () ->
                  database.execute(
                      "select pgonce_guards.release_guard('payment', 'order-1', 'ada', '"
                          + blank
                          + "')"))
          .hasMessageContaining("say who does it");
    }
    assertThat(call(PAYMENT, GuardOverridesTest::done)).isInstanceOf(GuardResult.Unknown.class);
    assertThat(database.queryString(HISTORY)).isNull();
  }

  @Test
  void s6_aLateSuccessOfAReleasedCallKeepsTheSecondFromBeingMade() throws Exception {
    var result =
        call(
            PAYMENT,
            () -> {
              expire();
              guards.release(KEY, "ada", "it looked dead");
              return new Receipt("late");
            });
    assertThat(result.orElseThrow()).isEqualTo(new Receipt("late"));
    assertThat(call(PAYMENT, GuardOverridesTest::done).orElseThrow())
        .isEqualTo(new Receipt("late"));
    assertThat(database.queryString(HISTORY))
        .contains("order-1 1 LATE FAILED SUCCEEDED the call itself it had been taken for failed");
  }

  @Test
  void h51_aLateOutcomeAfterAnotherAttemptIsReportedAndRecordedAndChangesNothing()
      throws Exception {
    assertThatThrownBy(
            () ->
                call(
                    PAYMENT,
                    () -> {
                      expire();
                      guards.release(KEY, "ada", "it looked dead");
                      call(PAYMENT, () -> new Receipt("second")).orElseThrow();
                      return new Receipt("late");
                    }))
        .isInstanceOfSatisfying(
            OutcomeNotRecordedException.class,
            e -> assertThat(e.response()).contains(new Receipt("late")))
        .hasMessageContaining("it stands as SUCCEEDED by attempt 2");
    assertThat(call(PAYMENT, GuardOverridesTest::done).orElseThrow())
        .isEqualTo(new Receipt("second"));
    assertThat(database.queryString(HISTORY)).contains("LATE SUCCEEDED SUCCEEDED the call itself");
  }

  private void expire() throws SQLException {
    database.execute("update pgonce_guards.guard set unknown_at = clock_timestamp()");
  }

  @Test
  void s6_onlyTheAdminOverridesAndTheGuardRoleSeesNoTokenAndNoTable() throws Exception {
    call(PAYMENT, GuardOverridesTest::lost);
    var shop = database.loginRole("shop", "pgonce_guard");
    var shopGuards = Guards.using(shop.unpooled());
    assertThat(shopGuards.once(PAYMENT, "order-2", CHARGE, GuardOverridesTest::done).orElseThrow())
        .isEqualTo(new Receipt("done"));
    assertThat(shopGuards.open(10)).hasSize(1);
    assertThat(shopGuards.purge(10)).isZero();
    assertThatThrownBy(() -> shopGuards.release(KEY, "eve", "I want to"))
        .hasMessageContaining("permission denied");
    try (var connection = shop.unpooled().getConnection();
        var statement = connection.createStatement()) {
      for (var forbidden :
          List.of(
              "select * from pgonce_guards.guard",
              "select * from pgonce_guards.guard_history",
              "delete from pgonce_guards.guard",
              "select pgonce_guards.release_guard('payment', 'order-1', 'eve', 'x')",
              "select pgonce_guards.guard_record('payment', 'order-1', '', gen_random_uuid(), 'PERSON', 'FAILED', true, null, null)",
              "select pgonce_guards.hold_sequence('a', 'b', gen_random_uuid(), 1)")) {
        assertThatThrownBy(() -> statement.execute(forbidden))
            .as(forbidden)
            .hasMessageContaining("permission denied");
      }
      try (var row =
          statement.executeQuery(
              "select count(*) from pgonce_guards.guard_standing('payment', 'order-1', '') where token is not null")) {
        row.next();
        assertThat(row.getLong(1)).isZero();
      }
    }
    var nobody = Guards.using(database.loginRole("nobody").unpooled());
    assertThatThrownBy(() -> nobody.once(PAYMENT, "order-3", CHARGE, GuardOverridesTest::done))
        .isInstanceOf(PgOnceException.class)
        .hasMessageContaining("the call was not made")
        .hasMessageContaining("permission denied");
    var oncall = Guards.using(database.loginRole("oncall", "pgonce_admin").unpooled());
    oncall.release(oncall.open(10).get(0).key(), "ada", "checked");
    assertThat(database.queryString("select role like 'oncall%' from pgonce_guards.guard_history"))
        .isEqualTo("t");
  }

  @Test
  void s6_retentionDeletesWhatIsDoneInBatchesAndNothingThatWasPromisedLonger() throws Exception {
    var brief = GuardOptions.DEFAULT.withRetention(Duration.ZERO);
    var short_ = PAYMENT.withOptions(brief);
    for (var i = 0; i < 25; i++) {
      guards.once(short_, "done-" + i, CHARGE, GuardOverridesTest::done).orElseThrow();
    }
    guards.once(PAYMENT, "longer", CHARGE, GuardOverridesTest::done).orElseThrow();
    var unused = guards.once(short_, "unknown", CHARGE, GuardOverridesTest::lost);
    unused =
        guards.once(
            short_,
            "running",
            CHARGE,
            () -> {
              assertThat(guards.purge(10)).isEqualTo(10);
              // Another cleaner, or an inspector, that holds a row does not hold this one up.
              try (var other = database.unpooled().getConnection()) {
                other.setAutoCommit(false);
                try (var statement = other.createStatement()) {
                  statement.execute(
                      "select * from pgonce_guards.guard where keep_until < clock_timestamp() limit 1 for update");
                  assertThat(guards.purge(1_000)).isEqualTo(14);
                }
                other.rollback();
              }
              expire(); // even so it is open
              assertThat(guards.purge(1_000)).isEqualTo(1);
              return done();
            });
    assertThat(
            database.queryString(
                "select string_agg(key, ' ' order by key) from pgonce_guards.guard"))
        .isEqualTo("longer running unknown");
    // A later definition, or whoever calls purge, cannot go below what was promised.
    assertThat(guards.once(short_, "longer", CHARGE, GuardOverridesTest::done).orElseThrow())
        .isEqualTo(new Receipt("done"));
    assertThat(guards.purge(1_000)).isEqualTo(1); // "running", which has ended
    assertThat(
            database.queryString(
                "select keep_until - settled_at = interval '720 hours' from pgonce_guards.guard where key = 'longer'"))
        .isEqualTo("t");
    database.execute(
        "update pgonce_guards.guard set keep_until = clock_timestamp() where key = 'longer'");
    assertThat(guards.purge(1_000)).isEqualTo(1);
  }

  @Test
  void h80_theDatabaseClockDecides() throws Exception {
    var unused =
        call(
            PAYMENT,
            () -> {
              // A day passes in the database, none here: it counts.
              database.execute(
                  "update pgonce_guards.guard set unknown_at = unknown_at - interval '1 day', started_at = started_at - interval '1 day'");
              var open = guards.open(10).get(0);
              assertThat(open.outcome()).isEqualTo(GuardOutcome.UNKNOWN);
              assertThat(open.age()).isGreaterThan(Duration.ofHours(23));
              // And back: it is running again, whatever this machine's clock says.
              database.execute(
                  "update pgonce_guards.guard set unknown_at = clock_timestamp() + interval '1 minute'");
              assertThat(guards.open(10).get(0).outcome()).isEqualTo(GuardOutcome.STARTED);
              return done();
            });
  }
}
