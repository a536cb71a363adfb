package org.pgonce.cli.terminal;

/** What the process ends with. docs/command-line.md lists them for scripts. */
public final class ExitStatus {

  public static final int DONE = 0;

  /** Refused, or failed: nothing was changed, or the message says what was. */
  public static final int FAILED = 1;

  /** The arguments cannot be read: also picocli's. */
  public static final int USAGE = 2;

  /** It was asked for problems, and has found some. */
  public static final int FOUND = 3;

  private ExitStatus() {}
}
