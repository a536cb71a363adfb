package org.pgonce.cli;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** On Ctrl-C the command's thread closes its connection before the JVM ends. */
final class EndOnInterrupt {

  private static final Duration LONGEST = Duration.ofSeconds(2);

  private volatile boolean asked;
  private final CountDownLatch done = new CountDownLatch(1);

  EndOnInterrupt(Thread command) {
    Runtime.getRuntime()
        .addShutdownHook(
            new Thread(
                () -> {
                  asked = true;
                  command.interrupt();
                  awaitDone();
                },
                "pgonce-interrupt"));
  }

  boolean isAsked() {
    return asked;
  }

  private void awaitDone() {
    try {
      // Where a statement runs longer, the server undoes it when it sees the connection's end.
      var unused = done.await(LONGEST.toMillis(), TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** The command has ended; to be called before {@link System#exit}. */
  void done() {
    done.countDown();
  }
}
