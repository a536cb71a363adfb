package org.pgonce.example.run;

/** What the status of a run says. */
public final class ExitStatus {

  /** Every promise of the run was kept. */
  public static final int KEPT = 0;

  /** Something was lost, doubled, late or left over. */
  public static final int BROKEN = 1;

  /** An option or argument is wrong; nothing was started. */
  public static final int WRONG_OPTION = 2;

  /** The run could not be made: no server, no right, a definition that does not fit the table. */
  public static final int CANNOT_RUN = 3;

  private ExitStatus() {}
}
