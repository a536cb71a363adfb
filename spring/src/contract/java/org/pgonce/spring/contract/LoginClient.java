package org.pgonce.spring.contract;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.CookieManager;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.regex.Pattern;
import org.springframework.context.ConfigurableApplicationContext;

/** A browser with its cookies, of a service whose context path is {@code /app}. */
final class LoginClient {

  private static final Pattern HIDDEN =
      Pattern.compile("<input type=\"hidden\" name=\"([^\"]*)\" value=\"([^\"]*)\">");
  private static final Pattern CSRF = Pattern.compile("name=\"_csrf\"[^>]*value=\"([^\"]*)\"");

  private final CookieManager cookies = new CookieManager();
  private final HttpClient client =
      HttpClient.newBuilder()
          .cookieHandler(cookies)
          .followRedirects(HttpClient.Redirect.NEVER)
          .build();
  private final int port;
  private final String origin;
  private String authorization;

  LoginClient(ConfigurableApplicationContext context) {
    port = context.getEnvironment().getRequiredProperty("local.server.port", Integer.class);
    origin = "http://127.0.0.1:" + port;
  }

  /** By the form of Spring Security's own page. */
  LoginClient logIn(String name) throws Exception {
    var form = "username=" + name + "&password=secret&_csrf=" + csrfToken();
    var answer = post("/login", form);
    assertThat(answer.statusCode()).isEqualTo(302);
    assertThat(answer.headers().firstValue("Location").orElseThrow()).doesNotContain("error");
    return this;
  }

  /** One that Spring takes from this session. */
  String csrfToken() throws Exception {
    var found = CSRF.matcher(page("/login"));
    assertThat(found.find()).isTrue();
    return encoded(found.group(1));
  }

  LoginClient basic(String name) {
    authorization =
        "Basic "
            + Base64.getEncoder()
                .encodeToString((name + ":secret").getBytes(StandardCharsets.UTF_8));
    return this;
  }

  HttpResponse<String> get(String path, String... headers) throws Exception {
    return send(request(path, headers).GET());
  }

  String page(String path) throws Exception {
    var answer = get(path);
    assertThat(answer.statusCode()).as(path + "\n" + answer.body()).isEqualTo(200);
    return answer.body();
  }

  /** As a page of the service's own origin would post it. */
  HttpResponse<String> post(String path, String form) throws Exception {
    return post(path, form, "Origin", origin);
  }

  HttpResponse<String> post(String path, String form, String... headers) throws Exception {
    return send(
        request(path, headers)
            .header("Content-Type", "application/x-www-form-urlencoded")
            .POST(BodyPublishers.ofString(form)));
  }

  private HttpRequest.Builder request(String path, String... headers) {
    var request =
        HttpRequest.newBuilder(URI.create(origin + "/app" + path)).timeout(Duration.ofSeconds(30));
    if (headers.length > 0) {
      request.headers(headers);
    }
    if (authorization != null) {
      request.header("Authorization", authorization);
    }
    return request;
  }

  private HttpResponse<String> send(HttpRequest.Builder request) throws Exception {
    return client.send(request.build(), BodyHandlers.ofString());
  }

  /** The status of a GET whose path no client has made tidy. */
  int raw(String path) throws Exception {
    try (var socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
      socket.setSoTimeout(30_000);
      var session = cookies.getCookieStore().getCookies().get(0);
      socket
          .getOutputStream()
          .write(
              "GET /app%s HTTP/1.1\r\nHost: localhost\r\nCookie: %s=%s\r\nConnection: close\r\n\r\n"
                  .formatted(path, session.getName(), session.getValue())
                  .getBytes(StandardCharsets.ISO_8859_1));
      var answer = new String(socket.getInputStream().readAllBytes(), StandardCharsets.ISO_8859_1);
      return Integer.parseInt(answer.substring(9, 12));
    }
  }

  /** The hidden fields of a page with a form, as it would post them; with the reason. */
  static String form(String page, String because) {
    var fields = new ArrayList<String>();
    HIDDEN
        .matcher(page.substring(page.indexOf("method=\"post\"")))
        .results()
        .forEach(
            found ->
                fields.add(
                    encoded(found.group(1))
                        + "="
                        + encoded(found.group(2).replace("&#34;", "\"").replace("&amp;", "&"))));
    fields.add("because=" + encoded(because));
    return String.join("&", fields);
  }

  private static String encoded(String text) {
    return URLEncoder.encode(text, StandardCharsets.UTF_8);
  }

  static List<String> links(String page) {
    return Pattern.compile("href=\"([^\"]*)\"")
        .matcher(page)
        .results()
        .map(found -> found.group(1))
        .toList();
  }
}
