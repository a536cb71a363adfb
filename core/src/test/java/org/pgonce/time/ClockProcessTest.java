package org.pgonce.time;

import static org.assertj.core.api.Assertions.assertThat;
import static org.pgonce.stage.Stage.ORDERS;
import static org.pgonce.time.ClockedProcess.BOUND;
import static org.pgonce.time.ClockedProcess.HOLDING;
import static org.pgonce.time.ClockedProcess.MINDFUL;

import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.HashSet;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.pgonce.Channel;
import org.pgonce.Message;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.PublishOptions;
import org.pgonce.Publisher;
import org.pgonce.crash.CrashEffects;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.stage.Stage.Order;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.ShiftedClock;
import org.pgonce.testkit.TestDatabase;
import org.pgonce.time.ClockedProcess.Task;

/**
 * A process whose clock is a day off, beside one whose clock is right: nothing is different from
 * two that are right.
 */
@Tag("all")
@PgTest(PgOnceInstalled.class)
class ClockProcessTest {

  private static final String TABLES =
      """
      create table step (number int);
      create table counter as select 0 as n;
      create table outside (id bigint, attempt int, by text, at timestamptz default clock_timestamp())
      """;

  private TestDatabase database;
  private Stage stage;

  @BeforeEach
  void open(TestDatabase database) throws SQLException {
    this.database = database;
    this.stage = new Stage(database);
    database.execute(TABLES);
    PgOnce.using(stage.dataSource).install(MINDFUL, CrashEffects.channel(Mode.AT_LEAST_ONCE));
  }

  @AfterEach
  void close() {
    stage.close();
  }

  private long now() throws SQLException {
    return database.queryLong("select extract(epoch from clock_timestamp()) * 1000");
  }

  private void step(int number) throws SQLException {
    database.execute("insert into step values (" + number + ")");
  }

  /** Milliseconds from then to an attempt, by the database's clock. */
  private long after(long start, int order, int attempt) throws SQLException {
    return database.queryLong(
        "select (extract(epoch from at) * 1000)::bigint - %d from outside where id = %d and attempt = %d"
            .formatted(start, order, attempt));
  }

  private long calls(String by) throws SQLException {
    return database.queryLong("select count(*) from outside where by = '" + by + "'");
  }

  @ParameterizedTest
  @EnumSource
  void h80_whatItsPublisherDatesIsHandledInTimeElsewhere(ShiftedClock clock) throws Exception {
    var effects = new CrashEffects(database.dataSource(), "right", false);
    stage.pgonce().listen(ORDERS, effects::handle).start();
    long now;
    try (var publisher = ClockedProcess.start(database, clock, Task.PUBLISH)) {
      now = Long.parseLong(publisher.awaitLine("published at ", BOUND).substring(13));
      assertThat(publisher.awaitExit(BOUND)).isZero();
    }
    // Its effect outside comes before the end of each.
    stage.awaitSoon(() -> calls("right") == 4 && stage.waiting() == 2);
    assertThat(after(now, 3, 1)).as("2 s after its publishing").isGreaterThanOrEqualTo(2_000);
    assertThat(after(now, 4, 1)).as("its time").isGreaterThanOrEqualTo(3_000);
    // Those that are due in hours wait until then, to the millisecond.
    assertThat(
            database.queryString(
                """
                select string_agg(concat_ws(' ', payload->>'id', payload->>'item', (extract(epoch from
                  due_at - case payload->>'item' when 'delay' then created_at else to_timestamp(%d / 1000.0) end) * 1000)::int), ', ' order by id)
                  from pgonce.scheduled where subscription_id > 0
                """
                    .formatted(now)))
        .matches("5 delay (21600000|2159\\d{4}), 6 due at 3600000");
  }

  @ParameterizedTest
  @EnumSource
  void h80_itsListenerHandlesInTimeAndWaitsOutTheBackoff(ShiftedClock clock) throws Exception {
    long now;
    try (var listener = ClockedProcess.start(database, clock, Task.LISTEN)) {
      listener.awaitLine("started", BOUND);
      now = now();
      var then = Instant.ofEpochMilli(now);
      var plain = PublishOptions.DEFAULT;
      try (var connection = stage.dataSource.getConnection()) {
        Publisher.standard()
            .publishEach(
                connection,
                ORDERS,
                List.of(
                    new Message<>(new Order(1, "at once")),
                    new Message<>(new Order(2, "delay"), plain.withDelay(Duration.ofSeconds(2))),
                    new Message<>(new Order(3, "due at"), plain.withDueAt(then.plusSeconds(2))),
                    new Message<>(new Order(4, "delay"), plain.withDelay(Duration.ofHours(6))),
                    new Message<>(
                        new Order(5, "due at"), plain.withDueAt(then.plusSeconds(3_600)))));
      }
      stage.awaitSoon(() -> stage.effects() == 3 && stage.waiting() == 2);
    }
    assertThat(calls("shifted")).as("each of three twice").isEqualTo(6);
    assertThat(after(now, 2, 1)).isGreaterThanOrEqualTo(2_000);
    assertThat(after(now, 3, 1)).isGreaterThanOrEqualTo(2_000);
    for (var order : List.of(1, 2, 3)) {
      assertThat(after(now, order, 2) - after(now, order, 1))
          .as("the backoff of order " + order)
          .isGreaterThanOrEqualTo(ClockedProcess.BACKOFF.toMillis() / 2);
    }
  }

  /** Leases are renewed for as long as the holder lives, and over when it is frozen. */
  @ParameterizedTest
  @EnumSource
  void h80_theLeasesItHoldsLastAsLongAsItLives(ShiftedClock clock) throws Exception {
    var effects = new CrashEffects(database.dataSource(), "right", true);
    var channel = CrashEffects.channel(Mode.AT_LEAST_ONCE);
    try (var holder = ClockedProcess.start(database, clock, Task.HOLD)) {
      holder.awaitLine("started", BOUND);
      publish(channel);
      holder.awaitLine("in the handler", BOUND);
      stage.pgonce().listen(channel, HOLDING, effects::handle).start();
      awaitRenewals(4);
      assertThat(calls("right")).as("taken from one that lives").isZero();

      holder.sigstop();
      stage.awaitSoon(() -> stage.effects() == 1 && stage.waiting() == 0);
      assertThat(calls("right")).isEqualTo(1);
      holder.sigcont();
      step(1);
      // It finds out: by the next renewal, or when it ends.
      holder.awaitLine(
          line -> line.contains("is over before its handler") || line.contains("is not as it was"),
          BOUND);
    }
    assertThat(database.queryString("select string_agg(note, ' ') from effect"))
        .isEqualTo("attempt 2");
  }

  @ParameterizedTest
  @EnumSource
  void h80_itTakesNoLeaseFromOneThatLives(ShiftedClock clock) throws Exception {
    var effects = new CrashEffects(database.dataSource(), "right", true);
    var channel = CrashEffects.channel(Mode.AT_LEAST_ONCE);
    var holding = new CountDownLatch(1);
    var goOn = new CountDownLatch(1);
    stage
        .pgonce()
        .listen(
            channel,
            HOLDING,
            (order, tx) -> {
              effects.handle(order, tx);
              holding.countDown();
              goOn.await();
            })
        .start();
    publish(channel);
    Stage.awaitSoon(holding);
    try (var other = ClockedProcess.start(database, clock, Task.HOLD)) {
      other.awaitLine("started", BOUND);
      awaitRenewals(4);
      goOn.countDown();
      stage.awaitNothingWaits();
      assertThat(calls("shifted")).isZero();
      assertThat(database.queryString("select string_agg(note, ' ') from effect"))
          .isEqualTo("attempt 1");
    }
  }

  private void publish(Channel<Order> channel) throws SQLException {
    try (var connection = stage.dataSource.getConnection()) {
      Publisher.standard().publish(connection, channel, new Order(1, "item"));
    }
  }

  /** So often that the lease would be over without. */
  private void awaitRenewals(int times) {
    var seen = new HashSet<String>();
    stage.awaitSoon(
        () -> {
          seen.add(
              database.queryString(
                  "select due_at::text from pgonce.scheduled where token is not null"));
          return seen.size() > times;
        });
  }

  @ParameterizedTest
  @EnumSource
  void h80_itRemembersKeysAsLongAsWasPromised(ShiftedClock clock) throws Exception {
    try (var process = ClockedProcess.start(database, clock, Task.REMEMBER)) {
      process.awaitLine("stored at first: true", BOUND);
      stage.awaitSoon(
          () ->
              database.queryLong(
                      "select count(*) from pgonce.delivery_key where done_at is not null")
                  == 1);
      passes("59 minutes");
      step(1);
      process.awaitLine("remembered: stored false", BOUND);
      passes("1 minute");
      step(2);
      process.awaitLine("forgotten: stored true", BOUND);
    }
  }

  /** So much time goes by in the database: what it has noted lies further back. */
  private void passes(String time) throws SQLException {
    database.execute(
        "update pgonce.delivery_key set done_at = done_at - interval '%s'".formatted(time));
  }
}
