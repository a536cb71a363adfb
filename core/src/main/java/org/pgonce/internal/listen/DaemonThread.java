package org.pgonce.internal.listen;

/** A thread that does not keep the JVM alive. */
final class DaemonThread {

  private DaemonThread() {}

  static Thread start(String name, Runnable body) {
    var thread = new Thread(body, name);
    thread.setDaemon(true);
    thread.start();
    return thread;
  }
}
