package org.pgonce.cli.terminal;

import java.io.InputStream;
import java.io.PrintStream;
import java.util.Map;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.pgonce.operations.internal.text.Printable;

/**
 * Where a command runs.
 *
 * @param interactive whether a person watches: only then is progress shown, and a screen cleared
 * @param environment the process's variables
 * @param askPassword null where nobody can be asked
 */
public record Terminal(
    InputStream in,
    PrintStream out,
    PrintStream err,
    boolean interactive,
    Map<String, String> environment,
    @Nullable Supplier<char[]> askPassword) {

  @SuppressWarnings("SystemConsoleNull") // it does here
  public static Terminal ofProcess() {
    // From Java 22 on there would be a console even where there is no terminal.
    System.setProperty("jdk.console", "java.base");
    var console = System.console();
    return new Terminal(
        System.in,
        System.out,
        System.err,
        console != null,
        System.getenv(),
        console == null ? null : () -> console.readPassword("Password: "));
  }

  /** Null if it is not set, or empty. */
  public @Nullable String variable(String name) {
    var value = environment.get(name);
    return value == null || value.isEmpty() ? null : value;
  }

  /** Overwrites the last line of progress; nothing where nobody watches. */
  public void progress(String line) {
    if (interactive) {
      err.print("\r\u001b[K" + Printable.line(line));
      err.flush();
    }
  }

  public void progressEnds() {
    if (interactive) {
      err.print("\r\u001b[K");
      err.flush();
    }
  }
}
