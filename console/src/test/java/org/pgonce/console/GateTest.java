package org.pgonce.console;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.net.http.HttpRequest.BodyPublishers;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** What strangers, other pages and other names try. */
@PgTest(Stage.class)
class GateTest {

  private static TestDatabase database;

  @BeforeAll
  static void open(TestDatabase shared) throws Exception {
    database = shared;
    Stage.bury(shared, 1, "REJECTED", "no");
  }

  /** What a client says that java.net.http would not. */
  private static String raw(Browser browser, String request) throws Exception {
    try (var socket = new Socket(InetAddress.getLoopbackAddress(), browser.server.port())) {
      socket.setSoTimeout(30_000);
      socket.getOutputStream().write(request.getBytes(StandardCharsets.ISO_8859_1));
      InputStream in = socket.getInputStream();
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    }
  }

  private static String get(String path, String host) {
    return "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n".formatted(path, host);
  }

  @Test
  void anotherNameThatLeadsHereIsNotAnswered() throws Exception {
    try (var browser = new Browser(database.login(), true)) {
      var port = browser.server.port();
      for (var host : List.of("evil.example:" + port, "localhost.evil.example", "")) {
        assertThat(raw(browser, get("/", host))).as(host).startsWith("HTTP/1.1 421");
        assertThat(raw(browser, get("/static/console.js", host))).startsWith("HTTP/1.1 421");
      }
      for (var host :
          List.of("localhost:" + port, "LOCALHOST", "127.0.0.1:" + port, "[::1]:" + port)) {
        assertThat(raw(browser, get("/", host))).as(host).startsWith("HTTP/1.1 200");
      }
    }
  }

  @Test
  void noPathLeadsOutOfTheStaticFiles() throws Exception {
    try (var browser = new Browser(database.login(), true)) {
      assertThat(browser.get("/static/console.css").statusCode()).isEqualTo(200);
      for (var path :
          List.of(
              "/static/../module-info.class",
              "/static/..%2fConsole.class",
              "/static/%2e%2e/Console.class",
              "/static/..%5c..%5cwindows",
              "/static//etc/passwd",
              "/static/StaticFiles.class",
              "/static/",
              "/..%2f..%2f..%2fetc%2fpasswd",
              "//etc/passwd",
              "/static/console.css%00.js",
              "/%",
              "/static/%zz")) {
        assertThat(raw(browser, get(path, "localhost")).substring(9, 12))
            .as(path)
            .isIn("400", "404");
      }
    }
  }

  @Test
  void withoutTheSessionsTokenNothingIsPosted() throws Exception {
    try (var browser = new Browser(database.login(), true);
        var other = new Browser(database.login(), true)) {
      browser.page("/");
      other.page("/");
      var page = browser.page("/act?do=discard&channel=mails&all=yes");
      var form = Browser.form(page, "a test");
      var foreign = Browser.form(other.page("/act?do=discard&channel=mails&all=yes"), "a test");
      assertThat(browser.post("/act", foreign).statusCode()).isEqualTo(403);
      assertThat(browser.post("/act", form.replaceFirst("csrf=[^&]*", "csrf=")).statusCode())
          .isEqualTo(403);
      assertThat(browser.post("/act", form.replaceFirst("csrf=[^&]*&", "")).statusCode())
          .isEqualTo(403);
      var mine = browser.cookie;
      browser.cookie = null;
      assertThat(browser.post("/act", form).statusCode()).isEqualTo(403);
      browser.cookie = mine;
      for (var origin :
          List.of(
              "http://evil.example",
              "null",
              "https://127.0.0.1:" + browser.server.port(),
              "http://127.0.0.1:1")) {
        assertThat(posted(browser, form, origin)).as(origin).isEqualTo(403);
      }
      assertThat(posted(browser, form, null)).isEqualTo(403);
      assertThat(database.queryLong("select count(*) from pgonce.dead_letter")).isEqualTo(1);
    }
  }

  private static int posted(Browser browser, String form, String origin) throws Exception {
    var request = browser.request("/act", "Content-Type", "application/x-www-form-urlencoded");
    if (origin != null) {
      request.header("Origin", origin);
    }
    return browser.send(request.POST(BodyPublishers.ofString(form))).statusCode();
  }

  @Test
  void aLinkOfAStrangerRunsNothing() throws Exception {
    try (var browser = new Browser(database.login(), true)) {
      var answer = browser.get("/act?do=pause&channel=mails");
      assertThat(answer.statusCode()).isEqualTo(303);
      assertThat(answer.headers().firstValue("Location")).hasValue("/");
    }
  }

  @Test
  void aSessionIsOnlyEverTheServersOwn() throws Exception {
    try (var browser = new Browser(database.login(), true)) {
      browser.page("/");
      var mine = browser.cookie;
      assertThat(browser.get("/").headers().firstValue("Set-Cookie")).isEmpty();
      var name = mine.substring(0, mine.indexOf('='));
      for (var planted :
          List.of(
              name + "=planted",
              name + "=",
              name + "=..",
              mine.substring(0, mine.length() - 1) + (mine.endsWith("0") ? "1" : "0"),
              mine.replaceFirst("\\.\\d+\\.", ".9999999999."))) {
        browser.cookie = planted;
        var cookie = browser.get("/").headers().firstValue("Set-Cookie");
        assertThat(cookie).as(planted).isPresent();
        assertThat(cookie.get())
            .doesNotContain("planted")
            .contains("; HttpOnly")
            .contains("; SameSite=Strict");
      }
    }
  }

  @Test
  void beyondTheMachineATokenIsAskedFor() throws Exception {
    try (var browser = new Browser(database.login(), true, "0.0.0.0")) {
      var token = browser.server.url().replaceFirst(".*token=", "");
      assertThat(token).matches("[0-9a-f]{64}");
      for (var path :
          List.of(
              "/", "/dead", "/act?do=pause&channel=mails", "/?token=", "/?token=" + token + "0")) {
        var refused = browser.get(path);
        assertThat(refused.statusCode()).as(path).isEqualTo(401);
        assertThat(refused.body())
            .contains("printed when the console started")
            .doesNotContain("mails<");
        assertThat(refused.headers().firstValue("Set-Cookie")).isEmpty();
      }
      assertThat(browser.get("/static/console.css").statusCode()).isEqualTo(200);
      assertThat(browser.post("/enter", "token=wrong").statusCode()).isEqualTo(401);
      var planted = "pgonce_console_" + browser.server.port() + "=planted";
      browser.cookie = planted;
      var entered = browser.get("/?token=" + token);
      assertThat(entered.statusCode()).isEqualTo(303);
      assertThat(entered.headers().firstValue("Location")).hasValue("/");
      assertThat(browser.cookie).isNotEqualTo(planted);
      assertThat(browser.page("/")).contains("/channel/mails\"").doesNotContain(token);
      browser.cookie = null;
      assertThat(browser.post("/enter", "token=" + token).statusCode()).isEqualTo(303);
      assertThat(browser.page("/")).contains("/channel/mails\"");
    }
  }

  /** A proxy would make those of this machine out of all its users. */
  @Test
  void whatCameThroughAProxyIsRefusedWhereNoTokenIsAskedFor() throws Exception {
    try (var browser = new Browser(database.login(), false)) {
      browser.page("/");
      for (var header :
          List.of("X-Forwarded-For", "x-forwarded-host", "Forwarded", "Via", "X-Real-IP")) {
        var refused = browser.get("/", header, "for=203.0.113.7");
        assertThat(refused.statusCode()).as(header).isEqualTo(403);
        assertThat(refused.body()).contains("--name").doesNotContain("mails");
      }
    }
    try (var browser = new Browser(database.login(), false, "0.0.0.0")) {
      var entered = browser.get("/" + query(browser), "X-Forwarded-For", "203.0.113.7");
      assertThat(entered.statusCode()).isEqualTo(303);
      assertThat(browser.get("/", "X-Forwarded-For", "203.0.113.7").statusCode()).isEqualTo(200);
    }
  }

  private static String query(Browser browser) {
    return browser.server.url().replaceFirst(".*/", "");
  }

  @Test
  void aCookieIsSecureWhereTheProxySpeaksTls() throws Exception {
    try (var browser = new Browser(database.login(), false, "0.0.0.0")) {
      for (var header : List.of("X-Forwarded-Proto: https", "Forwarded: for=x;proto=https")) {
        var pair = header.split(": ", 2);
        var cookie = browser.get("/" + query(browser), pair[0], pair[1]).headers();
        assertThat(cookie.firstValue("Set-Cookie").orElseThrow()).contains("; Secure");
        browser.cookie = null;
      }
      var cookie = browser.get("/" + query(browser)).headers();
      assertThat(cookie.firstValue("Set-Cookie").orElseThrow()).doesNotContain("Secure");
    }
  }

  @Test
  void theTokenStaysInNoAddress() throws Exception {
    try (var browser = new Browser(database.login(), false, "0.0.0.0")) {
      browser.get("/" + query(browser));
      for (var path : List.of("/" + query(browser), "/dead?channel=mails&token=wrong")) {
        var answer = browser.get(path);
        assertThat(answer.statusCode()).as(path).isEqualTo(303);
        assertThat(answer.headers().firstValue("Location")).hasValue("/");
      }
    }
  }

  /** Before a byte of its body is read. */
  @Test
  @Tag("all")
  void aBodyOfAStrangerIsNotRead() throws Exception {
    try (var browser = new Browser(database.login(), true)) {
      var large = "x=" + "y".repeat(100_000);
      assertThat(browser.post("/act", large).statusCode()).isEqualTo(403);
      browser.page("/");
      assertThat(browser.post("/act", large).statusCode()).isEqualTo(413);
      assertThat(
              raw(
                  browser,
                  "POST /act HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 10\r\nConnection: close\r\n\r\n"))
          .startsWith("HTTP/1.1 421");
    }
  }

  @Test
  void whatTheBrowserSaysIsFromElsewhereDoesNothing() throws Exception {
    try (var browser = new Browser(database.login(), true)) {
      browser.page("/");
      var ask = "/act?do=discard&channel=mails&all=yes";
      var form = Browser.form(browser.page(ask), "a test");
      for (var site : List.of("cross-site", "same-site", "none")) {
        var request =
            browser
                .request("/act", "Content-Type", "application/x-www-form-urlencoded")
                .headers("Origin", browser.origin, "Sec-Fetch-Site", site);
        assertThat(browser.send(request.POST(BodyPublishers.ofString(form))).statusCode())
            .as(site)
            .isEqualTo(403);
      }
      var led = browser.get(ask, "Sec-Fetch-Site", "same-site");
      assertThat(led.statusCode()).isEqualTo(303);
      assertThat(led.headers().firstValue("Location")).hasValue("/");
      assertThat(database.queryLong("select count(*) from pgonce.dead_letter")).isEqualTo(1);
    }
  }

  @Test
  void otherMethodsAreRefused() throws Exception {
    try (var browser = new Browser(database.login(), true)) {
      browser.page("/");
      for (var method : List.of("PUT", "DELETE", "TRACE", "OPTIONS")) {
        assertThat(
                browser
                    .send(browser.request("/").method(method, BodyPublishers.noBody()))
                    .statusCode())
            .isEqualTo(405);
      }
      var head = browser.send(browser.request("/").method("HEAD", BodyPublishers.noBody()));
      assertThat(head.statusCode()).isEqualTo(200);
      assertThat(head.body()).isEmpty();
    }
  }

  @Test
  void eachAnswerForbidsWhatTheConsoleDoesNotNeed() throws Exception {
    try (var browser = new Browser(database.login(), true)) {
      for (var path : List.of("/", "/nowhere", "/static/console.js", "/act?do=x")) {
        var headers = browser.get(path).headers();
        assertThat(headers.firstValue("Content-Security-Policy").orElseThrow())
            .contains("default-src 'none'")
            .contains("frame-ancestors 'none'")
            .doesNotContain("unsafe");
        assertThat(headers.firstValue("X-Content-Type-Options")).hasValue("nosniff");
        assertThat(headers.firstValue("Referrer-Policy")).hasValue("same-origin");
      }
      assertThat(browser.get("/").headers().firstValue("Cache-Control")).hasValue("no-store");
    }
  }
}
