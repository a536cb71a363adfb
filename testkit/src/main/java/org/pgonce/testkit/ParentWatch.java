package org.pgonce.testkit;

import java.io.IOException;

/**
 * Ends a JVM that {@link JvmProcess} started when the JVM that started it is gone, however it went.
 */
public final class ParentWatch {

  private static final int STATUS = 143; // as if by SIGTERM

  private ParentWatch() {}

  /**
   * Reads standard input to its end in a daemon thread, and then halts this JVM. The parent holds
   * the other end of that pipe and never writes to it; the kernel closes it when the parent dies,
   * by SIGKILL too.
   */
  public static void exitWhenParentDies() {
    var watch = new Thread(ParentWatch::readToTheEnd, "parent-watch");
    watch.setDaemon(true);
    watch.start();
  }

  private static void readToTheEnd() {
    try {
      while (System.in.read() >= 0) {
        // The parent writes nothing.
      }
    } catch (IOException brokenPipe) {
      // As good as its end.
    }
    Runtime.getRuntime().halt(STATUS);
  }
}
