package org.pgonce.example.run;

import java.sql.SQLException;
import java.sql.Timestamp;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/** Stops the server at a point of the work, starts it again, and looks when the work went on. */
final class Outage implements Watch.Mishap {

  private static final Duration PROBE = Duration.ofMillis(10);
  private static final Duration BOUND = Duration.ofSeconds(60);

  // All by the database's clock. Posts of before are older than the postmaster.
  private static final String RECOVERY =
      """
      with resumed as (
        select min(created_at) as at from post where created_at > pg_postmaster_start_time() group by split_part(written_by, '.', 1)
      )
      select coalesce(extract(epoch from min(at) - ?) * 1000, 'infinity'), coalesce(extract(epoch from max(at) - ?) * 1000, 'infinity'), count(*),
             (select coalesce(extract(epoch from max(backend_start) - ?) * 1000, 'infinity') from pg_stat_activity
               where application_name = 'pgonce listen' and datname = current_database()),
             (select count(*) from pg_stat_activity where application_name = 'pgonce listen' and datname = current_database())
        from resumed
      """;

  private final Stage stage;
  private final long point;
  private final Writers writers;
  private final int processes;
  private @Nullable Timestamp up;
  private long downMillis;

  /**
   * @param point the server stops once so many posts are written
   */
  Outage(Stage stage, long point, Writers writers, int processes) {
    this.stage = stage;
    this.point = point;
    this.writers = writers;
    this.processes = processes;
    var unused = stage.server().embedded(); // said before anything is started
  }

  /**
   * How the work went on, in milliseconds after the server was up.
   *
   * @param firstPostMillis the first post, whoever wrote it
   * @param lastPlaceMillis the first post of the listener that came last, of those that wrote any
   * @param placesAtWork listeners that have written since
   * @param listenMillis the last of the LISTEN connections
   */
  record Recovery(
      long downMillis,
      double firstPostMillis,
      double lastPlaceMillis,
      long placesAtWork,
      double listenMillis,
      long listening) {

    void print(Console console) {
      console.say("server down  %d ms".formatted(downMillis));
      console.say(
          "went on      first post %.0f ms after the server was up".formatted(firstPostMillis));
      console.say(
          "             %d listeners at work after %.0f ms, %d LISTEN again after %.0f ms"
              .formatted(placesAtWork, lastPlaceMillis, listening, listenMillis));
    }
  }

  @Override
  public void step(long handled) throws InterruptedException {
    if (up == null && handled >= point) {
      strike();
      writers.releaseLastRows();
    }
  }

  private void strike() {
    var server = stage.server().embedded();
    var begun = System.nanoTime();
    server.stopImmediately();
    stage.console().tell("server       stopped at " + Text.number(point) + " posts");
    var probe = CompletableFuture.supplyAsync(this::awaitUp);
    server.restart();
    up = probe.join();
    downMillis = Duration.ofNanos(System.nanoTime() - begun).toMillis();
    stage.console().tell("server       up again");
  }

  /** The database's clock at the first connection it takes. */
  private Timestamp awaitUp() {
    var deadline = System.nanoTime() + BOUND.toNanos();
    while (true) {
      try (var connection = stage.address().dataSource().getConnection();
          var statement = connection.createStatement();
          var row = statement.executeQuery("select clock_timestamp()")) {
        row.next();
        return row.getTimestamp(1);
      } catch (SQLException e) {
        if (System.nanoTime() - deadline > 0) {
          throw new CannotRunException("the server did not come up again: " + e.getMessage(), e);
        }
        LockSupport.parkNanos(PROBE.toNanos());
      }
    }
  }

  /** Waits until all listen again, for a bounded time. */
  Recovery recovery() throws SQLException {
    var deadline = System.nanoTime() + BOUND.toNanos();
    var recovery = look();
    while (recovery.listening() < processes && System.nanoTime() - deadline < 0) {
      LockSupport.parkNanos(PROBE.toNanos());
      recovery = look();
    }
    return recovery;
  }

  private Recovery look() throws SQLException {
    try (var connection = stage.address().dataSource().getConnection();
        var statement = connection.prepareStatement(RECOVERY)) {
      for (var i = 1; i <= 3; i++) {
        statement.setTimestamp(i, up);
      }
      try (var row = statement.executeQuery()) {
        row.next();
        return new Recovery(
            downMillis,
            row.getDouble(1),
            row.getDouble(2),
            row.getLong(3),
            row.getDouble(4),
            row.getLong(5));
      }
    }
  }

  @Override
  public String soFar() {
    return up == null ? "" : " | server restarted";
  }
}
