package org.pgonce.benchmarks;

import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParseResult;
import picocli.CommandLine.Spec;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** All of them, one after the other. */
@Command(
    name = "all",
    mixinStandardHelpOptions = true,
    description = {
      "Every benchmark with its defaults, one after the other, each on a server of its own; takes some 15 minutes.",
      "The last line is JSON, with the line of each."
    })
final class AllRun implements Callable<Integer> {

  static final String NAME = "all";

  static final List<List<String>> RUNS =
      List.of(
          List.of("forms"),
          List.of("latency"),
          List.of("drain"),
          List.of("drain", "--shared"),
          List.of("writers"),
          List.of("peers"),
          List.of("peers", "--drain"),
          List.of("flat"),
          List.of("flat", "--pinned"),
          List.of("idle"),
          List.of("herd"),
          List.of("recovery"));

  @Spec private @Nullable CommandSpec spec;

  // For each of them, which reads these off the arguments; here they are for the help and the
  // checks.

  @SuppressWarnings("UnusedVariable")
  @Mixin
  private final ServerOptions server = new ServerOptions();

  @SuppressWarnings("UnusedVariable")
  @Mixin
  private final PlotOptions plots = new PlotOptions();

  @Override
  public Integer call() {
    var all = Objects.requireNonNull(spec);
    var out = all.commandLine().getOut();
    var lines = new ArrayList<JsonNode>();
    for (var run : RUNS) {
      out.println();
      out.println("== " + String.join(" ", run));
      out.flush();
      var arguments = arguments(run, all.commandLine().getParseResult());
      var last = new LastLine(out);
      var status =
          Benchmarks.commandLine()
              .setOut(new PrintWriter(last, true))
              .setErr(all.commandLine().getErr())
              .execute(arguments.toArray(String[]::new));
      if (status != Benchmarks.MEASURED) {
        return status;
      }
      lines.add(JsonMapper.shared().readTree(last.text()));
    }
    var json = new LinkedHashMap<String, Object>();
    json.put("benchmark", NAME);
    json.put("runs", lines);
    out.println();
    out.println(JsonMapper.shared().writeValueAsString(json));
    out.flush();
    return Benchmarks.MEASURED;
  }

  /** Those of a run, and the options as they were given that it has. */
  static List<String> arguments(List<String> run, ParseResult given) {
    var command =
        Objects.requireNonNull(Benchmarks.commandLine().getSubcommands().get(run.get(0)))
            .getCommandSpec();
    var arguments = new ArrayList<>(run);
    for (var option : given.matchedOptions()) {
      if (command.findOption(option.longestName()) != null) {
        arguments.add(option.longestName());
        arguments.addAll(option.originalStringValues());
      }
    }
    return arguments;
  }
}
