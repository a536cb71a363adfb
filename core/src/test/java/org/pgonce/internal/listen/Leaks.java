package org.pgonce.internal.listen;

import static org.awaitility.Awaitility.await;

import java.time.Duration;
import java.util.List;
import org.pgonce.spi.WakeUpSource;
import org.pgonce.testkit.TestDatabase;

/** What must not be left when everything is closed. */
final class Leaks {

  private static final Duration BOUND = Duration.ofSeconds(20);

  private Leaks() {}

  static void awaitNone(TestDatabase database) {
    awaitNoBackend(database);
    awaitNoThread();
  }

  static void awaitNoBackend(TestDatabase database) {
    await("end of the LISTEN backends")
        .atMost(BOUND)
        .until(() -> database.backends().named(WakeUpSource.APPLICATION_NAME), List::isEmpty);
  }

  static void awaitNoThread() {
    await("end of the threads").atMost(BOUND).until(Leaks::threads, List::isEmpty);
  }

  private static List<String> threads() {
    return Thread.getAllStackTraces().keySet().stream()
        .map(Thread::getName)
        .filter(name -> name.startsWith("pgonce-"))
        .filter(name -> !name.startsWith("pgonce-test"))
        .toList();
  }
}
