package org.pgonce.testkit;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import org.junit.jupiter.api.Assumptions;

/** The wall clock of a process of its own: right, or wrong by libfaketime. */
public enum ShiftedClock {
  RIGHT(Duration.ZERO),
  A_DAY_AHEAD(Duration.ofDays(1)),
  A_DAY_BEHIND(Duration.ofDays(-1));

  private static final String LIBRARY = "faketime/libfaketime.so.1";

  public final Duration shift;

  ShiftedClock(Duration shift) {
    this.shift = shift;
  }

  /** Has the process started with it; skips the test where libfaketime is not installed. */
  public JvmCommand on(JvmCommand command) throws IOException {
    if (this == RIGHT) {
      return command;
    }
    var library = library();
    Assumptions.assumeTrue(
        library.isPresent(),
        "skipped: no /usr/lib/*/" + LIBRARY + " (Debian: apt-get install faketime)");
    // How long something takes is measured as ever; and waits that are told a monotonic time as the
    // JVM's are shall not be taken for others.
    return command
        .environment("LD_PRELOAD", library.orElseThrow().toString())
        .environment("FAKETIME", "%+d".formatted(shift.toSeconds()))
        .environment("FAKETIME_DONT_FAKE_MONOTONIC", "1")
        .environment("FAKETIME_FORCE_MONOTONIC_FIX", "0");
  }

  private static Optional<Path> library() throws IOException {
    var root = Path.of("/usr/lib");
    if (!Files.isDirectory(root)) {
      return Optional.empty();
    }
    try (var folders = Files.list(root)) {
      return folders.map(folder -> folder.resolve(LIBRARY)).filter(Files::exists).findFirst();
    }
  }
}
