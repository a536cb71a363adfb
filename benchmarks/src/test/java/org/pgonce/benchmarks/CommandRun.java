package org.pgonce.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.ArrayList;
import java.util.List;
import org.pgonce.testkit.TestServer;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** A command as a user gives it, run in this JVM. */
final class CommandRun {

  final List<String> lines;
  final String errors;
  final int status;

  CommandRun(String... arguments) {
    var out = new StringWriter();
    var err = new StringWriter();
    var command =
        Benchmarks.commandLine().setOut(new PrintWriter(out)).setErr(new PrintWriter(err));
    status = command.execute(arguments);
    lines = out.toString().lines().toList();
    errors = err.toString();
  }

  /** On the server that all tests share. */
  static CommandRun onSharedServer(String... arguments) {
    var server = TestServer.shared();
    var all = new ArrayList<>(List.of(arguments));
    all.add("--url");
    all.add("%s?user=%s&password=%s".formatted(server.jdbcUrl(), server.user(), server.password()));
    return new CommandRun(all.toArray(String[]::new));
  }

  /** The last line, of a run that has measured. */
  JsonNode json() {
    assertThat(status).as(errors).isEqualTo(Benchmarks.MEASURED);
    var json = JsonMapper.shared().readTree(lines.get(lines.size() - 1));
    assertThat(json.at("/conditions/server_version").asString()).isNotEmpty();
    assertThat(json.at("/conditions/load_after").isNumber()).isTrue();
    return json;
  }
}
