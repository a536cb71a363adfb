package org.pgonce.example.run;

import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;

/** Refuses what an option cannot be. */
public final class Bounds {

  private Bounds() {}

  public static int require(
      @Nullable CommandSpec command, String option, int value, int least, int most) {
    return (int) require(command, option, (long) value, least, most);
  }

  public static long require(
      @Nullable CommandSpec command, String option, long value, long least, long most) {
    if (value < least || value > most) {
      throw new ParameterException(
          command(command).commandLine(),
          "%s %s is not between %s and %s"
              .formatted(option, value, Text.number(least), Text.number(most)));
    }
    return value;
  }

  /** The command that an option belongs to, which picocli sets before any option. */
  static CommandSpec command(@Nullable CommandSpec command) {
    if (command == null) {
      throw new IllegalStateException("options are read without a command");
    }
    return command;
  }
}
