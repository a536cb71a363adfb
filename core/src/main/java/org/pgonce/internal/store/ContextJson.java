package org.pgonce.internal.store;

import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.type.TypeReference;
import tools.jackson.databind.json.JsonMapper;

/** A writer's context as the database stores it: a JSON object of texts. */
public final class ContextJson {

  private static final int LONGEST = 10_000;
  private static final JsonMapper MAPPER = JsonMapper.builder().build();
  private static final TypeReference<Map<String, String>> ENTRIES = new TypeReference<>() {};

  private ContextJson() {}

  /**
   * The text that pgonce.context is set to: empty where there are no entries.
   *
   * @throws IllegalArgumentException if it cannot be stored
   */
  public static String of(Map<String, String> context) {
    Objects.requireNonNull(context, "context");
    var entries = new TreeMap<String, String>();
    context.forEach(
        (key, value) ->
            entries.put(
                Objects.requireNonNull(key, "a key of the context"),
                Objects.requireNonNull(value, "a value of the context")));
    if (entries.isEmpty()) {
      return "";
    }
    if (entries.containsKey("")) {
      throw new IllegalArgumentException("an entry of the context has an empty key");
    }
    var json = StorableText.requireJson(MAPPER.writeValueAsString(entries));
    if (json.length() > LONGEST) {
      throw new IllegalArgumentException(
          "the context has %d characters as JSON, and 10,000 is the most: it goes with each notification; put less into it"
              .formatted(json.length()));
    }
    return json;
  }

  /** What a notification was stored with. Null is none. */
  public static Map<String, String> read(@Nullable String json) {
    return json == null ? Map.of() : Map.copyOf(MAPPER.readValue(json, ENTRIES));
  }
}
