package org.pgonce.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

class AllRunTest {

  @Test
  void everyBenchmarkIsAmongThem() {
    var commands = Benchmarks.commandLine().getSubcommands().keySet();
    var run = AllRun.RUNS.stream().map(each -> each.get(0)).collect(Collectors.toSet());

    run.add(AllRun.NAME);
    assertThat(run).isEqualTo(commands);
  }

  @Test
  void eachIsAsACommandTakesIt() {
    for (var run : AllRun.RUNS) {
      var parsed = Benchmarks.commandLine().parseArgs(run.toArray(String[]::new));
      assertThat(parsed.subcommand().unmatched()).isEmpty();
    }
  }

  @Test
  void itsOptionsReachEachOfThem() {
    var run = new CommandRun("all", "--url", "jdbc:postgresql://127.0.0.1:1/postgres?user=nobody");

    assertThat(run.status).isEqualTo(Benchmarks.CANNOT_RUN);
    assertThat(run.lines).contains("== forms").doesNotContain("== latency");
    assertThat(run.errors).contains("127.0.0.1:1 refused");
  }

  @Test
  void theLastLineIsKeptAndAllIsPassedOn() {
    var out = new StringWriter();
    var last = new LastLine(new PrintWriter(out));
    try (var writer = new PrintWriter(last)) {
      writer.println("one");
      writer.print("t");
      writer.println("wo");
    }

    assertThat(last.text().strip()).isEqualTo("two");
    assertThat(out.toString().lines()).containsExactly("one", "two");
  }
}
