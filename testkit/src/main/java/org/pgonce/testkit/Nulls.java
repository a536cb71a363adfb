package org.pgonce.testkit;

import org.junit.jupiter.params.provider.Arguments;

/** What tests of refused nulls are made of. */
public final class Nulls {

  private Nulls() {}

  /** A call that is to be refused. */
  @FunctionalInterface
  public interface Call {
    void run() throws Exception;
  }

  /** A null, for callers that no checker checks. */
  @SuppressWarnings({"TypeParameterUnusedInFormals", "NullAway"})
  public static <T> T none() {
    return null;
  }

  /**
   * Arguments of a test.
   *
   * @param message the name of what is null
   */
  public static Arguments that(String message, Call call) {
    return Arguments.of(message, call);
  }
}
