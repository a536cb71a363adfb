package org.pgonce.handler;

import java.util.concurrent.CountDownLatch;

/** A handler as unwilling as can be: no interrupt moves it. */
public final class Unwilling {

  private Unwilling() {}

  public static void await(CountDownLatch latch) {
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
