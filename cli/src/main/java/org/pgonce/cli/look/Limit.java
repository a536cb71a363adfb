package org.pgonce.cli.look;

import org.pgonce.cli.terminal.UsageException;
import picocli.CommandLine.Option;

/** How many rows at most. */
final class Limit {

  private static final int HIGHEST = 100_000;

  @Option(
      names = {"-n", "--limit"},
      paramLabel = "ROWS",
      defaultValue = "100",
      description = "At most so many, 1 to 100,000. Default: 100")
  private int rows = 100;

  String text() {
    if (rows < 1 || rows > HIGHEST) {
      throw new UsageException("--limit is %d: between 1 and %,d".formatted(rows, HIGHEST));
    }
    return String.valueOf(rows);
  }
}
