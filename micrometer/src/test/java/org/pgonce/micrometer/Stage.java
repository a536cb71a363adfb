package org.pgonce.micrometer;

import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariDataSource;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import org.pgonce.Backoff;
import org.pgonce.ListenOptions;
import org.pgonce.PgOnce;
import org.pgonce.PgOnceBuilder;
import org.pgonce.testkit.TestDatabase;

/** A database, and what is closed at the end. */
final class Stage implements AutoCloseable {

  /** A bound and no expectation: the machine may do other things as well. */
  static final Duration SOON = Duration.ofSeconds(45);

  static final Duration OFTEN = Duration.ofMillis(100);

  /** Failures come back at once. */
  static final ListenOptions QUICK =
      ListenOptions.DEFAULT
          .withBackoff(new Backoff(Duration.ofMillis(20), Duration.ofMillis(50)))
          .withMaxAttempts(2);

  final TestDatabase database;
  final HikariDataSource dataSource;
  private final List<AutoCloseable> opened = new ArrayList<>();

  Stage(TestDatabase database) {
    this.database = database;
    this.dataSource = database.pooled(12);
  }

  PgOnceBuilder builder() {
    return PgOnce.builder(dataSource)
        .pollInterval(Duration.ofMillis(500))
        .stopTimeout(Duration.ofSeconds(2));
  }

  /** To be closed at the end, the last first. */
  <C extends AutoCloseable> C open(C closeable) {
    opened.add(0, closeable);
    return closeable;
  }

  /** The value of the only meter of that name and these tags; NaN if there is none. */
  static double value(MeterRegistry registry, String name, String... tags) {
    return registry.find(name).tags(tags).meters().stream()
        .map(Stage::value)
        .reduce((one, other) -> one + other)
        .orElse(Double.NaN);
  }

  private static double value(Meter meter) {
    return meter.measure().iterator().next().getValue();
  }

  void awaitSoon(Callable<Boolean> condition) {
    await().atMost(SOON).until(condition);
  }

  void awaitSoon(double expected, MeterRegistry registry, String name, String... tags) {
    await(name + " is " + expected)
        .atMost(SOON)
        .until(() -> value(registry, name, tags), value -> Double.compare(value, expected) == 0);
  }

  @Override
  public void close() throws Exception {
    for (var one : opened) {
      one.close();
    }
  }
}
