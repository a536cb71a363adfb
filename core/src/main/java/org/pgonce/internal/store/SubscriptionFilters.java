package org.pgonce.internal.store;

import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import org.pgonce.ChannelOptions;
import tools.jackson.core.type.TypeReference;
import tools.jackson.databind.json.JsonMapper;

/** Subscriptions and their filters as the database has them: JSON. */
final class SubscriptionFilters {

  private static final JsonMapper MAPPER = JsonMapper.builder().build();
  private static final TypeReference<Map<String, String>> ENTRIES = new TypeReference<>() {};

  private SubscriptionFilters() {}

  /** An object: name to filter, or to null where there is none. */
  static String toJson(ChannelOptions options) {
    var all = new TreeMap<String, @Nullable Map<String, String>>();
    options
        .subscriptions()
        .forEach((name, filter) -> all.put(name, filter.isEmpty() ? null : new TreeMap<>(filter)));
    return MAPPER.writeValueAsString(all);
  }

  /** The filter that the database has. Null is none. */
  static Map<String, String> fromJson(@Nullable String json) {
    return json == null ? Map.of() : MAPPER.readValue(json, ENTRIES);
  }
}
