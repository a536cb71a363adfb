package org.pgonce.benchmarks.forms;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.function.Consumer;
import org.pgonce.benchmarks.figures.MiscountException;
import org.pgonce.testkit.TestDatabase;

/** Measures the kinds in turn, several times, each alone. For one thread. */
public final class FormsBenchmark {

  private final TestDatabase database;
  private final int bulkRows;
  private final Random random;
  private final List<Contender> contenders = new ArrayList<>();

  /**
   * A benchmark that has yet to run.
   *
   * @param database empty, and of no other use
   * @param bulkRows rows of a bulk statement's turn, in whole thousands
   * @param random draws the order within each round
   */
  public FormsBenchmark(TestDatabase database, int bulkRows, Random random) {
    this.database = database;
    this.bulkRows = bulkRows;
    this.random = random;
    Kinds.all()
        .forEach(
            (operation, kinds) ->
                kinds.forEach(kind -> contenders.add(new Contender(operation, kind))));
  }

  /**
   * Runs it, after one round of a fifth of the rows that is not measured.
   *
   * @throws MiscountException if the triggers of a kind have not stored what was written
   */
  public FormsResult run(int rounds, Consumer<String> log) throws SQLException {
    try (var field = Field.prepare(database, Kinds.all())) {
      round(field, Math.max(1_000, bulkRows / 5_000 * 1_000), false);
      for (var round = 1; round <= rounds; round++) {
        var begun = System.nanoTime();
        round(field, bulkRows, true);
        log.accept(
            "round %d of %d: %d s"
                .formatted(round, rounds, (System.nanoTime() - begun) / 1_000_000_000));
      }
    }
    return FormsResult.of(contenders);
  }

  /** The kinds of an operation follow one another, so that they meet the machine in one state. */
  private void round(Field field, int rows, boolean measured) throws SQLException {
    field.checkpoint();
    var operations = new ArrayList<>(List.of(Operation.values()));
    Collections.shuffle(operations, random);
    for (var operation : operations) {
      var turns =
          new ArrayList<>(contenders.stream().filter(each -> each.isOf(operation)).toList());
      Collections.shuffle(turns, random);
      for (var contender : turns) {
        var rate = field.rowsPerSecond(operation, contender.kind(), rows);
        if (measured) {
          contender.turns().add(rate);
        }
      }
    }
  }
}
