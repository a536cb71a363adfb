package org.pgonce.benchmarks.work;

import org.pgonce.testkit.TestDatabase;

/**
 * A way that is measured.
 *
 * @param plan how it works
 * @param database which it has for itself
 */
public record Entrant(Way way, Plan plan, TestDatabase database) {

  /** Makes its tables. */
  public static Entrant prepare(Way way, Plan plan, TestDatabase database) throws Exception {
    way.prepare(database);
    return new Entrant(way, plan, database);
  }

  public String label() {
    return way.label();
  }

  /** One that does the work, with nothing left of earlier turns. */
  public Contender open() throws Exception {
    var contender = way.open(database, plan);
    try {
      contender.empty();
      return contender;
    } catch (Exception e) {
      contender.close();
      throw e;
    }
  }

  /**
   * Waits until so many pieces of work have their effect, if it writes any.
   *
   * @throws org.pgonce.benchmarks.figures.MiscountException if they have not, or too many
   */
  public void requireEffects(long count) throws Exception {
    if (way.writesEffects()) {
      Effects.require(database, way.label(), count, way.isExactlyOnce());
    }
  }
}
