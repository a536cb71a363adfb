package org.pgonce.console;

import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.pgonce.console.internal.web.UrlEncoded;

/**
 * What a browser asks for. Immutable.
 *
 * @param base where the console is, as the browser has it: as {@code /pgonce}; empty for the root
 * @param method {@code GET}, {@code HEAD}, {@code POST}; any other is refused
 * @param path the segments below the base, each decoded
 * @param query parameters of the URL, decoded
 * @param form fields of the body, decoded; empty unless the method is {@code POST}
 * @param headers by their names in lower case; of several with one name, all, with commas
 */
public record Request(
    String base,
    String method,
    List<String> path,
    Map<String, List<String>> query,
    Map<String, List<String>> form,
    Map<String, String> headers) {

  private static final String BASE = "(/[A-Za-z0-9._~%-]+)*";

  /**
   * @throws IllegalArgumentException if the base is none, or a form holds a NUL, which PostgreSQL
   *     has in no text
   */
  public Request {
    if (!base.matches(BASE)) {
      throw new IllegalArgumentException(
          "base \"%s\" is none: empty, or as /pgonce, without a slash at its end".formatted(base));
    }
    path = List.copyOf(path);
    query = Map.copyOf(query);
    form = Map.copyOf(form);
    headers = Map.copyOf(headers);
    for (var values : form.values()) {
      if (values.stream().anyMatch(value -> value.indexOf('\0') >= 0)) {
        throw new IllegalArgumentException("a NUL, which PostgreSQL has in no text");
      }
    }
  }

  /**
   * Of what came in by HTTP, as it was sent.
   *
   * @param path the URL's, encoded; it begins with the base
   * @param query the URL's, encoded; null if there is none
   * @param form decoded
   * @param headers by their names in any case
   * @throws IllegalArgumentException if one of them cannot be decoded, or the path does not begin
   *     with the base
   */
  public static Request of(
      String base,
      String method,
      String path,
      @Nullable String query,
      Map<String, List<String>> form,
      Map<String, List<String>> headers) {
    if (!path.startsWith(base)) {
      throw new IllegalArgumentException("the path does not begin with \"" + base + "\"");
    }
    var joined = new HashMap<String, String>();
    headers.forEach(
        (name, values) ->
            joined.merge(
                name.toLowerCase(Locale.ROOT),
                String.join(",", values),
                (one, other) -> one + "," + other));
    return new Request(
        base,
        method,
        UrlEncoded.path(path.substring(base.length())),
        UrlEncoded.parameters(query),
        form,
        joined);
  }

  public boolean isPost() {
    return method.equals("POST");
  }

  /**
   * Whether the browser says that a page of this very origin made the request. One that sends no
   * {@code Sec-Fetch-Site} says it by {@code Origin}, which has to name this host.
   */
  public boolean isOfThisOrigin() {
    var site = header("sec-fetch-site");
    if (site != null) {
      return site.equals("same-origin");
    }
    var origin = header("origin");
    var host = header("host");
    return origin != null
        && host != null
        && origin
            .toLowerCase(Locale.ROOT)
            .replaceFirst("^https?://", "")
            .equals(host.toLowerCase(Locale.ROOT));
  }

  /** Whether the browser says that a page of another origin led here. */
  boolean isLedHereFromElsewhere() {
    var site = header("sec-fetch-site");
    return site != null && !site.equals("same-origin") && !site.equals("none");
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
