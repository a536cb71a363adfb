package org.pgonce.internal.wakeup;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.SQLException;
import java.util.ArrayList;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

class CourtesyTest {

  private final ArrayList<String> said = new ArrayList<>();

  private void say(Courtesy.Words words) {
    Courtesy.say(words, LoggerFactory.getLogger(CourtesyTest.class));
  }

  @Test
  void h61_itIsSaidThoughTheThreadIsInterruptedBefore() {
    Thread.currentThread().interrupt();
    say(() -> said.add(Thread.currentThread().isInterrupted() ? "interrupted" : "unlisten"));
    assertThat(Thread.interrupted()).isTrue();
    assertThat(said).containsExactly("unlisten");
  }

  @Test
  void h61_itIsSaidOnceMoreIfTheThreadIsInterruptedMeanwhile() {
    say(
        () -> {
          said.add("unlisten");
          if (said.size() == 1) {
            Thread.currentThread().interrupt();
            throw new SQLException("interrupted");
          }
        });
    assertThat(Thread.interrupted()).isTrue();
    assertThat(said).hasSize(2);
  }

  @Test
  void h61_aFailureIsNotSaidAgain() {
    say(
        () -> {
          said.add("unlisten");
          throw new SQLException("refused");
        });
    assertThat(Thread.interrupted()).isFalse();
    assertThat(said).hasSize(1);
  }
}
