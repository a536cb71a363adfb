package org.pgonce.spring.contract;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import org.springframework.boot.WebApplicationType;
import org.springframework.context.annotation.Bean;
import org.springframework.core.annotation.Order;
import org.springframework.security.config.Customizer;
import org.springframework.security.config.annotation.web.builders.HttpSecurity;
import org.springframework.security.core.userdetails.User;
import org.springframework.security.core.userdetails.UserDetails;
import org.springframework.security.provisioning.InMemoryUserDetailsManager;
import org.springframework.security.web.SecurityFilterChain;

/** The console in a service with Boot's own filter chain: form login, and CSRF protection. */
@PgTest
@Tag("second")
class ConsoleTest {

  private static final String ALL = "/pgonce/act?do=discard&channel=job&all=yes";

  private static TestDatabase database;
  private static Service service;

  /** Three logins, and Boot's filter chain. */
  static class Users {

    @Bean
    static InMemoryUserDetailsManager users() {
      return new InMemoryUserDetailsManager(
          user("ada", "PGONCE_ADMIN"), user("bob", "PGONCE_MONITOR"), user("eve", "CUSTOMER"));
    }

    private static UserDetails user(String name, String role) {
      return User.withUsername(name).password("{noop}secret").roles(role).build();
    }
  }

  @BeforeAll
  static void start(TestDatabase shared) throws Exception {
    database = shared;
    service = start(Users.class, "pgonce.console.enabled=true", "pgonce.console.operate=true");
    service.publish(1, 1);
  }

  private static Service start(Class<?> beans, String... settings) {
    var all = new ArrayList<>(List.of(settings));
    all.add("server.port=0");
    all.add("server.address=127.0.0.1");
    all.add("server.servlet.context-path=/app");
    all.add("pgonce.auto-startup=false"); // what waits is to stay
    return new Service(
        database,
        ContractApplication.start(
            database, WebApplicationType.SERVLET, beans, all.toArray(String[]::new)));
  }

  @AfterAll
  static void stop() {
    service.close();
  }

  /** Makes a dead letter out of nothing. */
  private static void bury() throws Exception {
    database.execute(
        """
        insert into pgonce.dead_letter (subscription_id, id, attempts, created_at, reason, error, payload)
        select s.id, nextval('pgonce.notification_id'), 10, now(), 'REJECTED', 'no', '"x"' from pgonce.subscription s where s.id > 0
        """);
  }

  private static long done() throws Exception {
    return database.queryLong(
        "select count(*) from pgonce.operation_log o where o.what <> 'INSTALL'");
  }

  @Test
  void withoutALoginThereIsNothing() throws Exception {
    var stranger = new LoginClient(service.context());
    for (var path :
        List.of("/pgonce", "/pgonce/", "/pgonce/dead", "/pgonce/static/console.css", ALL)) {
      var answer = stranger.get(path);
      assertThat(answer.statusCode()).as(path).isIn(302, 401);
      assertThat(answer.body()).as(path).doesNotContain("job");
    }
    assertThat(stranger.post("/pgonce/act", "do=pause&channel=job&because=x").statusCode())
        .isIn(302, 401, 403);
  }

  @Test
  void whoMayLookSeesPagesBelowTheContextPathAndNoPayload() throws Exception {
    var bob = new LoginClient(service.context()).logIn("bob");
    for (var path : List.of("/pgonce", "/pgonce/", "/pgonce/channel/job", "/pgonce/server")) {
      assertThat(bob.page(path))
          .contains("href=\"/app/pgonce/static/console.css\"")
          .contains("href=\"/app/pgonce/dead\"")
          .contains("For reading only.");
      assertThat(LoginClient.links(bob.page(path)))
          .allMatch(link -> link.startsWith("/app/pgonce/") || link.equals("#main"));
    }
    assertThat(bob.page("/pgonce/")).contains("href=\"/app/pgonce/channel/job\"");
    assertThat(bob.get("/pgonce/static/console.css").headers().firstValue("Content-Type"))
        .hasValueSatisfying(type -> assertThat(type).startsWith("text/css"));
    assertThat(bob.page("/pgonce/channel/job/1")).doesNotContain("Show the payload");
    var refused = bob.get("/pgonce/channel/job/1?payload=show");
    assertThat(refused.statusCode()).isEqualTo(403);
    assertThat(refused.body()).doesNotContain("number");
  }

  @Test
  void whoMayNotOperateSeesNoButtonAndIsRefusedAllTheSame() throws Exception {
    bury();
    var before = done();
    var bob = new LoginClient(service.context()).logIn("bob");
    for (var path :
        List.of(
            "/pgonce/", "/pgonce/channel/job", "/pgonce/channel/job?show=dead", "/pgonce/dead")) {
      assertThat(bob.page(path)).doesNotContain("/act").doesNotContain("type=\"checkbox\"");
    }
    assertThat(bob.get(ALL).statusCode()).isEqualTo(403);
    // With a token that Spring takes.
    var form = "do=discard&channel=job&all=yes&because=x&_csrf=" + bob.csrfToken();
    var refused = bob.post("/pgonce/act", form);
    assertThat(refused.statusCode()).isEqualTo(403);
    assertThat(refused.body()).contains("may not discard");
    assertThat(done()).isEqualTo(before);
  }

  @Test
  void whoHasNeitherAuthorityIsRefused() throws Exception {
    var eve = new LoginClient(service.context()).logIn("eve");
    for (var path : List.of("/pgonce/", "/pgonce/dead", ALL)) {
      var refused = eve.get(path);
      assertThat(refused.statusCode()).as(path).isEqualTo(403);
      assertThat(refused.body()).contains("ROLE_PGONCE_MONITOR").doesNotContain("EXACTLY_ONCE");
    }
  }

  @Test
  void whoMayOperateActsByTheNameOfTheLogin() throws Exception {
    bury();
    var ada = new LoginClient(service.context()).logIn("ada");
    assertThat(ada.page("/pgonce/channel/job/1?payload=show")).contains("number");
    assertThat(ada.page("/pgonce/channel/job?show=dead")).contains("/app/pgonce/act");
    var form = LoginClient.form(ada.page(ALL), "a test");
    var acted = ada.post("/pgonce/act", form);
    assertThat(acted.statusCode()).as(acted.body()).isEqualTo(303);
    assertThat(acted.headers().firstValue("Location").orElseThrow())
        .startsWith("/app/pgonce/channel/job?");
    assertThat(
            database.queryString(
                "select o.what || ' ' || o.operator || ' ' || o.reason from pgonce.operation_log o order by o.id desc limit 1"))
        .isEqualTo("DISCARD ada a test");
  }

  @Test
  void aFormWithoutTheTokenOrOfAnotherOriginDoesNothing() throws Exception {
    bury();
    var before = done();
    var ada = new LoginClient(service.context()).logIn("ada");
    var form = LoginClient.form(ada.page(ALL), "a test");
    assertThat(form).contains("_csrf=");
    assertThat(ada.post("/pgonce/act", form.replaceFirst("_csrf=[^&]*&", "")).statusCode())
        .isEqualTo(403);
    assertThat(ada.post("/pgonce/act", form, "Origin", "http://evil.example").statusCode())
        .isEqualTo(403);
    assertThat(ada.post("/pgonce/act", form, "Sec-Fetch-Site", "cross-site").statusCode())
        .isEqualTo(403);
    assertThat(ada.post("/pgonce/act", form, "X-None", "x").statusCode())
        .as("without Origin and Sec-Fetch-Site")
        .isEqualTo(403);
    assertThat(ada.post("/pgonce/act?do=discard", form).statusCode()).isEqualTo(400);
    assertThat(ada.post("/pgonce/act", form + "&channel=%00").statusCode()).isEqualTo(400);
    var led = ada.get(ALL, "Sec-Fetch-Site", "cross-site");
    assertThat(led.statusCode()).isEqualTo(303);
    assertThat(led.headers().firstValue("Location")).hasValue("/app/pgonce/");
    assertThat(done()).isEqualTo(before);
  }

  @Test
  void noPathLeadsOutOfTheConsole() throws Exception {
    var ada = new LoginClient(service.context()).logIn("ada");
    for (var path :
        List.of(
            "/pgonce/static/../../application.properties",
            "/pgonce/static/..%2f..%2fapplication.properties",
            "/pgonce/static/%2e%2e/Console.class",
            "/pgonce/static//etc/passwd",
            "/pgonce/..;/actuator",
            "/pgonce/nowhere",
            "/pgoncex")) {
      assertThat(ada.raw(path)).as(path).isIn(400, 404);
    }
  }

  /** An application that lets all through, and protects no form. */
  static class LetsAllThrough extends Users {

    @Bean
    @Order(1)
    static SecurityFilterChain all(HttpSecurity http) throws Exception {
      return http.authorizeHttpRequests(any -> any.anyRequest().permitAll())
          .httpBasic(Customizer.withDefaults())
          .csrf(csrf -> csrf.disable())
          .build();
    }
  }

  @Test
  void theConsoleAsksForALoginAndForCsrfProtectionByItself() throws Exception {
    bury();
    var before = done();
    try (var lax =
        start(
            LetsAllThrough.class,
            "pgonce.console.enabled=true",
            "pgonce.console.operate=true",
            "pgonce.console.path=/ops/pgonce")) {
      var stranger = new LoginClient(lax.context());
      var refused = stranger.get("/ops/pgonce/");
      assertThat(refused.statusCode()).isEqualTo(403);
      assertThat(refused.body()).contains("Log in first.").doesNotContain("job");
      var ada = new LoginClient(lax.context()).basic("ada");
      assertThat(ada.page("/ops/pgonce/channel/job"))
          .contains("/app/ops/pgonce/")
          .contains("For reading only.")
          .doesNotContain("/act");
      assertThat(
              ada.post("/ops/pgonce/act", "do=discard&channel=job&all=yes&because=x").statusCode())
          .isEqualTo(403);
    }
    assertThat(done()).isEqualTo(before);
  }

  @Test
  void theConsoleIsBelowTheServletsPathAndAProxysPrefix() throws Exception {
    try (var below =
        start(
            LetsAllThrough.class,
            "pgonce.console.enabled=true",
            "spring.mvc.servlet.path=/web",
            "server.forward-headers-strategy=framework")) {
      var ada = new LoginClient(below.context()).basic("ada");
      for (var path : List.of("/web/pgonce", "/web/pgonce/", "/web/pgonce/channel/job")) {
        assertThat(LoginClient.links(ada.page(path)))
            .as(path)
            .contains("/app/web/pgonce/static/console.css", "/app/web/pgonce/dead")
            .allMatch(link -> link.startsWith("/app/web/pgonce/") || link.equals("#main"));
      }
      var proxied = ada.get("/web/pgonce/", "X-Forwarded-Prefix", "/team/app");
      assertThat(proxied.statusCode()).as(proxied.body()).isEqualTo(200);
      assertThat(LoginClient.links(proxied.body()))
          .contains("/team/app/web/pgonce/dead")
          .allMatch(link -> link.startsWith("/team/app/web/pgonce/") || link.equals("#main"));
    }
  }

  @Test
  void withoutThePropertyThereIsNoConsole() throws Exception {
    try (var without = start(Users.class)) {
      var ada = new LoginClient(without.context()).logIn("ada");
      assertThat(ada.get("/pgonce/").statusCode()).isEqualTo(404);
      assertThat(without.context().containsBean("pgOnceConsole")).isFalse();
    }
  }
}
