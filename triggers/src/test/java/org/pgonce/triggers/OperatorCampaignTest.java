package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;
import org.awaitility.core.ConditionTimeoutException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.PgOnce;
import org.pgonce.Publisher;
import org.pgonce.testkit.JvmProcess;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.Seed;
import org.pgonce.testkit.TestDatabase;
import org.pgonce.triggers.CampaignChannels.Work;
import org.pgonce.triggers.CampaignListener.Mood;

/**
 * Channels of every kind at once, handlers that fail, listeners over both drivers that die and
 * stop, sessions that end, and an operator who does all that an operator may: each promise holds.
 */
@Tag("all")
@PgTest(PgOnceInstalled.class)
class OperatorCampaignTest {

  /** For a soak: -Dpgonce.test.operator.seconds=3600. */
  private static final Duration LENGTH =
      Duration.ofSeconds(Long.getLong("pgonce.test.operator.seconds", 15));

  private static final Duration BOUND = Duration.ofSeconds(90);
  private static final int WRITERS = 3;
  private static final int HEARD = 20;
  private static final List<String> DRIVERS = List.of("postgresql:", "pgsql:", "postgresql:");

  private static final String WAITING =
      "select (select count(*) from pgonce.notification where subscription_id > 0) + (select count(*) from pgonce.scheduled where subscription_id > 0)";

  private final List<JvmProcess> listeners = new ArrayList<>();

  @Test
  void h49_whateverAnOperatorDoesWhileListenersDie(TestDatabase database) throws Exception {
    var random = Seed.random();
    CampaignOracle.prepare(database);
    PgOnce.using(database.dataSource()).install(CampaignChannels.all());
    var operator = new CampaignOperator(database, new Random(random.nextLong()));
    var writers =
        IntStream.range(0, WRITERS)
            .mapToObj(n -> new CampaignWriter(database, random.nextLong(), n))
            .toList();
    try {
      begin(database, Mood.UNSTEADY);
      var running =
          writers.stream()
              .map(one -> CompletableFuture.runAsync(one, task -> new Thread(task).start()))
              .toList();
      disorder(database, random, operator);
      writers.forEach(CampaignWriter::stop);
      running.forEach(CompletableFuture::join);

      stopAll();
      operator.calm();
      begin(database, Mood.CALM);
      awaitRest(database, operator);
      assertAllHear(database);
      assertNoLocks(database);
      stopAll();
      assertNoFaults(database, operator);
      System.out.println(database.queryString(CampaignOracle.TALLY));
    } finally {
      writers.forEach(CampaignWriter::stop);
      listeners.forEach(JvmProcess::close);
    }
  }

  private void begin(TestDatabase database, Mood mood) throws InterruptedException {
    for (var driver : DRIVERS) {
      listeners.add(CampaignListener.begin(database, driver, mood));
    }
    for (var one : listeners) {
      one.awaitLine("started", BOUND);
    }
  }

  private void disorder(TestDatabase database, Random random, CampaignOperator operator)
      throws InterruptedException {
    var end = System.nanoTime() + LENGTH.toNanos();
    while (System.nanoTime() < end) {
      LockSupport.parkNanos(Duration.ofMillis(random.nextInt(200)).toNanos());
      var victim = random.nextInt(DRIVERS.size());
      var fate = random.nextInt(20);
      if (fate == 0 || !listeners.get(victim).isAlive()) {
        listeners.get(victim).kill9();
      } else if (fate == 1) {
        listeners.get(victim).sigterm();
        listeners.get(victim).awaitExit(BOUND);
      }
      if (!listeners.get(victim).isAlive()) {
        listeners.set(victim, CampaignListener.begin(database, DRIVERS.get(victim), Mood.UNSTEADY));
      }
      try {
        operator.act();
      } catch (SQLException | RuntimeException e) {
        System.out.println("refused: " + e.getMessage());
      }
    }
  }

  private void stopAll() throws InterruptedException {
    for (var one : listeners) {
      one.sigterm();
    }
    for (var one : listeners) {
      one.awaitExit(BOUND);
    }
    listeners.clear();
  }

  /** What a lease that was lost left behind may die only now: in AT_MOST_ONCE it is discarded. */
  private static void awaitRest(TestDatabase database, CampaignOperator operator) {
    try {
      await()
          .atMost(BOUND.plus(LENGTH)) // writers outrun the channels that have an order or a limit
          .pollInterval(Duration.ofMillis(300))
          .until(
              () -> {
                operator.clearDeadLetters();
                return database.queryLong(WAITING) == 0
                    && database.queryLong("select count(*) from pgonce.dead_letter") == 0;
              });
    } catch (ConditionTimeoutException stuck) {
      try {
        System.out.println(
            "STUCK "
                + database.queryString(
                    "select string_agg(concat_ws(' ', c.channel, c.subscription, e), E'\\n') from pgonce.channel_gauges c cross join lateral pgonce.explain(c.channel, null, c.subscription) e where c.backlog + c.scheduled > 0"));
      } catch (SQLException e) {
        stuck.addSuppressed(e);
      }
      throw stuck;
    }
  }

  private void assertAllHear(TestDatabase database) throws SQLException {
    for (var i = 0; i < HEARD; i++) {
      try (Connection connection = database.dataSource().getConnection()) {
        Publisher.standard()
            .publish(connection, CampaignChannels.HEARD, new Work("calm " + i, "none"));
      }
    }
    await()
        .atMost(BOUND)
        .until(
            () ->
                database.queryLong(
                        "select count(distinct (what, pid)) from trace where channel = 'heard' and what like 'calm%'")
                    == (long) HEARD * DRIVERS.size());
  }

  /** At rest. Whoever takes one for a transaction gives it back. */
  private static void assertNoLocks(TestDatabase database) {
    await()
        .atMost(Duration.ofSeconds(20))
        .untilAsserted(
            () -> assertThat(database.queryString(CampaignOracle.LOCKS)).as("locks").isNull());
  }

  /** Behind the housekeeping, which has its own time for what was cancelled and remembered. */
  private static void assertNoFaults(TestDatabase database, CampaignOperator operator) {
    await()
        .atMost(Duration.ofSeconds(20))
        .pollInterval(Duration.ofMillis(500))
        .untilAsserted(
            () -> {
              operator.keepHouse();
              assertThat(CampaignOracle.faults(database)).isEmpty();
            });
  }
}
