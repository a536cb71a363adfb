package org.pgonce.benchmarks.work;

import java.sql.SQLException;
import java.util.concurrent.locks.LockSupport;
import org.pgonce.benchmarks.figures.MiscountException;
import org.pgonce.testkit.TestDatabase;

/** What handlers have written. */
public final class Effects {

  /** One piece's effect; its parameters are id and content. */
  public static final String INSERT = "insert into effect (work_id, content) values (?, ?)";

  /** The effects of many; its parameter is an array of ids, as text. */
  static final String INSERT_MANY =
      "insert into effect (work_id, content) select id, 'Welcome!' from unnest(?::text::bigint[]) as id";

  /** The same with a content for all of them, its first parameter. */
  static final String INSERT_MANY_AT =
      "insert into effect (work_id, content) select id, ?::text from unnest(?::text::bigint[]) as id";

  private static final String TABLES = SqlFile.beside(Effects.class, "tables.sql");
  private static final long BOUND_NANOS = 30_000_000_000L;
  private static final long PAUSE_NANOS = 5_000_000;

  private Effects() {}

  /** The table that they are written to, and the one of what is to be done. */
  public static void prepare(TestDatabase database) throws SQLException {
    database.execute(TABLES);
  }

  /**
   * Waits until each piece of work has its effect.
   *
   * @param exactly whether it must be one effect each, and not at least one
   * @throws MiscountException if one is missing after half a minute in which none came, or there is
   *     one too many
   */
  public static void require(TestDatabase database, String label, long count, boolean exactly)
      throws SQLException {
    var before = -1L;
    var lastCame = System.nanoTime();
    var distinct = distinct(database);
    var looked = System.nanoTime() - lastCame;
    while (distinct < count && System.nanoTime() - lastCame < BOUND_NANOS) {
      if (distinct > before) {
        before = distinct;
        lastCame = System.nanoTime();
      }
      // Each look reads the whole table: it shall not hold up those who write to it.
      LockSupport.parkNanos(Math.max(PAUSE_NANOS, 4 * looked));
      var begun = System.nanoTime();
      distinct = distinct(database);
      looked = System.nanoTime() - begun;
    }
    // In one look: where somebody is too slow, effects go on to be written.
    var doubled = database.queryLong("select count(*) - count(distinct work_id) from effect");
    if (distinct != count || (exactly && doubled != 0)) {
      throw new MiscountException(
          "%s: of %d pieces of work %d have an effect, and %d effects are one too many"
              .formatted(label, count, distinct, doubled));
    }
  }

  private static long distinct(TestDatabase database) throws SQLException {
    return database.queryLong("select count(distinct work_id) from effect");
  }
}
