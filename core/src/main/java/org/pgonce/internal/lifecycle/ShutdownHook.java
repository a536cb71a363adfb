package org.pgonce.internal.lifecycle;

import java.time.Duration;

/**
 * Stops the listener when the JVM is told to end: SIGTERM, Ctrl-C. It is set while a thread waits
 * in {@code PgOnce.awaitStopped}. What it runs is {@code PgOnce.close}, which {@link Shutdown}
 * describes.
 */
public final class ShutdownHook {

  private final Thread hook;

  private ShutdownHook(Thread hook) {
    this.hook = hook;
  }

  public static ShutdownHook set(Runnable close) {
    var hook = new Thread(close, "pgonce-shutdown");
    Runtime.getRuntime().addShutdownHook(hook);
    return new ShutdownHook(hook);
  }

  /**
   * Takes it back. While it runs, waits for it, so that {@code main} does not return before.
   *
   * @param longest how long it waits
   */
  public void remove(Duration longest) throws InterruptedException {
    try {
      Runtime.getRuntime().removeShutdownHook(hook);
    } catch (IllegalStateException shuttingDown) {
      hook.join(longest.toMillis());
    }
  }
}
