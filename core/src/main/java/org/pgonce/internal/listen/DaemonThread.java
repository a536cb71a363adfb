package org.pgonce.internal.listen;

/** A thread of this package: named {@code pgonce-…}, and never what keeps a JVM alive. */
final class DaemonThread {

  private DaemonThread() {}

  static Thread start(String name, Runnable body) {
    var thread = new Thread(body, name);
    thread.setDaemon(true);
    thread.start();
    return thread;
  }
}
