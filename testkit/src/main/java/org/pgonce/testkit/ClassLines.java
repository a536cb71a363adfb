package org.pgonce.testkit;

import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.support.descriptor.ClassSource;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.TestPlan;

/**
 * Prints one line per test class when the class ends, one line per skipped test with the reason,
 * and the beginning of the stack trace of each failure.
 *
 * <p>Surefire redirects System.out of its forks to a file per class, so the lines go to the file
 * descriptor. That is safe because the forks talk to Maven by a socket (forkNode in the parent
 * POM), and not by their standard output.
 */
public final class ClassLines implements TestExecutionListener {

  private static final int TRACE_LINES = 40;

  private final PrintStream console =
      new PrintStream(new FileOutputStream(FileDescriptor.out), true, StandardCharsets.UTF_8);
  private final Map<String, ClassCount> counts = new ConcurrentHashMap<>();
  private volatile @Nullable TestPlan plan;

  @Override
  public void testPlanExecutionStarted(TestPlan started) {
    plan = started;
  }

  @Override
  public void executionStarted(TestIdentifier started) {
    countOf(started);
  }

  @Override
  public void executionSkipped(TestIdentifier skipped, String reason) {
    var count = countOf(skipped);
    if (count != null) {
      count.skipped.increment();
      printSkipped(skipped, count, reason);
      printIfClass(skipped);
    }
  }

  @Override
  public void executionFinished(TestIdentifier finished, TestExecutionResult result) {
    var count = countOf(finished);
    if (count == null) {
      return;
    }
    switch (result.getStatus()) {
      case FAILED -> {
        count.failed.increment();
        printFailure(finished, count, result.getThrowable().orElse(null));
      }
      case ABORTED -> {
        count.skipped.increment();
        printSkipped(
            finished, count, result.getThrowable().map(Throwable::getMessage).orElse(null));
      }
      case SUCCESSFUL -> {
        if (finished.isTest()) {
          count.passed.increment();
        }
      }
    }
    printIfClass(finished);
  }

  private void printSkipped(TestIdentifier skipped, ClassCount count, @Nullable String reason) {
    console.printf(
        "  skipped: %s %s: %s%n",
        count.name, skipped.getDisplayName(), reason == null ? "no reason given" : reason);
  }

  private void printFailure(TestIdentifier failed, ClassCount count, @Nullable Throwable failure) {
    var trace = new StringWriter();
    if (failure != null) {
      failure.printStackTrace(new PrintWriter(trace));
    }
    console.printf("  failed: %s %s%n", count.name, failed.getDisplayName());
    trace.toString().lines().limit(TRACE_LINES).forEach(console::println);
  }

  private void printIfClass(TestIdentifier ended) {
    var count = counts.remove(ended.getUniqueId());
    if (count != null) {
      console.println(count.line());
    }
  }

  /** Of the top-level class that it belongs to; null for what stands above classes. */
  private @Nullable ClassCount countOf(TestIdentifier identifier) {
    TestIdentifier outermost = null;
    var known = plan;
    for (TestIdentifier at = identifier;
        at != null;
        at = known == null ? null : known.getParent(at).orElse(null)) {
      if (at.getSource().filter(ClassSource.class::isInstance).isPresent()) {
        outermost = at;
      }
    }
    if (outermost == null) {
      return null;
    }
    var source = (ClassSource) outermost.getSource().orElseThrow();
    return counts.computeIfAbsent(
        outermost.getUniqueId(), id -> new ClassCount(source.getClassName()));
  }

  private static final class ClassCount {

    final String name;
    final LongAdder passed = new LongAdder();
    final LongAdder failed = new LongAdder();
    final LongAdder skipped = new LongAdder();
    private final long startedAt = System.nanoTime();

    ClassCount(String name) {
      this.name = name;
    }

    String line() {
      return String.format(
          Locale.ROOT,
          "%s %s: %d passed%s%s, %.1f s",
          failed.sum() > 0 ? "FAILED" : "ok",
          name,
          passed.sum(),
          failed.sum() > 0 ? ", " + failed.sum() + " failed" : "",
          skipped.sum() > 0 ? ", " + skipped.sum() + " skipped" : "",
          (System.nanoTime() - startedAt) / 1e9);
    }
  }
}
