package org.pgonce.benchmarks.work;

import java.sql.SQLException;
import org.pgonce.testkit.TestDatabase;

/**
 * What a careful developer would write without pgonce: a trigger that stores and notifies, workers
 * that a callback wakes, a claim with SKIP LOCKED, the handler's insert, delete, commit. No
 * retries, no dead letters, no guards, no second look for what nobody woke them for.
 *
 * @param steps in which statements
 * @param notifies whether the trigger does; else the workers look for work each 10 ms
 */
public record ByHand(Steps steps, boolean notifies) implements Way {

  public ByHand(Steps steps) {
    this(steps, true);
  }

  /** In which statements one transaction does it. */
  public enum Steps {
    /** Claim, handler, delete: as pgonce does it. */
    CLAIM_AND_DELETE("by hand"),
    /** The same over a queue of JSON, which is decoded by pgonce's standard codec. */
    CLAIM_JSON_AND_DELETE("by hand, JSON"),
    /** The claim deletes: a statement less, as a failure brings back what was deleted. */
    DELETE_AT_ONCE("by hand, one statement"),
    /**
     * Claim and delete, and each claim begins behind what this worker knows to be gone: dead rows
     * that vacuum may not take away are not walked over. Nobody's work is overtaken here, as ids
     * are committed in order; in practice they are not.
     */
    CLAIM_BEHIND_A_BOUND("by hand, with a bound");

    private final String label;

    Steps(String label) {
      this.label = label;
    }
  }

  private static final String TABLES = SqlFile.beside(ByHand.class, "by-hand.sql");
  private static final String JSON = SqlFile.beside(ByHand.class, "by-hand-json.sql");
  private static final String QUIET = SqlFile.beside(ByHand.class, "by-hand-quiet.sql");

  @Override
  public String label() {
    return notifies ? steps.label : steps.label + ", no NOTIFY";
  }

  @Override
  public void prepare(TestDatabase database) throws SQLException {
    Effects.prepare(database);
    database.execute(TABLES);
    if (steps == Steps.CLAIM_JSON_AND_DELETE) {
      database.execute(JSON);
    }
    if (!notifies) {
      database.execute(QUIET);
    }
  }

  @Override
  public Contender open(TestDatabase database, Plan plan) throws SQLException {
    return new HandAtWork(database, plan, this);
  }
}
