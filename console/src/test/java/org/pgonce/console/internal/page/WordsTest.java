package org.pgonce.console.internal.page;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Locale;
import org.junit.jupiter.api.Test;

/** Values as the pages show them. */
class WordsTest {

  /** The console may run in a service of any language. */
  @Test
  void digitsAreTheSameInEachLanguage() {
    var former = Locale.getDefault();
    Locale.setDefault(Locale.forLanguageTag("ar-EG"));
    try {
      assertThat(Words.cut("x".repeat(2_500))).endsWith("… (2,500 characters)");
      assertThat(Words.count(1_234)).isEqualTo("1,234");
    } finally {
      Locale.setDefault(former);
    }
  }
}
