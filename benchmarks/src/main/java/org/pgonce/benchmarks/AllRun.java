package org.pgonce.benchmarks;

import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
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
      "Every benchmark with its defaults, one after the other, each on a server of its own; takes some 40 minutes.",
      "Those of transactions that are committed singly, or by few, once more with --fsync off, a table shows both; and writers on a slow disk: unless --fsync, --flush or --url is given.",
      "The last line is JSON, with the line of each."
    })
final class AllRun implements Callable<Integer> {

  static final String NAME = "all";

  static final List<List<String>> RUNS =
      List.of(
          List.of("forms"),
          List.of("cpu"),
          List.of("latency"),
          List.of("drain"),
          List.of("drain", "--shared"),
          List.of("writers"),
          List.of("writers", ServerOptions.FLUSH, "5"),
          List.of("peers"),
          List.of("peers", "--drain"),
          List.of("flat"),
          List.of("flat", "--pinned"),
          List.of("idle"),
          List.of("herd"),
          List.of("recovery"));

  /** What waits for the disk; the others measure something else, or count. */
  private static final Set<String> WAIT_FOR_THE_DISK =
      Set.of("latency", "drain", "writers", "peers");

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
    var all = Objects.requireNonNull(spec).commandLine();
    var given = all.getParseResult();
    var both =
        Stream.of(ServerOptions.FSYNC, ServerOptions.FLUSH, "--url")
            .noneMatch(given::hasMatchedOption);
    var columns = new TwoColumns();
    var lines = new ArrayList<JsonNode>();
    var off = new ArrayList<JsonNode>();
    for (var run : RUNS) {
      var isSlow = run.contains(ServerOptions.FLUSH);
      if (isSlow && !both) {
        continue;
      }
      var name = String.join(" ", run);
      var line = new Measured(all, name).run(arguments(run, given));
      if (line.status != Benchmarks.MEASURED) {
        return line.status;
      }
      lines.add(line.read());
      if (both && !isSlow && WAIT_FOR_THE_DISK.contains(run.get(0))) {
        var again = new ArrayList<>(run);
        again.addAll(List.of(ServerOptions.FSYNC, "off"));
        var other = new Measured(all, String.join(" ", again)).run(again);
        if (other.status != Benchmarks.MEASURED) {
          return other.status;
        }
        off.add(other.read());
        columns.add(name, line.read(), other.read());
      }
    }
    var json = new LinkedHashMap<String, Object>();
    json.put("benchmark", NAME);
    json.put("runs", lines);
    if (both) {
      json.put("runs_fsync_off", off);
      all.getOut().println();
      columns.lines().forEach(all.getOut()::println);
    }
    all.getOut().println();
    all.getOut().println(JsonMapper.shared().writeValueAsString(json));
    all.getOut().flush();
    return Benchmarks.MEASURED;
  }

  /** One of them, whose output is passed on. */
  private static final class Measured {

    private final CommandLine all;
    private final String name;
    private final LastLine last;
    private int status;

    Measured(CommandLine all, String name) {
      this.all = all;
      this.name = name;
      this.last = new LastLine(all.getOut());
    }

    Measured run(List<String> arguments) {
      all.getOut().println();
      all.getOut().println("== " + name);
      all.getOut().flush();
      status =
          Benchmarks.commandLine()
              .setOut(new PrintWriter(last, true))
              .setErr(all.getErr())
              .execute(arguments.toArray(String[]::new));
      return this;
    }

    JsonNode read() {
      return JsonMapper.shared().readTree(last.text());
    }
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
