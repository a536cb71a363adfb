package org.pgonce.console.internal.site;

import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Where the pages are. All paths begin with the base and a slash, so no text of the database
 * becomes the scheme of a link.
 *
 * @param base without a slash at its end; empty for the root
 */
public record Paths(String base) {

  public String channels() {
    return base + "/";
  }

  public String channel(String name) {
    return base + "/channel/" + encoded(name);
  }

  public String notification(String channel, Object id) {
    return channel(channel) + "/" + encoded(String.valueOf(id));
  }

  public String page(String name) {
    return base + "/" + name;
  }

  /** With these parameters, but for those that are null or empty. */
  static String with(String path, Map<String, ? extends @Nullable String> parameters) {
    var query =
        parameters.entrySet().stream()
            .filter(one -> one.getValue() != null && !one.getValue().isEmpty())
            .map(one -> encoded(one.getKey()) + "=" + encoded(String.valueOf(one.getValue())))
            .collect(Collectors.joining("&"));
    return query.isEmpty() ? path : path + "?" + query;
  }

  static String with(String path, String name, @Nullable String value) {
    var one = new LinkedHashMap<String, @Nullable String>();
    one.put(name, value);
    return with(path, one);
  }

  private static String encoded(String text) {
    return URLEncoder.encode(text, StandardCharsets.UTF_8).replace("+", "%20");
  }
}
