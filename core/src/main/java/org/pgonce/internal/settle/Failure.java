package org.pgonce.internal.settle;

import java.time.Duration;

/**
 * Why an attempt failed.
 *
 * @param inHandler how long it took, by the JVM's monotonic clock
 */
public record Failure(Throwable cause, Duration inHandler) {

  /** Of an attempt that began at this time, by System.nanoTime(). */
  public static Failure since(long begun, Throwable cause) {
    return new Failure(cause, Duration.ofNanos(System.nanoTime() - begun));
  }
}
