package org.pgonce.cli.terminal;

import java.time.Duration;
import org.pgonce.operations.internal.text.Durations;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** How options that take a duration are read: «90», «90s», «5m», «2h», «3d». */
public final class DurationOption implements ITypeConverter<Duration> {

  public static final String LABEL = "DURATION";

  @Override
  public Duration convert(String text) {
    try {
      return Durations.parse(text);
    } catch (IllegalArgumentException e) {
      throw new TypeConversionException(e.getMessage());
    }
  }

  /** In seconds, if it is within its bounds. */
  public static int secondsOf(String option, Duration given, Duration least, Duration most) {
    if (given.compareTo(least) < 0 || given.compareTo(most) > 0) {
      throw new UsageException(
          "%s is %s: between %s and %s"
              .formatted(
                  option,
                  Durations.inWords(given),
                  Durations.inWords(least),
                  Durations.inWords(most)));
    }
    return (int) given.toSeconds();
  }
}
