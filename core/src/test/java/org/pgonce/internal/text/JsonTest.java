package org.pgonce.internal.text;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.entry;

import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.json.JsonMapper;

/** What is written and taken apart by hand, beside what a library makes of it. */
class JsonTest {

  private static final JsonMapper JACKSON = JsonMapper.builder().build();

  @Test
  void whatItWritesIsWhatALibraryWrites() {
    var map = new LinkedHashMap<String, Object>();
    map.put("a\"\\", List.of(1L, true, "x/y"));
    map.put("\b\f\n\r\t\u0001\u001f\u007f\u00e4\ud83d\ude00", Map.of());
    map.put("none", null);
    map.put("list", Arrays.asList(null, new TreeMap<>(Map.of("b", 1, "a", -2))));
    assertThat(Json.of(map))
        .isEqualTo(JACKSON.writeValueAsString(map).replace("\\u001F", "\\u001f"));
  }

  @Test
  void aTextOfAnyCharactersGoesThrough() {
    var random = new SplittableRandom(29);
    for (var round = 0; round < 2_000; round++) {
      var letters = new StringBuilder();
      for (var i = random.nextInt(12); i > 0; i--) {
        letters.append(
            (char) (random.nextBoolean() ? random.nextInt(128) : random.nextInt(0xd800)));
      }
      var text = letters.toString();
      var json = Json.of(text);
      assertThat(Json.text(json)).isEqualTo(text);
      assertThat(JACKSON.readValue(json, String.class)).isEqualTo(text);
      assertThat(Json.text(JACKSON.writeValueAsString(text))).isEqualTo(text);
    }
  }

  @Test
  void membersStayAsTheyStandThere() {
    assertThat(
            Json.members(
                " { \"a\" : 1.10 ,\"b\\n\":{\"x\": [1, \"]}\\\"\"]},\"c\":[ ] , \"d\":\"\\u00e4\\\\\", \"e\":null}\n"))
        .containsExactly(
            entry("a", "1.10"),
            entry("b\n", "{\"x\": [1, \"]}\\\"\"]}"),
            entry("c", "[ ]"),
            entry("d", "\"\\u00e4\\\\\""),
            entry("e", "null"));
    assertThat(Json.members("{}")).isEmpty();
    assertThat(Json.text("\"\\u00e4\\\\\\/\\b\"")).isEqualTo("\u00e4\\/\b");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        " ",
        "1",
        "null",
        "[]",
        "{",
        "{\"a\"",
        "{\"a\":",
        "{\"a\":}",
        "{\"a\":1",
        "{\"a\":1,}",
        "{\"a\":1}}",
        "{\"a\":1} {}",
        "{\"a\":\"x}",
        "{\"a\":\"x\\",
        "{\"a\":1,\"a\":2}",
        "{a:1}",
        "{1:1}",
        "{\"a\":]}",
        "{\"a\" 1}",
        "{\"\\x\":1}",
        "{\"\\u00\":1}",
      })
  void whatIsNoObjectIsRefused(String json) {
    assertThatThrownBy(() -> Json.members(json)).isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void elementsStayAsTheyStandThere() {
    assertThat(Json.elements(" [ {\"d\":1.0} , [ 2 ],\"x\" ] "))
        .containsExactly("{\"d\":1.0}", "[ 2 ]", "\"x\"");
    assertThatThrownBy(() -> Json.elements("{}")).isInstanceOf(IllegalArgumentException.class);
  }
}
