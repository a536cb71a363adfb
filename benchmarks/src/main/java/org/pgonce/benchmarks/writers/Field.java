package org.pgonce.benchmarks.writers;

import org.pgonce.benchmarks.figures.Turns;
import org.pgonce.benchmarks.work.Entrant;

/**
 * One entrant under so many writers, with its commits per second by round.
 *
 * @param listening whether its workers do the work meanwhile
 */
public record Field(Entrant entrant, int writers, boolean listening, Turns perSecond) {

  Field(Entrant entrant, int writers, boolean listening) {
    this(entrant, writers, listening, new Turns());
  }

  /** Whether this is what a trigger's cost is measured at: it stores, and notifies nobody. */
  public boolean isLike(Field other) {
    return writers == other.writers && listening == other.listening;
  }
}
