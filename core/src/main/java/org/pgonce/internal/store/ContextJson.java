package org.pgonce.internal.store;

import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.pgonce.internal.text.Json;

/** A writer's context as the database stores it: a JSON object of texts. */
public final class ContextJson {

  private static final int LONGEST = 10_000;
  private static final Pattern SCALAR = Pattern.compile("true|false|-?[0-9][-+.0-9eE]*");

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
    var json = StorableText.requireJson("the context", Json.of(entries));
    var length = json.codePointCount(0, json.length()); // as PostgreSQL counts
    if (length > LONGEST) {
      throw new IllegalArgumentException(
          "the context has %d characters as JSON, and 10,000 is the most: it goes with each notification; put less into it"
              .formatted(length));
    }
    return json;
  }

  /**
   * What somebody has set: numbers and booleans as their text; none if it is no object of such, as
   * pgonce.current_context() has it.
   */
  public static Map<String, String> readSetting(String setting) {
    try {
      var entries = Json.members(setting);
      entries.replaceAll(
          (key, value) -> SCALAR.matcher(value).matches() ? value : Json.text(value));
      return entries;
    } catch (IllegalArgumentException noContext) {
      return Map.of();
    }
  }

  /** What a notification was stored with. Null is none. */
  public static Map<String, String> read(@Nullable String json) {
    if (json == null) {
      return Map.of();
    }
    var entries = Json.members(json);
    entries.replaceAll((key, value) -> Json.text(value));
    return Map.copyOf(entries);
  }
}
