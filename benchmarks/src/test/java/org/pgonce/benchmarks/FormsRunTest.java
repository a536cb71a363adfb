package org.pgonce.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.testkit.TestServer;
import tools.jackson.databind.JsonNode;

class FormsRunTest {

  @Test
  @Tag("all")
  void example_everyKindIsMeasuredAndTheLastLineIsJson() throws Exception {
    var server = TestServer.shared();
    var run = CommandRun.onSharedServer("forms", "--rounds", "1", "--rows", "1000", "--seed", "7");
    var json = run.json();
    assertThat(run.lines).contains("seed 7");
    assertThat(json.at("/benchmark").asString()).isEqualTo("forms");
    try (var database = server.createDatabase()) {
      assertThat(json.at("/conditions/fsync").asString())
          .isEqualTo(database.queryString("show fsync"));
    }
    assertThat(json.at("/conditions/synchronous_commit").asString()).isEqualTo("on");
    assertThat(json.at("/conditions/load_after").isNumber()).isTrue();
    assertThat(json.at("/figures").size()).isEqualTo(51);
    for (var figure : json.at("/figures")) {
      assertSound(figure);
      assertThat(run.lines)
          .anyMatch(line -> line.startsWith("  " + figure.at("/kind").asString() + "  "));
    }
  }

  private static void assertSound(JsonNode figure) {
    var kind = figure.at("/kind").asString();
    var rate = figure.at("/rows_per_second").longValue();
    assertThat(rate).as(kind).isPositive();
    assertThat(figure.at("/min").longValue()).as(kind).isEqualTo(rate);
    assertThat(figure.at("/max").longValue()).as(kind).isEqualTo(rate);
    assertThat(figure.at("/to_no_trigger").doubleValue()).as(kind).isPositive();
    assertThat(figure.at("/to_by_hand").isNumber()).as(kind).isEqualTo(kind.startsWith("pgonce"));
    if (kind.equals("no trigger")) {
      assertThat(figure.at("/to_no_trigger").doubleValue()).isEqualTo(1);
    }
  }

  @Test
  void aServerThatIsNotThereIsTold() {
    var run =
        new CommandRun("forms", "--url", "jdbc:postgresql://127.0.0.1:1/postgres?user=nobody");

    assertThat(run.status).isEqualTo(Benchmarks.CANNOT_RUN);
    assertThat(run.errors).contains("cannot run: ").contains("127.0.0.1:1 refused");
  }

  @Test
  void aWrongOptionIsToldAndNothingIsStarted() {
    assertThat(new CommandRun("forms", "--rows", "10").errors)
        .contains("--rows 10 is not between 1000 and 1000000");
    assertThat(new CommandRun("forms", "--url", "localhost").errors).contains("jdbc:postgresql://");
    assertThat(new CommandRun().status).isEqualTo(Benchmarks.WRONG_OPTION);
  }
}
