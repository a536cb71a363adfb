package org.pgonce.console.internal.web;

import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Paths, queries and forms as they are sent. */
public final class UrlEncoded {

  private static final int MOST_PARAMETERS = 2_000;

  private UrlEncoded() {}

  /**
   * The segments of a path, each decoded.
   *
   * @throws IllegalArgumentException if one cannot be decoded
   */
  public static List<String> path(String raw) {
    var segments = new ArrayList<String>();
    for (var segment : raw.split("/", -1)) {
      if (!segment.isEmpty()) {
        segments.add(decoded(segment.replace("+", "%2B")));
      }
    }
    return segments;
  }

  /**
   * Names and values, each decoded.
   *
   * @throws IllegalArgumentException if one cannot be decoded, or there are more than 2,000
   */
  public static Map<String, List<String>> parameters(@Nullable String raw) {
    var parameters = new LinkedHashMap<String, List<String>>();
    if (raw == null || raw.isEmpty()) {
      return parameters;
    }
    var parts = raw.split("&", MOST_PARAMETERS + 1);
    if (parts.length > MOST_PARAMETERS) {
      throw new IllegalArgumentException("more than %,d parameters".formatted(MOST_PARAMETERS));
    }
    for (var part : parts) {
      var equals = part.indexOf('=');
      var name = decoded(equals < 0 ? part : part.substring(0, equals));
      var value = equals < 0 ? "" : decoded(part.substring(equals + 1));
      parameters.computeIfAbsent(name, any -> new ArrayList<>()).add(value);
    }
    return parameters;
  }

  private static String decoded(String text) {
    var decoded = URLDecoder.decode(text, StandardCharsets.UTF_8);
    if (decoded.indexOf('\0') >= 0) {
      throw new IllegalArgumentException("a NUL, which PostgreSQL has in no text");
    }
    return decoded;
  }
}
