package org.pgonce.testkit;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Predicate;

/** The last lines that a {@link JvmProcess} printed. */
final class JvmOutput {

  private static final int MAX_LINES = 20_000;
  private static final int DROPPED_AT_ONCE = 10_000;

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition grown = lock.newCondition();
  private final List<String> lines = new ArrayList<>();
  private long dropped;
  private boolean ended;

  /** Reads until the process has closed its output. */
  void readFrom(BufferedReader reader) {
    try (reader) {
      reader.lines().forEach(this::add);
    } catch (IOException | UncheckedIOException e) {
      add("(output lost: " + e.getMessage() + ")"); // the process was killed while it wrote
    } finally {
      end();
    }
  }

  private void add(String line) {
    lock.lock();
    try {
      if (lines.size() == MAX_LINES) {
        lines.subList(0, DROPPED_AT_ONCE).clear();
        dropped += DROPPED_AT_ONCE;
      }
      lines.add(line);
      grown.signalAll();
    } finally {
      lock.unlock();
    }
  }

  private void end() {
    lock.lock();
    try {
      ended = true;
      grown.signalAll();
    } finally {
      lock.unlock();
    }
  }

  List<String> lines() {
    lock.lock();
    try {
      return List.copyOf(lines);
    } finally {
      lock.unlock();
    }
  }

  /**
   * The first line that matches, printed before or within {@code nanos}; empty also if the output
   * ends without one.
   */
  Optional<String> await(Predicate<String> wanted, long nanos) throws InterruptedException {
    lock.lock();
    try {
      var deadline = System.nanoTime() + nanos;
      var seen = 0L;
      while (true) {
        var found = lines.stream().skip(Math.max(0, seen - dropped)).filter(wanted).findFirst();
        seen = dropped + lines.size();
        var left = deadline - System.nanoTime();
        if (found.isPresent() || ended || left <= 0) {
          return found;
        }
        grown.await(left, TimeUnit.NANOSECONDS);
      }
    } finally {
      lock.unlock();
    }
  }
}
