package org.pgonce.triggers.internal.definition;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;

class TemplateTest {

  @Test
  void h30_eachPlaceholderGetsItsValueAndNoneIsLookedForInThese() {
    var values = new HashMap<>(Map.of("function", "f{body}", "settings", "$1 \\ {settings}"));
    assertThatThrownBy(() -> Template.fill("function.sql", values))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("function.sql has no value for {body}");
    values.put("kept", "DO;");
    values.put("body", "$$$$");
    assertThat(Template.fill("function.sql", values))
        .startsWith("CREATE OR REPLACE FUNCTION f{body}() ")
        .contains("$1 \\ {settings}\nAS $$$$;");
  }
}
