package org.pgonce.internal.settle;

import java.time.Duration;

/**
 * Why an attempt failed.
 *
 * @param inHandler how long it took, by the JVM's monotonic clock
 */
public record FailedAttempt(Throwable cause, Duration inHandler) {

  /** Of an attempt that began at this time, by System.nanoTime(). */
  public static FailedAttempt since(long begun, Throwable cause) {
    return new FailedAttempt(cause, Duration.ofNanos(System.nanoTime() - begun));
  }
}
