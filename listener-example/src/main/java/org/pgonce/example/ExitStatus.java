package org.pgonce.example;

/** What the status of a run says. */
final class ExitStatus {

  /** Every promise of the run was kept. */
  static final int KEPT = 0;

  /** Something was lost, doubled, late or left over. */
  static final int BROKEN = 1;

  /** An option or argument is wrong; nothing was started. */
  static final int WRONG_OPTION = 2;

  /** The run could not be made: no server, no right, a definition that does not fit the table. */
  static final int CANNOT_RUN = 3;

  private ExitStatus() {}
}
