package org.pgonce.test;

/** What {@link Chaos} does to one run of a handler. */
enum Fault {
  KILL_BEFORE_COMMIT("killBeforeCommit"),
  LOSE_COMMIT_ANSWER("loseCommitAnswer"),
  RUN_TWICE("runTwice"),
  FAIL_ONCE_AFTER("failOnceAfter");

  private final String method;

  Fault(String method) {
    this.method = method;
  }

  /** By the method that asks for it. */
  @Override
  public String toString() {
    return method;
  }
}
