package org.pgonce.benchmarks.drain;

import org.pgonce.benchmarks.figures.Turns;
import org.pgonce.benchmarks.work.Entrant;

/** What one entrant has done per second, by round. */
public record Rates(Entrant entrant, Turns perSecond) {

  Rates(Entrant entrant) {
    this(entrant, new Turns());
  }
}
