package org.pgonce.benchmarks.writers;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.function.Consumer;
import org.pgonce.benchmarks.figures.MiscountException;
import org.pgonce.benchmarks.figures.Table;
import org.pgonce.benchmarks.work.Entrant;

/** Measures the entrants in turn, each under few and many writers, with its workers and without. */
public final class WritersBenchmark {

  private static final int WARMING_WRITERS = 16;

  private final List<Field> fields = new ArrayList<>();
  private final Duration time;
  private final Consumer<String> log;

  /**
   * A benchmark that has yet to run.
   *
   * @param time of each turn, after a third of it that is not measured
   */
  public WritersBenchmark(
      List<Entrant> entrants, List<Integer> writers, Duration time, Consumer<String> log) {
    this.time = time;
    this.log = log;
    for (var count : writers) {
      for (var listening : List.of(false, true)) {
        for (var entrant : entrants) {
          if (!listening || entrant.way().writesEffects()) {
            fields.add(new Field(entrant, count, listening));
          }
        }
      }
    }
  }

  /**
   * Runs it.
   *
   * @param warmUp so long the workers of each run before the first round: the JVM compiles more
   *     code for the one than for the other
   */
  public List<Field> run(int rounds, Duration warmUp) throws Exception {
    if (!warmUp.isZero()) {
      for (var entrant :
          fields.stream().filter(Field::listening).map(Field::entrant).distinct().toList()) {
        var unused = perSecond(new Field(entrant, WARMING_WRITERS, true), warmUp);
      }
    }
    for (var round = 1; round <= rounds; round++) {
      var order = new ArrayList<>(fields);
      if (round % 2 == 0) {
        Collections.reverse(order); // nobody is always first
      }
      for (var field : order) {
        var rate = perSecond(field, time);
        field.perSecond().add(rate);
        log.accept(
            "round %d  %2d writers, %-12s  %-20s %s/s"
                .formatted(
                    round,
                    field.writers(),
                    field.listening() ? "listener" : "no listener",
                    field.entrant().label(),
                    Table.whole(rate)));
      }
    }
    return fields;
  }

  private double perSecond(Field field, Duration time) throws Exception {
    try (var contender = field.entrant().open()) {
      contender.fill(-1_000_000, 1);
      contender.settle();
      if (field.listening()) {
        contender.start(id -> {});
      }
      double rate;
      long committed;
      try (var writers = new Writers(field.entrant().database(), field.writers())) {
        var unused = writers.perSecond(time.dividedBy(3));
        rate = writers.perSecond(time);
        committed = writers.end();
      }
      if (!field.listening()) {
        requireStored(field, committed + 1, contender.left());
      } else {
        field.entrant().requireEffects(committed + 1);
      }
      return rate;
    }
  }

  private static void requireStored(Field field, long committed, long stored) {
    var expected = field.entrant().way().writesEffects() ? committed : 0;
    if (stored != expected) {
      throw new MiscountException(
          "%s: of %d rows committed %d were stored"
              .formatted(field.entrant().label(), expected, stored));
    }
  }
}
