package org.pgonce.benchmarks.work;

import java.util.Locale;
import org.pgonce.testkit.TestDatabase;

/**
 * A way that is measured.
 *
 * @param label for people
 * @param plan how it works
 * @param database which it has for itself
 */
public record Entrant(String label, Way way, Plan plan, TestDatabase database) {

  /** Makes its tables. */
  public static Entrant prepare(String label, Way way, Plan plan, TestDatabase database)
      throws Exception {
    way.prepare(database);
    return new Entrant(label, way, plan, database);
  }

  /** Its label for programs. */
  public String key() {
    return label.toLowerCase(Locale.ROOT).replaceAll("[^a-z0-9]+", "_");
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
      Effects.require(database, label, count, way.isExactlyOnce());
    }
  }
}
