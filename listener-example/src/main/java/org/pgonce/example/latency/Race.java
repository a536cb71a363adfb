package org.pgonce.example.latency;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.pgonce.example.DatabaseAddress;
import org.pgonce.example.latency.Contender.Way;

/** Measures the ways in turn, several times, each alone. For one thread. */
public final class Race {

  private static final Duration BOUND = Duration.ofSeconds(30);
  private static final int WARM_UP_PER_SECOND = 1_500;

  private final DatabaseAddress address;
  private final int perSecond;
  private final int seconds;
  private final int warmUpSeconds;
  private final Consumer<String> log;
  private long nextId = 1;

  /**
   * A race at a given pace.
   *
   * @param perSecond rows inserted per second
   * @param seconds how long each turn is measured, after one second that is not
   * @param warmUpSeconds how long each way runs before, at 1,500 rows a second
   */
  public Race(
      DatabaseAddress address,
      int perSecond,
      int seconds,
      int warmUpSeconds,
      Consumer<String> log) {
    this.address = address;
    this.perSecond = perSecond;
    this.seconds = seconds;
    this.warmUpSeconds = warmUpSeconds;
    this.log = log;
  }

  /**
   * Runs it. Before the first round each way has a turn that is not measured, of many rows: what is
   * compared is how they are in a service that has been up for a while.
   */
  public RaceResult run(int rounds) throws SQLException, InterruptedException {
    prepare();
    var turns = new EnumMap<Way, List<RaceResult.Turn>>(Way.class);
    for (var way : Way.values()) {
      var unused = timed(way, Math.max(perSecond, WARM_UP_PER_SECOND), warmUpSeconds);
    }
    for (var round = 1; round <= rounds; round++) {
      var order = new ArrayList<>(List.of(Way.values()));
      Collections.rotate(order, round); // nobody is always first
      for (var way : order) {
        // The first second is left out.
        var turn = RaceResult.Turn.of(timed(way, perSecond, seconds + 1).latencies(perSecond));
        log.accept("round %d  %-12s %s".formatted(round, way.label(), turn));
        turns.computeIfAbsent(way, first -> new ArrayList<>()).add(turn);
      }
    }
    return new RaceResult(perSecond, rounds, medians(turns));
  }

  private static Map<Way, RaceResult.Turn> medians(Map<Way, List<RaceResult.Turn>> turns) {
    var medians = new EnumMap<Way, RaceResult.Turn>(Way.class);
    turns.forEach((way, each) -> medians.put(way, RaceResult.Turn.median(each)));
    return medians;
  }

  private Stopwatch timed(Way way, int perSecond, int seconds)
      throws SQLException, InterruptedException {
    var rows = perSecond * seconds;
    var firstId = nextId;
    nextId += rows;
    var stopwatch = new Stopwatch(firstId, rows);
    try (var contender = way.open(address, stopwatch::started)) {
      var begun = System.nanoTime();
      for (var row = 0; row < rows; row++) {
        awaitTime(begun + row * Duration.ofSeconds(1).toNanos() / perSecond);
        contender.insert(firstId + row);
        stopwatch.committed(firstId + row);
      }
      if (!stopwatch.awaitAll(BOUND)) {
        throw new IllegalStateException(
            way.label() + " has not handled every row " + BOUND + " after the last");
      }
    }
    return stopwatch;
  }

  private static void awaitTime(long nanoTime) {
    for (var left = nanoTime - System.nanoTime(); left > 0; left = nanoTime - System.nanoTime()) {
      LockSupport.parkNanos(left);
    }
  }

  private void prepare() throws SQLException {
    try (var in = Race.class.getResourceAsStream("by-hand.sql");
        var connection = address.dataSource().getConnection();
        var statement = connection.createStatement()) {
      if (in == null) {
        throw new IllegalStateException("by-hand.sql is missing from the jar of the example");
      }
      statement.execute(new String(in.readAllBytes(), StandardCharsets.UTF_8));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
