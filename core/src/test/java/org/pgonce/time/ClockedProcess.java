package org.pgonce.time;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.pgonce.stage.Stage.ORDERS;
import static org.pgonce.stage.Stage.QUICK;

import java.io.IOException;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.TimeUnit;
import javax.sql.DataSource;
import org.pgonce.Backoff;
import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.ListenOptions;
import org.pgonce.Message;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.PublishOptions;
import org.pgonce.crash.CrashEffects;
import org.pgonce.stage.Stage.Order;
import org.pgonce.testkit.JvmProcess;
import org.pgonce.testkit.Login;
import org.pgonce.testkit.ParentWatch;
import org.pgonce.testkit.ShiftedClock;
import org.pgonce.testkit.TestDatabase;

/** A process with a clock of its own that publishes and listens. */
final class ClockedProcess {

  static final Duration BOUND = Duration.ofSeconds(60);
  static final Duration MEMORY = Duration.ofHours(1);

  static final Channel<Order> MINDFUL =
      Channel.of(
          "mindful", Order.class, Mode.EXACTLY_ONCE, ChannelOptions.DEFAULT.withKeyMemory(MEMORY));

  /** So long that a retry is seen to wait, by at least half of it. */
  static final Duration BACKOFF = Duration.ofMillis(800);

  /** A lease that a busy machine does not use up between two renewals. */
  static final ListenOptions HOLDING = CrashEffects.OPTIONS.withLease(Duration.ofSeconds(4));

  /** What it is started for. */
  enum Task {
    PUBLISH,
    LISTEN,
    HOLD,
    REMEMBER
  }

  private final DataSource pool;
  private final DataSource direct;
  private final PgOnce pgonce;

  private ClockedProcess(DataSource pool, DataSource direct, PgOnce pgonce) {
    this.pool = pool;
    this.direct = direct;
    this.pgonce = pgonce;
  }

  /** Starts one, and sees that its clock is as it should be. */
  static JvmProcess start(TestDatabase database, ShiftedClock clock, Task task)
      throws IOException, InterruptedException {
    var command =
        JvmProcess.of(ClockedProcess.class)
            .property("pgonce.test.driver", System.getProperty("pgonce.test.driver", "pgjdbc"))
            .arguments(
                database.host(),
                String.valueOf(database.port()),
                database.name(),
                database.user(),
                task.name());
    var process = clock.on(command).start();
    try {
      var said = process.awaitLine("its clock says ", BOUND).replace("its clock says ", "");
      assertThat(Long.parseLong(said) - System.currentTimeMillis())
          .as("how much its clock is ahead")
          .isCloseTo(clock.shift.toMillis(), within(Duration.ofMinutes(2).toMillis()));
      return process;
    } catch (AssertionError e) {
      process.close();
      throw e;
    }
  }

  public static void main(String[] arguments) throws Exception {
    ParentWatch.exitWhenParentDies();
    System.out.println("its clock says " + System.currentTimeMillis());
    var login =
        new Login(arguments[0], Integer.parseInt(arguments[1]), arguments[2], arguments[3], "");
    try (var pool = login.pooled(6);
        var pgonce = PgOnce.builder(pool).pollInterval(Duration.ofMillis(500)).build()) {
      var process = new ClockedProcess(pool, login.dataSource(), pgonce);
      switch (Task.valueOf(arguments[4])) {
        case PUBLISH -> process.publish();
        case LISTEN -> process.listen();
        case HOLD -> process.hold();
        case REMEMBER -> process.remember();
      }
    }
  }

  /** What the test says in the table step. */
  private void awaitStep(int step) throws SQLException, InterruptedException {
    var end = System.nanoTime() + BOUND.toNanos();
    while (query("select count(*) from step where number = " + step) == 0) {
      if (System.nanoTime() - end > 0) {
        throw new IllegalStateException("step " + step + " did not come");
      }
      TimeUnit.MILLISECONDS.sleep(20);
    }
  }

  private long query(String sql) throws SQLException {
    try (var connection = direct.getConnection();
        var statement = connection.createStatement();
        var row = statement.executeQuery(sql)) {
      row.next();
      return row.getLong(1);
    }
  }

  /** With due times of all kinds, from what the database says is now. */
  private void publish() throws SQLException {
    var nowMs = query("select extract(epoch from clock_timestamp()) * 1000");
    var now = Instant.ofEpochMilli(nowMs);
    var plain = PublishOptions.DEFAULT;
    try (var connection = pool.getConnection()) {
      pgonce
          .publisher()
          .publishEach(
              connection,
              ORDERS,
              List.of(
                  new Message<>(new Order(1, "at once")),
                  new Message<>(new Order(2, "past"), plain.withDueAt(now.minusSeconds(3_600))),
                  new Message<>(new Order(3, "delay"), plain.withDelay(Duration.ofSeconds(2))),
                  new Message<>(new Order(4, "due at"), plain.withDueAt(now.plusSeconds(3))),
                  new Message<>(new Order(5, "delay"), plain.withDelay(Duration.ofHours(6))),
                  new Message<>(new Order(6, "due at"), plain.withDueAt(now.plusSeconds(3_600)))));
    }
    System.out.println("published at " + nowMs);
  }

  /** The first attempt at each order fails. */
  private void listen() throws InterruptedException {
    var effects = new CrashEffects(direct, "shifted", true);
    pgonce
        .listen(
            ORDERS,
            QUICK.withBackoff(new Backoff(BACKOFF, BACKOFF)),
            (order, tx) -> {
              effects.handle(order, tx);
              if (order.attempt() == 1) {
                throw new IllegalStateException("not yet");
              }
            })
        .start();
    System.out.println("started");
    pgonce.awaitStopped();
  }

  /** Holds on lease what it gets, until step 1. */
  private void hold() throws InterruptedException {
    pgonce
        .listen(
            CrashEffects.channel(Mode.AT_LEAST_ONCE),
            HOLDING,
            (order, tx) -> {
              new CrashEffects(direct, "shifted", true).handle(order, tx);
              System.out.println("in the handler");
              awaitStep(1);
            })
        .start();
    System.out.println("started");
    pgonce.awaitStopped();
  }

  /** A key: new, remembered, and forgotten. */
  private void remember() throws Exception {
    pgonce.listen(MINDFUL, (order, tx) -> {}).start();
    System.out.println("stored at first: " + publishMindful());
    awaitStep(1);
    System.out.println("remembered: stored " + publishMindful());
    awaitStep(2);
    System.out.println("forgotten: stored " + publishMindful());
  }

  private boolean publishMindful() throws SQLException {
    try (var connection = pool.getConnection()) {
      var options = PublishOptions.DEFAULT.withDeliveryKey("a");
      return pgonce.publisher().publish(connection, MINDFUL, new Order(1, "x"), options).stored();
    }
  }
}
