package org.pgonce.benchmarks.work;

import java.sql.SQLException;
import java.util.Locale;
import org.pgonce.benchmarks.figures.MiscountException;
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

  /** See {@link Way#wokenByEachCommit}. */
  public Entrant wokenByEachCommit() {
    return new Entrant(label, way.wokenByEachCommit(), plan, database);
  }

  /** One that does the work, with nothing left of earlier turns. */
  public Contender open() throws Exception {
    var contender = way.open(database, plan);
    try {
      contender.empty();
      return contender;
    } catch (Exception e) {
      try {
        contender.close();
      } catch (SQLException notClosed) {
        e.addSuppressed(notClosed);
      }
      throw e;
    }
  }

  /**
   * Waits until so many pieces of work have their effect, if it writes any.
   *
   * @throws MiscountException if they have not, or too many
   */
  public void requireEffects(long count) throws Exception {
    if (way.writesEffects()) {
      Effects.require(database, label, count, way.isExactlyOnce());
    }
  }

  /**
   * Checks that what is not done waits still, and that no effect is there twice. After its end.
   *
   * @param left how many pieces of work wait
   * @throws MiscountException if it is not so
   */
  public void requireNothingLost(long stored, long left) throws SQLException {
    var effects = database.queryLong("select count(*) from effect");
    var distinct = database.queryLong("select count(distinct work_id) from effect");
    if (effects != distinct || left + effects != stored) {
      throw new MiscountException(
          "%s: of %d pieces of work %d wait and %d have had %d effects"
              .formatted(label, stored, left, distinct, effects));
    }
  }
}
