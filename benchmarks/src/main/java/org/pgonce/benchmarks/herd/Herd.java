package org.pgonce.benchmarks.herd;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import org.pgonce.benchmarks.figures.Turns;
import org.pgonce.benchmarks.work.ByPgOnce;
import org.pgonce.benchmarks.work.Effects;
import org.pgonce.benchmarks.work.Plan;
import org.pgonce.benchmarks.work.StatementCounts;
import org.pgonce.benchmarks.work.Wall;
import org.pgonce.testkit.JvmProcess;
import org.pgonce.testkit.TestDatabase;

/** Processes that listen to one channel of a database of their own, up until this is closed. */
public final class Herd implements AutoCloseable {

  private static final Duration BOUND = Duration.ofMinutes(3);
  private static final String CLAIMS = "%for update skip locked%";
  private static final String STORE_ONE = "insert into work (id, name) values (?, 'Author')";
  private static final String STORE_MANY =
      "insert into work (id, name) select g, 'Author' from generate_series(?::bigint, ?::bigint) as g";

  private final TestDatabase database;
  private final StatementCounts counts;
  private final List<JvmProcess> processes = new ArrayList<>();
  private final Connection writer;
  private final Turns pacedClaims = new Turns();
  private final Turns saturatedClaims = new Turns();
  private final Turns perSecond = new Turns();
  private final Turns p50 = new Turns();
  private final Turns p99 = new Turns();
  private long nextId = 1;

  private Herd(TestDatabase database, StatementCounts counts) throws SQLException {
    this.database = database;
    this.counts = counts;
    this.writer = database.dataSource().getConnection();
  }

  /**
   * Starts them; returns when all listen.
   *
   * @param takes how long each handler takes beside its effect
   */
  public static Herd start(
      TestDatabase database, StatementCounts counts, int count, Plan plan, Duration takes)
      throws Exception {
    new ByPgOnce().prepare(database);
    var herd = new Herd(database, counts);
    try {
      for (var i = 0; i < count; i++) {
        herd.processes.add(HerdProcess.start(database, plan, takes));
      }
      for (var process : herd.processes) {
        var unused = process.awaitLine(HerdProcess.READY, BOUND);
      }
      return herd;
    } catch (Exception e) {
      try {
        herd.close();
      } catch (SQLException notClosed) {
        e.addSuppressed(notClosed);
      }
      throw e;
    }
  }

  public int size() {
    return processes.size();
  }

  public Turns pacedClaims() {
    return pacedClaims;
  }

  public Turns saturatedClaims() {
    return saturatedClaims;
  }

  /** Notifications per second, all processes together, when there is always work. */
  public Turns perSecond() {
    return perSecond;
  }

  /** Microseconds from commit to handler at the pace. */
  public Turns p50() {
    return p50;
  }

  public Turns p99() {
    return p99;
  }

  /** So that each process has handled some before it is measured. */
  public void warmUp(int rate, int rows) throws Exception {
    paced(rate, 1);
    saturated(rows);
    List.of(pacedClaims, saturatedClaims, perSecond, p50, p99).forEach(Turns::clear);
  }

  /** One commit after the other at a pace: claims for each, and the time to its handler. */
  public void paced(int rate, int seconds) throws Exception {
    empty();
    var rows = rate * seconds;
    var first = nextId;
    nextId += rows;
    var committed = new HashMap<Long, Long>();
    var before = counts.of(database, CLAIMS);
    try (var store = writer.prepareStatement(STORE_ONE)) {
      var begun = System.nanoTime();
      for (var row = 0; row < rows; row++) {
        awaitTime(begun + row * 1_000_000_000L / rate);
        store.setLong(1, first + row);
        store.executeUpdate();
        committed.put(first + row, Wall.micros());
      }
    }
    Effects.require(database, toString(), rows, true);
    pacedClaims.add((counts.of(database, CLAIMS) - before) / (double) rows);
    addLatencies(committed);
  }

  private void addLatencies(Map<Long, Long> committed) throws SQLException {
    var latencies = new ArrayList<Long>();
    try (var statement = writer.createStatement();
        var row = statement.executeQuery("select work_id, content::bigint from effect")) {
      while (row.next()) {
        latencies.add(row.getLong(2) - committed.getOrDefault(row.getLong(1), 0L));
      }
    }
    latencies.sort(null);
    p50.add(latencies.get((latencies.size() - 1) / 2));
    p99.add(latencies.get((int) Math.ceil(latencies.size() * 0.99) - 1));
  }

  /** So many at once: claims for each of them. */
  public void saturated(int rows) throws Exception {
    empty();
    var first = nextId;
    nextId += rows;
    var before = counts.of(database, CLAIMS);
    var begun = System.nanoTime();
    try (var store = writer.prepareStatement(STORE_MANY)) {
      store.setLong(1, first);
      store.setLong(2, first + rows - 1);
      store.executeUpdate();
    }
    Effects.require(database, toString(), rows, true);
    perSecond.add(rows * 1e9 / (System.nanoTime() - begun));
    saturatedClaims.add((counts.of(database, CLAIMS) - before) / (double) rows);
  }

  private void empty() throws SQLException {
    database.execute("truncate work, effect");
  }

  private static void awaitTime(long nanoTime) {
    for (var left = nanoTime - System.nanoTime(); left > 0; left = nanoTime - System.nanoTime()) {
      LockSupport.parkNanos(left);
    }
  }

  @Override
  public String toString() {
    return size() == 1 ? "1 process" : size() + " processes";
  }

  @Override
  public void close() throws SQLException {
    processes.forEach(JvmProcess::close);
    writer.close();
  }
}
