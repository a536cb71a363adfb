package org.pgonce.spring.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.pgonce.PgOnce;
import org.pgonce.spring.PgOnceListener;
import org.pgonce.spring.contract.ContractApplication.Job;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import org.springframework.boot.WebApplicationType;
import org.springframework.context.annotation.Bean;
import org.springframework.security.config.annotation.web.builders.HttpSecurity;
import org.springframework.security.web.SecurityFilterChain;

/** What Actuator tells over HTTP. */
@PgTest
@Tag("second")
class HealthTest {

  @Test
  void healthAndEndpointAreThere(TestDatabase database) throws Exception {
    var context =
        ContractApplication.start(
            database,
            WebApplicationType.SERVLET,
            Fails.class,
            "server.port=0",
            "server.address=127.0.0.1",
            "management.endpoints.web.exposure.include=health,pgonce",
            "management.endpoint.health.probes.enabled=true",
            "management.endpoint.health.show-details=always",
            "management.endpoint.health.group.readiness.show-details=always");
    try (var service = new Service(database, context)) {
      var actuator =
          "http://127.0.0.1:%s/actuator"
              .formatted(context.getEnvironment().getProperty("local.server.port"));
      assertThat(get(actuator + "/health/readiness")).contains("\"pgonce\"", "\"RUNNING\"");
      assertThat(get(actuator + "/health/liveness")).contains("UP").doesNotContain("pgonce");
      service.publish(7, 7);
      service.awaitQuiet();
      assertThat(get(actuator + "/pgonce"))
          .contains("\"RUNNING\"", "\"channel\":\"job\"", "\"deadLetters\":1", "\"listeners\":1");
      assertThat(get(actuator + "/pgonce/job"))
          .contains("ATTEMPTS_USED_UP", "EXACTLY_ONCE")
          .doesNotContain("\"number\":");
      assertThat(get(actuator + "/pgonce/other")).startsWith("404");

      service.bean(PgOnce.class).close();
      await()
          .atMost(Service.BOUND)
          .untilAsserted(() -> assertThat(get(actuator + "/health/readiness")).startsWith("503"));
      assertThat(get(actuator + "/health/liveness")).startsWith("200");
    }
  }

  /** Boot makes the group itself then, and not from properties. */
  @Test
  void readinessHasItWhereNoPropertyNamesTheGroup(TestDatabase database) throws Exception {
    var context =
        ContractApplication.start(
            database,
            WebApplicationType.SERVLET,
            Fails.class,
            "server.port=0",
            "server.address=127.0.0.1",
            "management.endpoint.health.probes.enabled=true");
    try (var service = new Service(database, context)) {
      var port = context.getEnvironment().getProperty("local.server.port");
      var health = "http://127.0.0.1:%s/actuator/health/".formatted(port);
      assertThat(get(health + "readiness")).startsWith("200");
      service.bean(PgOnce.class).close();
      assertThat(get(health + "readiness")).startsWith("503");
      assertThat(get(health + "liveness")).startsWith("200");
    }
  }

  /** For each page that is not Actuator's, Boot's security asks the groups for their paths. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void pagesBesideActuatorAreServedBehindSecurity(boolean probes, TestDatabase database)
      throws Exception {
    var context =
        ContractApplication.start(
            database,
            WebApplicationType.SERVLET,
            Nothing.class,
            "server.port=0",
            "server.address=127.0.0.1",
            "management.endpoint.health.probes.enabled=" + probes,
            "management.endpoint.health.group.readiness.include=db");
    try (var service = new Service(database, context)) {
      var port = service.context().getEnvironment().getProperty("local.server.port");
      assertThat(get("http://127.0.0.1:%s/page".formatted(port))).startsWith("401");
    }
  }

  static class Nothing {}

  @ParameterizedTest
  @ValueSource(strings = {"pgonce", "*"})
  void readinessMayExcludeIt(String excluded, TestDatabase database) throws Exception {
    var context =
        ContractApplication.start(
            database,
            WebApplicationType.SERVLET,
            Fails.class,
            "server.port=0",
            "server.address=127.0.0.1",
            "management.endpoint.health.probes.enabled=true",
            "management.endpoint.health.group.readiness.include=readinessState,db",
            "management.endpoint.health.group.readiness.exclude=" + excluded,
            "management.endpoint.health.group.readiness.show-details=always");
    try (var service = new Service(database, context)) {
      var port = service.context().getEnvironment().getProperty("local.server.port");
      assertThat(get("http://127.0.0.1:%s/actuator/health/readiness".formatted(port)))
          .satisfies(
              health -> assertThat(health.contains("\"db\"")).isEqualTo(!excluded.equals("*")))
          .doesNotContain("pgonce");
    }
  }

  private static String get(String address) throws IOException, InterruptedException {
    var response =
        HttpClient.newHttpClient()
            .send(HttpRequest.newBuilder(URI.create(address)).build(), BodyHandlers.ofString());
    return response.statusCode() + " " + response.body();
  }

  static class Fails {

    @Bean
    static SecurityFilterChain open(HttpSecurity http) throws Exception {
      return http.authorizeHttpRequests(any -> any.anyRequest().permitAll()).build();
    }

    @PgOnceListener(channel = "job", maxAttempts = "1")
    void handle(Job job) {
      throw new IllegalStateException("always");
    }
  }
}
