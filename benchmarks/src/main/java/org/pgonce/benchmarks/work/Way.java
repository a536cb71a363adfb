package org.pgonce.benchmarks.work;

import org.pgonce.testkit.TestDatabase;

/** A way to have work done that is compared with others. */
public interface Way {

  String label();

  /** Makes its tables, in a database that no other way has. */
  void prepare(TestDatabase database) throws Exception;

  /**
   * For the warm-up, which stores far more a second than is measured: the same, where each commit
   * wakes who listens, as it does at a low pace.
   */
  default Way wokenByEachCommit() {
    return this;
  }

  /** One that does the work as planned; it does nothing before it is started. */
  Contender open(TestDatabase database, Plan plan) throws Exception;

  /** Whether its handler writes an effect. */
  default boolean writesEffects() {
    return true;
  }

  /** Whether it promises that all is done once, crash or not, and not at least once. */
  default boolean isExactlyOnce() {
    return true;
  }
}
