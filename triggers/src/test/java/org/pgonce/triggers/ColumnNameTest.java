package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.pgonce.records.internal.fit.ColumnName;
import tools.jackson.databind.PropertyNamingStrategies.SnakeCaseStrategy;

/** A column's name for a component is the one that the codec gives it. */
class ColumnNameTest {

  private static final String LETTERS = "aBcD1_\u00c4\u00df\u01c5$";

  /** Jackson lets only subclasses call it. */
  private static final class OfJackson extends SnakeCaseStrategy {

    private static final long serialVersionUID = 1L;

    String of(String javaName) {
      return translate(javaName);
    }
  }

  @Test
  void itIsJacksonsSnakeCase() {
    var jackson = new OfJackson();
    var random = new SplittableRandom(29);
    for (var round = 0; round < 20_000; round++) {
      var name = new StringBuilder();
      for (var i = 1 + random.nextInt(8); i > 0; i--) {
        name.append(LETTERS.charAt(random.nextInt(LETTERS.length())));
      }
      var component = name.toString();
      assertThat(ColumnName.byDefault(component)).as(component).isEqualTo(jackson.of(component));
    }
  }
}
