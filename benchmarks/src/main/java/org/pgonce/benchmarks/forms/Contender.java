package org.pgonce.benchmarks.forms;

import org.pgonce.benchmarks.figures.Turns;

/** One kind at one operation, with its measured turns. */
record Contender(Operation operation, Kind kind, Turns turns) {

  Contender(Operation operation, Kind kind) {
    this(operation, kind, new Turns());
  }

  boolean isOf(Operation other) {
    return operation == other;
  }
}
