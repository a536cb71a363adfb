package org.pgonce.benchmarks.work;

/**
 * How work is done.
 *
 * @param workers at once, each with a connection
 * @param batch how much one transaction does, at most
 */
public record Plan(int workers, int batch) {

  /** One at a time, each in a transaction of its own. */
  public static Plan single(int workers) {
    return new Plan(workers, 1);
  }

  /** Connections in the pool: those of the workers, and two for whatever else there is. */
  public int poolSize() {
    return workers + 2;
  }
}
