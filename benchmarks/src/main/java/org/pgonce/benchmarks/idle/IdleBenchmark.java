package org.pgonce.benchmarks.idle;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.pgonce.benchmarks.figures.Turns;
import org.pgonce.benchmarks.work.Address;
import org.pgonce.benchmarks.work.StatementCounts;
import org.pgonce.testkit.JvmProcess;
import org.pgonce.testkit.TestDatabase;

/** Counts what processes do that idle, each with a database of its own, all at the same time. */
public final class IdleBenchmark {

  private static final Duration BOUND = Duration.ofSeconds(60);

  private static final String POLLS = "%pgonce.poll(%";

  private final List<TestDatabase> databases;
  private final StatementCounts counts;
  private final int channels;

  /** What it came to; one figure of each process. */
  public record Footprint(
      Turns statementsPerMinute,
      Turns pollMicros,
      Turns threads,
      Turns threadsBefore,
      Turns heapKib) {}

  /** What the server has counted of one database. */
  private record Counted(long statements, long polls, long pollMicros) {}

  /**
   * A benchmark that has yet to run.
   *
   * @param databases one for each process
   */
  public IdleBenchmark(List<TestDatabase> databases, StatementCounts counts, int channels) {
    this.databases = databases;
    this.counts = counts;
    this.channels = channels;
  }

  /**
   * Runs it.
   *
   * @param settle how long nothing is counted after the start
   * @param time how long it is
   */
  public Footprint run(Duration settle, Duration time) throws Exception {
    var all = settle.plus(time).plusSeconds(1);
    var processes = new ArrayList<JvmProcess>();
    try {
      for (var database : databases) {
        var command =
            JvmProcess.of(IdleProcess.class)
                .arguments(String.valueOf(channels), String.valueOf(all.toMillis()));
        processes.add(Address.tell(command, database).start());
      }
      for (var process : processes) {
        var unused = process.awaitLine(IdleProcess.READY, BOUND);
      }
      Thread.sleep(settle.toMillis());
      var before = counted();
      var begun = System.nanoTime();
      Thread.sleep(time.toMillis());
      var after = counted();
      var minutes = (System.nanoTime() - begun) / 6e10;
      var result = new Footprint(new Turns(), new Turns(), new Turns(), new Turns(), new Turns());
      for (var i = 0; i < databases.size(); i++) {
        var first = before.get(i);
        var last = after.get(i);
        result.statementsPerMinute().add((last.statements() - first.statements()) / minutes);
        result
            .pollMicros()
            .add(
                (double) (last.pollMicros() - first.pollMicros()) / (last.polls() - first.polls()));
        add(result, processes.get(i).awaitLine(IdleProcess.TOLD, all.plus(BOUND)));
      }
      return result;
    } finally {
      processes.forEach(JvmProcess::close);
    }
  }

  private List<Counted> counted() throws Exception {
    var counted = new ArrayList<Counted>();
    for (var database : databases) {
      counted.add(
          new Counted(
              counts.of(database), counts.of(database, POLLS), counts.micros(database, POLLS)));
    }
    return counted;
  }

  private static void add(Footprint result, String line) {
    var told =
        line.substring(line.indexOf(IdleProcess.TOLD) + IdleProcess.TOLD.length()).split(" ", -1);
    result.threadsBefore().add(Double.parseDouble(told[0]));
    result.threads().add(Double.parseDouble(told[1]));
    result.heapKib().add(Double.parseDouble(told[2]));
  }
}
