package org.pgonce.cli.terminal;

import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.InputStream;
import java.io.PrintStream;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.pgonce.operations.internal.text.Printable;

/**
 * Where a command runs.
 *
 * @param interactive whether a person watches: only then is progress shown, and a screen cleared
 * @param environment the process's variables
 * @param askPassword null where nobody can be asked; returns null where nobody answers
 */
public record Terminal(
    InputStream in,
    PrintStream out,
    PrintStream err,
    boolean interactive,
    Map<String, String> environment,
    @Nullable Supplier<char @Nullable []> askPassword) {

  /** What is unreadable in an argument or a variable, and what to do. */
  public static final String UNREADABLE =
      "a character that cannot be read in the locale of this process: set LC_ALL=C.UTF-8";

  @SuppressWarnings("SystemConsoleNull") // it does here
  public static Terminal ofProcess() {
    // From Java 22 on there would be a console even where there is no terminal.
    System.setProperty("jdk.console", "java.base");
    var console = System.console();
    return new Terminal(
        System.in,
        readable(System.out, FileDescriptor.out),
        readable(System.err, FileDescriptor.err),
        console != null,
        System.getenv(),
        console == null ? null : () -> console.readPassword("Password: "));
  }

  /** Where no locale is set, as for cron: UTF-8, as Java would print question marks. */
  private static PrintStream readable(PrintStream stream, FileDescriptor descriptor) {
    return Charset.forName(System.getProperty("native.encoding")).equals(StandardCharsets.US_ASCII)
        ? new PrintStream(new FileOutputStream(descriptor), true, StandardCharsets.UTF_8)
        : stream;
  }

  /**
   * Null if it is not set, or empty.
   *
   * @throws FailedException if Java could not read it
   */
  public @Nullable String variable(String name) {
    var value = environment.get(name);
    if (value != null && isUnreadable(value)) {
      throw new FailedException("%s holds %s".formatted(name, UNREADABLE));
    }
    return value == null || value.isEmpty() ? null : value;
  }

  /** Whether Java has put a replacement for what the locale does not know. */
  public static boolean isUnreadable(String text) {
    return text.indexOf('\uFFFD') >= 0;
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
