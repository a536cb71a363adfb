package org.pgonce.console.internal.web;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.pgonce.console.Response;

/**
 * Styles, script and icon, read once. They are found by their exact names in a map, never by a path
 * in a file system.
 */
public final class StaticFiles {

  private static final Map<String, String> TYPES =
      Map.of(
          "console.css", "text/css; charset=utf-8",
          "console.js", "text/javascript; charset=utf-8",
          "icon.svg", "image/svg+xml");

  private final Map<String, Response> files;

  private StaticFiles(Map<String, Response> files) {
    this.files = files;
  }

  public static StaticFiles load() {
    var files = new HashMap<String, Response>();
    TYPES.forEach(
        (name, type) ->
            files.put(
                name, Response.of(200, type, content(name)).with("Cache-Control", "no-cache")));
    return new StaticFiles(Map.copyOf(files));
  }

  private static String content(String name) {
    try (var stream = StaticFiles.class.getResourceAsStream(name)) {
      return new String(
          Objects.requireNonNull(stream, name).readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Null if the path is of no file. */
  public @Nullable Response find(List<String> path) {
    return path.size() == 2 && path.get(0).equals("static") ? files.get(path.get(1)) : null;
  }
}
