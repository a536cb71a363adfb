package org.pgonce.example.run;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.pgonce.testkit.Cleanup;

/** One JVM that listens. */
final class ListenerProcess {

  /** A process that lives for seconds: little memory, and a compiler that is done early. */
  static final List<String> SMALL =
      List.of("-Xmx96m", "-Xss512k", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto");

  // Netty's use of sun.misc.Unsafe makes JDK 24 and later warn on the console.
  private static final String NO_UNSAFE = "-Dio.netty.noUnsafe=true";
  private static final int LAST_WORDS = 5;

  private final String name;
  private final Process process;
  private final Console console;
  private final ArrayDeque<String> lastWords = new ArrayDeque<>();
  private final Thread reader;
  private final long startedAt = System.nanoTime();
  private volatile boolean listening;
  private volatile boolean toEnd;

  /**
   * What every listener of a run has in common.
   *
   * @param main says {@link ListenerMain#LISTENING} once it is at work, and takes its name and then
   *     the arguments
   */
  record Kind(DatabaseAddress address, Class<?> main, List<String> arguments) {}

  private ListenerProcess(String name, Process process, Console console) {
    this.name = name;
    this.process = process;
    this.console = console;
    this.reader = new Thread(() -> read(process.inputReader()), "output-of-" + name);
    reader.setDaemon(true);
    reader.start();
  }

  /** The name of the process that is the n-th in its place, both counted from 1. */
  static String nameOf(int place, int life) {
    return "listener-%d.%d".formatted(place, life);
  }

  static int placeOf(String name) {
    return Integer.parseInt(name.substring(name.indexOf('-') + 1, name.indexOf('.')));
  }

  /** Whether it is the first in its place. */
  boolean isFirst() {
    return name.endsWith(".1");
  }

  static ListenerProcess start(String name, Kind kind, Console console) {
    var command = new ArrayList<String>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(SMALL);
    command.add(NO_UNSAFE);
    command.add(kind.main().getName());
    command.add(name);
    command.addAll(kind.arguments());
    var builder = new ProcessBuilder(command).redirectErrorStream(true);
    builder.environment().put("CLASSPATH", System.getProperty("java.class.path"));
    kind.address().toEnvironment(builder.environment());
    try {
      return new ListenerProcess(name, builder.start(), console);
    } catch (IOException e) {
      throw new CannotRunException("no JVM starts from " + command.get(0) + ": " + e.getMessage());
    }
  }

  private void read(BufferedReader output) {
    try (output) {
      output.lines().forEach(this::heard);
    } catch (IOException | UncheckedIOException e) {
      // It was killed while it wrote.
    }
  }

  private void heard(String line) {
    if (line.equals(ListenerMain.LISTENING)) {
      listening = true;
      return;
    }
    synchronized (lastWords) {
      lastWords.add(line);
      if (lastWords.size() > LAST_WORDS) {
        lastWords.remove();
      }
    }
    if (!toEnd && !Cleanup.jvmEnds()) {
      console.tell(name + ": " + line);
    }
  }

  String name() {
    return name;
  }

  /** By System.nanoTime(). */
  long startedAt() {
    return startedAt;
  }

  /** Whether it has said that it is at work, and is alive. */
  boolean isListening() {
    return listening && process.isAlive();
  }

  /** Whether it has ended though nobody told it to. */
  boolean hasFailed() {
    return !toEnd && !process.isAlive();
  }

  /** Why it has ended, in its own last words. */
  String failure() throws InterruptedException {
    reader.join(TimeUnit.SECONDS.toMillis(1));
    synchronized (lastWords) {
      return "%s ended by itself with status %d%s"
          .formatted(
              name,
              process.exitValue(),
              lastWords.isEmpty() ? "" : ": " + String.join("\n", lastWords));
    }
  }

  /** SIGKILL; returns when it is dead. */
  void kill() {
    toEnd = true;
    process.destroyForcibly().onExit().join();
  }

  /** SIGTERM: it finishes what it is at and ends. */
  void terminate() {
    toEnd = true;
    // Not Process.destroy(): that closes the pipe too, by which the listener knows that we live.
    process.toHandle().destroy();
  }

  /** Waits for its end after {@link #terminate}; false if it still runs then. */
  boolean awaitEnd(long seconds) throws InterruptedException {
    return process.waitFor(seconds, TimeUnit.SECONDS);
  }
}
