package org.pgonce.testkit;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;

/**
 * A child JVM with this JVM's class path, to be killed, stopped or cut off like any process of an
 * application.
 *
 * <p>Closing it kills it. For the case that this JVM is killed first, the child calls {@link
 * ParentWatch#exitWhenParentDies()}. Safe for use by several threads.
 */
public final class JvmProcess implements AutoCloseable {

  private static final Duration BOUND = Duration.ofSeconds(30);
  private static final int SHOWN_LINES = 30;

  private final Process process;
  private final JvmOutput output = new JvmOutput();
  private final Thread reader;

  JvmProcess(Process process) {
    this.process = process;
    this.reader =
        new Thread(() -> output.readFrom(process.inputReader()), "output-of-jvm-" + process.pid());
    reader.setDaemon(true);
    reader.start();
  }

  /** Starts the main class with the given arguments. */
  public static JvmProcess start(Class<?> main, String... arguments) {
    return of(main).arguments(arguments).start();
  }

  /** Begins the description of a child that needs options or system properties. */
  public static JvmCommand of(Class<?> main) {
    return new JvmCommand(main);
  }

  public long pid() {
    return process.pid();
  }

  public boolean isAlive() {
    return process.isAlive();
  }

  /**
   * What it has printed so far, standard output and standard error as they came; at least the last
   * 10,000 lines.
   */
  public List<String> lines() {
    return output.lines();
  }

  /** Waits for a line that contains the text; see {@link #awaitLine(Predicate, Duration)}. */
  public String awaitLine(String part, Duration bound) throws InterruptedException {
    return awaitLine(line -> line.contains(part), bound);
  }

  /**
   * The first line that matches, of those already printed and those to come.
   *
   * @throws AssertionError with the last lines if none comes within the bound, or the child ends
   *     without
   */
  public String awaitLine(Predicate<String> wanted, Duration bound) throws InterruptedException {
    return output
        .await(wanted, bound.toNanos())
        .orElseThrow(
            () ->
                new AssertionError(
                    "No such line from %s within %s%s".formatted(this, bound, lastLines())));
  }

  /**
   * Waits until it has ended.
   *
   * @return its exit status; 128 and more say which signal ended it
   * @throws AssertionError with the last lines if it still runs after the bound
   */
  public int awaitExit(Duration bound) throws InterruptedException {
    if (!process.waitFor(bound.toMillis(), TimeUnit.MILLISECONDS)) {
      throw new AssertionError("%s still runs after %s%s".formatted(this, bound, lastLines()));
    }
    reader.join(BOUND.toMillis());
    return process.exitValue();
  }

  private String lastLines() {
    var lines = lines();
    var last = lines.subList(Math.max(0, lines.size() - SHOWN_LINES), lines.size());
    return last.isEmpty()
        ? "; it printed nothing"
        : "; it printed last:\n  " + String.join("\n  ", last);
  }

  /** SIGKILL: nothing of its own runs any more. Returns when it is dead. */
  public void kill9() throws InterruptedException {
    signal(Signal.KILL);
    awaitExit(BOUND);
  }

  /** SIGSTOP: frozen with all its connections open, until {@link #sigcont()}. */
  public void sigstop() {
    signal(Signal.STOP);
  }

  public void sigcont() {
    signal(Signal.CONT);
  }

  /** SIGTERM: its shutdown hooks run. Does not wait; see {@link #awaitExit}. */
  public void sigterm() {
    signal(Signal.TERM);
  }

  private void signal(Signal signal) {
    // While the Process object has not seen its end, the kernel keeps its id from being used again.
    if (process.isAlive()) {
      signal.send(process.pid());
    }
  }

  /** Kills it, if it still runs, and waits for its end. */
  @Override
  public void close() {
    process.destroyForcibly();
    try {
      awaitExit(BOUND);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt(); // it has been killed; only the waiting is cut short
    }
  }

  @Override
  public String toString() {
    return "JVM " + process.pid();
  }

  /**
   * Whether processes started from here inherit that SIGINT is ignored, and so cannot be told it: a
   * shell without job control does that to what it runs in the background. False where there is no
   * /proc to look it up.
   */
  public static boolean interruptIsIgnored() {
    try (var lines = Files.lines(Path.of("/proc/self/status"))) {
      return lines
          .filter(line -> line.startsWith("SigIgn:"))
          .anyMatch(line -> (Long.parseUnsignedLong(line.substring(7).strip(), 16) & 2) != 0);
    } catch (IOException | UncheckedIOException noProc) {
      return false;
    }
  }
}
