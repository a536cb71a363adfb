package org.pgonce.example.run;

import java.io.IOException;
import java.io.PrintStream;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Standard output with one line at its end that is written over again and again. Where it is no
 * terminal, that line is printed anew each few seconds instead. Safe for use by several threads.
 */
public final class Console {

  private static final Duration BETWEEN_LINES = Duration.ofSeconds(5);
  private static final String CLEAR_LINE = "\r\u001b[K";

  private final PrintStream out = System.out;
  private final boolean quiet;
  private final boolean terminal;
  private final int width;
  private final ReentrantLock lock = new ReentrantLock();
  private String progress = "";
  private boolean ended;
  private long printedAt = System.nanoTime();

  /**
   * @param width columns of the terminal
   */
  Console(boolean quiet, int width) {
    this.quiet = quiet;
    this.terminal = !quiet && isTerminal();
    this.width = width;
  }

  /** A line that stays. */
  public void say(String line) {
    lock.lock();
    try {
      out.println(progress.isEmpty() ? line : CLEAR_LINE + line);
      redraw();
    } finally {
      lock.unlock();
    }
  }

  /** A line that stays unless only the result is wanted. */
  public void tell(String line) {
    if (!quiet) {
      say(line);
    }
  }

  /** The line that is written over; empty ends it. */
  public void progress(String line) {
    lock.lock();
    try {
      if (ended) {
        return;
      }
      if (terminal) {
        progress = line.length() < width ? line : line.substring(0, width - 1);
        redraw();
      } else if (!quiet && isTime()) {
        out.println(line);
        printedAt = System.nanoTime();
      }
    } finally {
      lock.unlock();
    }
  }

  /** The progress line's last state stays. */
  public void endProgress(String line) {
    lock.lock();
    try {
      if (terminal) {
        out.println(CLEAR_LINE + line);
        progress = "";
      } else if (!quiet) {
        out.println(line);
      }
    } finally {
      lock.unlock();
    }
  }

  /** A last line: no progress is shown from now on. */
  void end(String line) {
    lock.lock();
    try {
      endProgress(line);
      ended = true;
    } finally {
      lock.unlock();
    }
  }

  private void redraw() {
    if (!progress.isEmpty()) {
      out.print(CLEAR_LINE + progress);
      out.flush();
    }
  }

  private boolean isTime() {
    return System.nanoTime() - printedAt >= BETWEEN_LINES.toNanos();
  }

  /** System.console() says whether input and output are one, and from JDK 22 on not even that. */
  private static boolean isTerminal() {
    try {
      var test = new ProcessBuilder("/bin/sh", "-c", "test -t 1").inheritIO().start();
      return test.waitFor(5, TimeUnit.SECONDS) && test.exitValue() == 0;
    } catch (IOException e) {
      return false; // no shell, no terminal that the escape sequences are for
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
  }
}
