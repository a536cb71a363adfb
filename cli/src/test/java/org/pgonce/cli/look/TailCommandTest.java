package org.pgonce.cli.look;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** How often {@code pgonce tail} looks. */
class TailCommandTest {

  @ParameterizedTest
  @CsvSource({"PT0S,PT1S", "PT0.05S,PT1S", "PT0.1S,PT2S", "PT2S,PT40S", "PT30S,PT1M"})
  void whereALookTakesLongItRestsLonger(Duration look, Duration rest) {
    assertThat(TailCommand.restAfter(look)).isEqualTo(rest);
  }
}
