package org.pgonce.benchmarks;

import java.util.Objects;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;

/** What options may be. */
final class Bounds {

  private Bounds() {}

  /** Returns the value, or names the option whose it is. */
  static int require(@Nullable CommandSpec spec, String option, int value, int least, int most) {
    if (value < least || value > most) {
      throw new ParameterException(
          Objects.requireNonNull(spec).commandLine(),
          "%s %d is not between %d and %d".formatted(option, value, least, most));
    }
    return value;
  }
}
