package org.pgonce.console;

import java.util.LinkedHashMap;
import java.util.Map;

/**
 * What the browser gets.
 *
 * @param status of HTTP
 * @param headers all but the length and the date
 * @param body in UTF-8
 */
public record Response(int status, Map<String, String> headers, String body) {

  /** No scripts, styles or frames but the console's own, and nothing is kept by the browser. */
  private static final Map<String, String> ALWAYS =
      Map.of(
          "Content-Security-Policy",
          "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
          "X-Content-Type-Options",
          "nosniff",
          "X-Frame-Options",
          "DENY",
          // Not no-referrer: the browser would name no origin when it posts a form.
          "Referrer-Policy",
          "same-origin",
          "Cross-Origin-Opener-Policy",
          "same-origin",
          "Cross-Origin-Resource-Policy",
          "same-origin",
          "Cache-Control",
          "no-store");

  public Response {
    headers = Map.copyOf(headers);
  }

  public static Response html(int status, String html) {
    return of(status, "text/html; charset=utf-8", html);
  }

  public static Response text(int status, String text) {
    return of(status, "text/plain; charset=utf-8", text);
  }

  public static Response of(int status, String type, String body) {
    return new Response(status, ALWAYS, body).with("Content-Type", type);
  }

  /** To be asked for by GET: what was posted is not posted again by a reload. */
  public static Response seeOther(String location) {
    return text(303, "").with("Location", location);
  }

  /** The same with this header, in place of one of that name. */
  public Response with(String name, String value) {
    var more = new LinkedHashMap<>(headers);
    more.put(name, value);
    return new Response(status, more, body);
  }
}
