package org.pgonce.internal.consume;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.internal.jdbc.PoolSettings;
import org.pgonce.internal.jdbc.Transactions;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** A rate's turns one by one: how many there are, whose they are, and how long they are kept. */
@PgTest(PgOnceInstalled.class)
class RateLimiterTest {

  /** For so long a process keeps a turn that it does not use. */
  private static final Duration KEPT = Duration.ofMillis(100);

  private static final Duration KEPT_AT_1_A_SECOND = Duration.ofSeconds(1);

  private static RateLimiter limiter(TestDatabase database, int rate) throws SQLException {
    PgOnce.using(database.unpooled())
        .install(
            Channel.of(
                "calls",
                String.class,
                Mode.EXACTLY_ONCE,
                ChannelOptions.DEFAULT.withMaxRate(rate)));
    return another(database, rate);
  }

  /** As another process has it. */
  private static RateLimiter another(TestDatabase database, int rate) throws SQLException {
    var subscription = database.queryLong("select id from pgonce.subscription");
    return new RateLimiter(
        new Transactions(database.pooled(1), new PoolSettings(), Duration.ofSeconds(30)),
        (int) subscription,
        rate,
        false);
  }

  /** The next turn is free so much later; beyond 5 s the clock counts as set back. */
  private static void setFreeFrom(TestDatabase database, String later) throws SQLException {
    database.execute(
        "update pgonce.rate_limit set free_from = clock_timestamp() + interval '" + later + "'");
  }

  @Test
  void aTurnThatWasNotNeededIsTakenByTheNext(TestDatabase database) throws Exception {
    var limiter = limiter(database, 1);
    assertThat(limiter.takeKept(1)).isZero();
    var begun = System.nanoTime();
    assertThat(limiter.takePermit()).isZero();
    assertThat(limiter.takeKept(1)).isZero();
    // A claim that found nothing costs none: the rate is one of notifications.
    limiter.giveBack(1);
    assertHadUnlessItWasLong(limiter.takeKept(1) == 1, begun, KEPT_AT_1_A_SECOND);
    assertThat(limiter.takeKept(1)).isZero();
  }

  @Test
  void whoFindsNoneIsToldHowLongToWait(TestDatabase database) throws Exception {
    var limiter = limiter(database, 1);
    assertThat(limiter.takePermit()).isZero();
    setFreeFrom(database, "4 seconds");
    assertThat(limiter.takePermit())
        .isBetween(Duration.ofMillis(500), Duration.ofSeconds(4).plusMillis(1));
    setFreeFrom(database, "-1 hour");
    assertThat(limiter.takePermit()).isZero();
  }

  @Test
  void allProcessesTakeFromOne(TestDatabase database) throws Exception {
    var first = limiter(database, 1);
    var second = another(database, 1);
    assertThat(first.takePermit()).isZero();
    setFreeFrom(database, "4 seconds");
    assertThat(second.takePermit()).isPositive();
  }

  @Test
  void whatNobodyTookIsNotSavedUp(TestDatabase database) throws Exception {
    var limiter = limiter(database, 1_000);
    assertThat(limiter.takePermit()).isZero();
    setFreeFrom(database, "-1 hour");
    // A tenth of a second's turns and the one that is free now, however many are wanted.
    assertThat(
            database.queryLong(
                "select granted from pgonce.take_rate_permits((select id from pgonce.subscription), 5000)"))
        .isEqualTo(101);
  }

  /** Else the one that comes first leaves none to the others. */
  @Test
  void aTwentiethOfASecondIsTakenAtOnceByWhoUsesThem(TestDatabase database) throws Exception {
    var limiter = limiter(database, 100);
    assertThat(limiter.takePermit()).isZero();
    // Nothing was used before.
    assertThat(limiter.takeKept(1)).isZero();
    var inHand = 0;
    // On a slow machine those that were used are long ago.
    for (var tries = 0; inHand < 4 && tries < 100; tries++) {
      setFreeFrom(database, "-1 hour");
      assertThat(limiter.takePermit()).isZero();
      useUp(limiter);
      assertThat(limiter.takePermit()).isZero();
      inHand = useUp(limiter);
      assertThat(inHand).isLessThanOrEqualTo(4);
    }
    assertThat(inHand).isEqualTo(4);
  }

  private static int useUp(RateLimiter limiter) {
    var inHand = 0;
    while (limiter.takeKept(1) == 1) {
      inHand++;
    }
    return inHand;
  }

  /** Each has been quiet for a second, in which it needed one turn. */
  @Test
  void aRateHoldsInEachSecondHoweverManyProcessesShareIt(TestDatabase database) throws Exception {
    var limiters = new ArrayList<>(List.of(limiter(database, 100)));
    while (limiters.size() < 20) {
      limiters.add(another(database, 100));
    }
    for (var limiter : limiters) {
      await().atMost(Duration.ofSeconds(10)).until(() -> limiter.takePermit().isZero());
    }
    var had = 0;
    var begun = System.nanoTime();
    var took = 0L;
    while (took < Duration.ofSeconds(1).toNanos()) {
      for (var limiter : limiters) {
        had += limiter.takePermit().isZero() ? 1 : 0;
      }
      took = System.nanoTime() - begun;
    }
    // On top are a tenth of a second's that nobody took, and as many in hand.
    assertThat(had).isLessThanOrEqualTo((int) (100 * (0.2 + took / 1e9)) + 1);
  }

  /** The machine may have let this thread wait until the turn was no longer its own. */
  private static void assertHadUnlessItWasLong(boolean had, long begun, Duration kept) {
    if (System.nanoTime() - begun < kept.toNanos()) {
      assertThat(had).isTrue();
    }
  }

  /** Else a process could keep turns of a quiet hour, and use them beside those of a busy one. */
  @Test
  void turnsInHandAreKeptForATenthOfASecond(TestDatabase database) throws Exception {
    var limiter = limiter(database, 10);
    var begun = System.nanoTime();
    assertThat(limiter.takePermit()).isZero();
    limiter.giveBack(1);
    setFreeFrom(database, "4 seconds");
    assertHadUnlessItWasLong(limiter.takeKept(1) == 1, begun, KEPT);
    limiter.giveBack(1);
    await()
        .atMost(Duration.ofSeconds(10))
        .until(
            () -> {
              var hadOne = limiter.takeKept(1) == 1;
              if (hadOne) {
                limiter.giveBack(1);
              }
              return !hadOne;
            });
    setFreeFrom(database, "4 seconds"); // again, as a slow machine may have taken that long
    assertThat(limiter.takePermit()).isPositive();
  }
}
