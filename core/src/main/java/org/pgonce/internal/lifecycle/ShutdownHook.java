package org.pgonce.internal.lifecycle;

import java.time.Duration;

/**
 * What happens on SIGTERM or Ctrl-C: while somebody waits for a listener's end, the JVM that ends
 * closes it first, which is {@link Shutdown}. Where nobody waits the JVM ends at once, as with a
 * kill, and what was claimed is claimed again.
 */
public final class ShutdownHook {

  private ShutdownHook() {}

  /**
   * Waits until the listener has stopped.
   *
   * @param close what the JVM runs when it is told to end
   * @param longest how long it then waits for the close
   */
  public static void await(Listener listener, Runnable close, Duration longest)
      throws InterruptedException {
    var hook = new Thread(close, "pgonce-shutdown");
    Runtime.getRuntime().addShutdownHook(hook);
    try {
      listener.awaitStopped();
    } finally {
      try {
        Runtime.getRuntime().removeShutdownHook(hook);
      } catch (IllegalStateException shuttingDown) {
        hook.join(longest.toMillis()); // so that main does not return before
      }
    }
  }
}
