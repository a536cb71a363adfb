package org.pgonce.spring.internal;

import java.util.concurrent.CountDownLatch;

/** Keeps the JVM alive while something is listened to: pgonce's own threads are daemons. */
final class KeepAlive {

  private final CountDownLatch over = new CountDownLatch(1);

  void start() {
    new Thread(this::await, "pgonce-keep-alive").start();
  }

  private void await() {
    try {
      over.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt(); // nobody does, and then it is over, too
    }
  }

  void end() {
    over.countDown();
  }
}
