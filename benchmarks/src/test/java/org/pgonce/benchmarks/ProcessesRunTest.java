package org.pgonce.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.benchmarks.work.StatementCounts;
import org.pgonce.testkit.TestServer;
import tools.jackson.databind.JsonNode;

/** The runs that start processes, on a server that counts statements. */
class ProcessesRunTest {

  private static TestServer server;

  @BeforeAll
  static void start() {
    var settings = new HashMap<>(StatementCounts.SETTINGS);
    settings.put("fsync", "off");
    server = TestServer.startEmbedded(settings);
  }

  @AfterAll
  static void stop() {
    server.close();
  }

  private static JsonNode json(String... arguments) {
    var all = new ArrayList<>(List.of(arguments));
    all.add("--url");
    all.add(server.jdbcUrl() + "?user=" + server.user());
    return new CommandRun(all.toArray(String[]::new)).json();
  }

  @Test
  @Tag("all")
  void example_anIdleProcessIsCounted() {
    var json =
        json("idle", "--processes", "1", "--channels", "2", "--settle", "0", "--seconds", "1");

    assertThat(json.at("/figures/statements_per_minute/median").isNumber()).isTrue();
    assertThat(json.at("/figures/threads/median").doubleValue())
        .isGreaterThan(json.at("/figures/threads_before/median").doubleValue());
    assertThat(json.at("/figures/heap_kib/median").doubleValue()).isPositive();
  }

  @Test
  @Tag("all")
  void example_whatAKilledProcessHadInHandsIsHandledByAnother() {
    var json = json("recovery", "--rounds", "1");

    assertThat(json.at("/figures/kill_9/median").doubleValue()).isPositive();
    assertThat(json.at("/figures/server_restart").isMissingNode()).isTrue();
  }

  @Test
  @Tag("all")
  void example_manyProcessesAreComparedWithOne() {
    var json =
        json("herd", "--processes", "2", "--rounds", "1", "--seconds", "1", "--count", "200");

    for (var herd : new String[] {"one", "many"}) {
      assertThat(json.at("/figures/" + herd + "/paced_claims_each/median").doubleValue())
          .isPositive();
      assertThat(json.at("/figures/" + herd + "/saturated_claims_each/median").doubleValue())
          .isBetween(0.01, 1.0);
    }
  }
}
