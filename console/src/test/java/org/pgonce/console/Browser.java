package org.pgonce.console;

import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariDataSource;
import java.net.InetAddress;
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
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.pgonce.testkit.Login;

/** A console over a login, and a client that keeps its cookie as a browser does. */
final class Browser implements AutoCloseable {

  private static final Pattern HIDDEN =
      Pattern.compile("<input type=\"hidden\" name=\"([^\"]*)\" value=\"([^\"]*)\">");

  final ConsoleServer server;
  final String origin;
  String cookie;
  private final @Nullable HikariDataSource pool;
  private final HttpClient client =
      HttpClient.newBuilder().followRedirects(HttpClient.Redirect.NEVER).build();

  Browser(Login login, boolean operates) throws Exception {
    this(login, operates, "127.0.0.1");
  }

  Browser(Login login, boolean operates, String address) throws Exception {
    this(login.pooled(8), true, operates, address);
  }

  /** Over the caller's own, which it closes. */
  Browser(DataSource dataSource, boolean operates, String address) throws Exception {
    this(dataSource, false, operates, address);
  }

  private Browser(DataSource dataSource, boolean closesIt, boolean operates, String address)
      throws Exception {
    pool = closesIt ? (HikariDataSource) dataSource : null;
    server =
        ConsoleServer.start(
            Console.of(dataSource, operates, ConsoleServer.AT_ONCE),
            new ConsoleServer.Options(InetAddress.getByName(address), 0, Set.of(), false, "Ada"));
    origin = "http://127.0.0.1:" + server.port();
  }

  HttpResponse<String> get(String path, String... headers) throws Exception {
    return send(request(path, headers).GET());
  }

  /** The page, which is there. */
  String page(String path) throws Exception {
    var answer = get(path);
    assertThat(answer.statusCode()).as(path + "\n" + answer.body()).isEqualTo(200);
    return answer.body();
  }

  HttpRequest.Builder request(String path, String... headers) {
    var request = HttpRequest.newBuilder(URI.create(origin + path)).timeout(Duration.ofSeconds(30));
    if (cookie != null) {
      request.header("Cookie", cookie);
    }
    if (headers.length > 0) {
      request.headers(headers);
    }
    return request;
  }

  HttpResponse<String> post(String path, String body) throws Exception {
    return send(
        request(path, "Origin", origin, "Content-Type", "application/x-www-form-urlencoded")
            .POST(BodyPublishers.ofString(body)));
  }

  HttpResponse<String> send(HttpRequest.Builder request) throws Exception {
    var answer = client.send(request.build(), BodyHandlers.ofString());
    answer
        .headers()
        .firstValue("Set-Cookie")
        .ifPresent(value -> cookie = value.substring(0, value.indexOf(';')));
    return answer;
  }

  /** The hidden fields of a page with a form, as it would post them; with the reason. */
  static String form(String page, String because) {
    var fields = new ArrayList<String>();
    var form = page.substring(page.indexOf("method=\"post\""));
    HIDDEN
        .matcher(form)
        .results()
        .forEach(found -> fields.add(pair(found.group(1), unescaped(found.group(2)))));
    fields.add(pair("because", because));
    return String.join("&", fields);
  }

  static String unescaped(String html) {
    return html.replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&#34;", "\"")
        .replace("&#39;", "'")
        .replace("&amp;", "&");
  }

  static String pair(String name, String value) {
    return encoded(name) + "=" + encoded(value);
  }

  static String encoded(String text) {
    return URLEncoder.encode(text, StandardCharsets.UTF_8);
  }

  /** Asks, confirms with a reason, and returns the page to which that led. */
  String act(String path, String because) throws Exception {
    var done = post("/act", form(page(path), because));
    assertThat(done.statusCode()).as(done.body()).isEqualTo(303);
    return page(done.headers().firstValue("Location").orElseThrow());
  }

  /** Where the links of a page lead. */
  static List<String> links(String page) {
    return Pattern.compile("href=\"([^\"]*)\"")
        .matcher(page)
        .results()
        .map(found -> unescaped(found.group(1)))
        .collect(Collectors.toList());
  }

  @Override
  public void close() {
    server.close();
    if (pool != null) {
      pool.close();
    }
  }
}
