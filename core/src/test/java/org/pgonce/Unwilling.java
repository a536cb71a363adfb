package org.pgonce;

import java.util.concurrent.CountDownLatch;

/** A handler as unwilling as can be: no interrupt moves it. */
final class Unwilling {

  private Unwilling() {}

  static void await(CountDownLatch latch) {
    while (true) {
      try {
        latch.await();
        return;
      } catch (InterruptedException ignoredOnPurpose) {
        // That is what it is for.
      }
    }
  }
}
