package org.pgonce.operations.internal.text;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.Locale;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Durations as people read them. */
class DurationsTest {

  @ParameterizedTest
  @CsvSource({
    "PT0S, 0s",
    "PT0.000312S, 0.3ms",
    "PT0.00999S, 9.9ms",
    "PT0.012345S, 12ms",
    "PT0.999S, 999ms",
    "PT1S, 1.0s",
    "PT1.25S, 1.2s",
    "PT9.99S, 9.9s",
    "PT10.9S, 10s",
    "PT59S, 59s",
    "PT3M7S, 3m 7s",
    "PT3H12M, 3h 12m",
    "P2DT5H, 2d 5h"
  })
  void whatIsShortIsShownWithItsFractions(Duration duration, String words) {
    assertThat(Durations.exactly(duration)).isEqualTo(words);
  }

  @Test
  void anAgeIsToldToTheSecond() {
    assertThat(Durations.inWords(Duration.ofMillis(1_999))).isEqualTo("1s");
  }

  /** The console may run in a service of any language. */
  @Test
  void digitsAreTheSameInEachLanguage() {
    var former = Locale.getDefault();
    Locale.setDefault(Locale.forLanguageTag("ar-EG"));
    try {
      assertThat(Durations.inWords(Duration.ofMinutes(187))).isEqualTo("3h 7m");
    } finally {
      Locale.setDefault(former);
    }
  }
}
