package org.pgonce.spring.internal;

import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.pgonce.console.Console;
import org.pgonce.console.Request;
import org.pgonce.console.Response;
import org.springframework.web.HttpRequestHandler;
import org.springframework.web.util.ServletRequestPathUtils;

/**
 * The console in the application's own web server.
 *
 * @param path below the application's own, as {@code /pgonce}
 */
record ConsoleHandler(Console console, ConsoleLogins logins, String path)
    implements HttpRequestHandler {

  @Override
  public void handleRequest(HttpServletRequest request, HttpServletResponse response)
      throws IOException {
    var answer = answer(request);
    response.setStatus(answer.status());
    answer.headers().forEach(response::setHeader);
    var body = answer.body().getBytes(StandardCharsets.UTF_8);
    response.setContentLength(body.length);
    if (!request.getMethod().equals("HEAD")) {
      response.getOutputStream().write(body);
    }
  }

  private Response answer(HttpServletRequest http) {
    Request request;
    try {
      request = request(http);
    } catch (IllegalArgumentException | IllegalStateException e) { // Tomcat's, of what is too much
      return Response.text(400, "The request cannot be read\n");
    }
    var file = console.file(request);
    if (file != null) {
      return file;
    }
    var access = logins.of(http);
    var visitor = access.visitor();
    if (visitor == null) {
      return console.refuse(request, 403, "Not allowed", access.why());
    }
    // Beside the token: an application may leave these paths out of its CSRF protection.
    return request.isPost() && !request.isOfThisOrigin()
        ? console.refuse(request, 403, "Not allowed", "The form is not of this console.")
        : console.answer(request, visitor);
  }

  private Request request(HttpServletRequest http) {
    var isPost = http.getMethod().equals("POST");
    if (isPost && http.getQueryString() != null) {
      // Servlets mix them with the form's fields, and no form here has any.
      throw new IllegalArgumentException("a form with parameters in its address");
    }
    return Request.of(
        application(http) + path,
        http.getMethod(),
        http.getRequestURI(),
        http.getQueryString(),
        isPost ? form(http) : Map.of(),
        headers(http));
  }

  /**
   * Up to where the servlet's mappings begin: with {@code spring.mvc.servlet.path} more than the
   * context path.
   */
  private static String application(HttpServletRequest http) {
    var parsed = ServletRequestPathUtils.parseAndCache(http);
    var all = parsed.value();
    return all.substring(0, all.length() - parsed.pathWithinApplication().value().length());
  }

  private static Map<String, List<String>> form(HttpServletRequest http) {
    var form = new HashMap<String, List<String>>();
    http.getParameterMap().forEach((name, values) -> form.put(name, List.of(values)));
    return form;
  }

  private static Map<String, List<String>> headers(HttpServletRequest http) {
    var headers = new HashMap<String, List<String>>();
    for (var name : Collections.list(http.getHeaderNames())) {
      if (!name.equalsIgnoreCase("Host")) {
        headers.put(name, Collections.list(http.getHeaders(name)));
      }
    }
    // The one that the browser called, where the application knows of its proxy.
    var usual = http.getScheme().equals("https") ? 443 : 80;
    headers.put(
        "host",
        List.of(
            http.getServerPort() == usual
                ? http.getServerName()
                : http.getServerName() + ":" + http.getServerPort()));
    return headers;
  }
}
