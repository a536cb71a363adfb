package org.pgonce.console;

import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What a browser asks for. Immutable.
 *
 * @param method {@code GET}, {@code HEAD}, {@code POST}; any other is refused
 * @param path the segments below the console's own path, each decoded
 * @param query parameters of the URL, decoded
 * @param form fields of the body, decoded; empty unless the method is {@code POST}
 * @param headers by their names in lower case; of several with one name, all, with commas
 */
public record Request(
    String method,
    List<String> path,
    Map<String, List<String>> query,
    Map<String, List<String>> form,
    Map<String, String> headers) {

  public Request {
    path = List.copyOf(path);
    query = Map.copyOf(query);
    form = Map.copyOf(form);
    headers = Map.copyOf(headers);
  }

  public boolean isPost() {
    return method.equals("POST");
  }

  /** The parameter's first value; null if it is not there, or blank. */
  public @Nullable String parameter(String name) {
    return first(query, name);
  }

  /** The field's first value; null if it is not there, or blank. */
  public @Nullable String field(String name) {
    return first(form, name);
  }

  /** Null if it is not there. */
  public @Nullable String header(String name) {
    return headers.get(name);
  }

  private static @Nullable String first(Map<String, List<String>> values, String name) {
    var found = values.getOrDefault(name, List.of());
    return found.isEmpty() || found.get(0).isBlank() ? null : found.get(0);
  }
}
