package org.pgonce.testkit;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

class SharedServerTest {

  @Test
  void whyItDidNotStartIsToldToEachTestThatAsks() {
    var shared =
        new SharedServer(
            () -> {
              throw new IllegalStateException("no space left");
            });
    for (var test = 1; test <= 2; test++) {
      assertThatThrownBy(shared::get)
          .isInstanceOf(IllegalStateException.class)
          .hasMessageContaining("no space left");
    }
  }
}
