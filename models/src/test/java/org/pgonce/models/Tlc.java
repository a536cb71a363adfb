package org.pgonce.models;

import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Runs TLC in a JVM of its own, since its state is static. What it was given and what it said stay
 * in {@code target/tlc/NAME}.
 */
final class Tlc {

  private static final Path MODELS = Path.of("src", "test", "tla");
  private static final Path RUNS = Path.of("target", "tlc");

  // TLC's exit codes.
  private static final int HOLDS = 0;
  private static final int INVARIANT_VIOLATED = 12;
  private static final int PROPERTY_VIOLATED = 13;

  private static final Pattern STATES = Pattern.compile("(\\d+) distinct states found");
  private static final Pattern TRACE = Pattern.compile("(?m)^State \\d+: <(\\w+) line");
  private static final Pattern COVERAGE =
      Pattern.compile("(?m)^<(\\w+) line .* of module (?:Gate|Owned)>: \\d+:(\\d+)$");

  /**
   * @param trace the steps that lead to the violation, in order
   * @param neverTaken the steps that no behaviour has; told only by a run that counts them
   */
  record Outcome(boolean holds, long states, List<String> trace, Set<String> neverTaken) {}

  /** Whether minutes are asked for, and not seconds. */
  static final boolean LARGE = "large".equals(System.getProperty("pgonce.models"));

  private Tlc() {}

  static Outcome check(String name, Gate gate, Duration limit, boolean counted)
      throws IOException, InterruptedException {
    Path home = Files.createDirectories(RUNS.resolve(name)).toAbsolutePath();
    for (String model : List.of("Gate.tla", "Owned.tla")) {
      Files.copy(MODELS.resolve(model), home.resolve(model), StandardCopyOption.REPLACE_EXISTING);
    }
    Files.writeString(home.resolve("Run.tla"), gate.module());
    Files.writeString(home.resolve("Run.cfg"), gate.configuration());
    Path said = home.resolve("out.txt");

    long begun = System.nanoTime();
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    if (!LARGE) {
      // In seconds, the optimizing compiler takes more than it gives.
      command.add("-XX:TieredStopAtLevel=1");
    }
    // TLC unpacks its standard modules where temporary files go.
    command.addAll(List.of("-XX:+UseSerialGC", "-Xmx2g", "-Djava.io.tmpdir=" + home));
    command.addAll(List.of("-cp", jar(), "tlc2.TLC", "-nowarning", "-workers", "1"));
    if (counted) {
      command.addAll(List.of("-coverage", "1"));
    }
    command.addAll(List.of("-metadir", home.resolve("states").toString()));
    command.addAll(List.of("-config", "Run.cfg", "Run.tla"));
    Process tlc =
        new ProcessBuilder(command)
            .directory(home.toFile())
            .redirectErrorStream(true)
            .redirectOutput(said.toFile())
            .start();
    try {
      if (!tlc.waitFor(limit.toMillis(), TimeUnit.MILLISECONDS)) {
        throw new AssertionError("TLC did not end within " + limit + ": " + said);
      }
    } finally {
      tlc.destroyForcibly().waitFor();
    }

    String output = Files.readString(said);
    int code = tlc.exitValue();
    if (code != HOLDS && code != INVARIANT_VIOLATED && code != PROPERTY_VIOLATED) {
      throw new AssertionError("TLC failed with exit code " + code + ": " + said + "\n" + output);
    }
    Outcome outcome = outcome(code == HOLDS, counted, output);
    System.out.printf(
        Locale.ROOT,
        "%s: %s, %,d states, %.1f s%n",
        name,
        outcome.holds() ? "holds" : "refuted in " + outcome.trace().size() + " steps",
        outcome.states(),
        (System.nanoTime() - begun) / 1e9);
    return outcome;
  }

  private static Outcome outcome(boolean holds, boolean counted, String output) {
    long states = 0;
    for (Matcher found = STATES.matcher(output); found.find(); ) {
      states = Long.parseLong(found.group(1));
    }
    List<String> trace = new ArrayList<>();
    TRACE.matcher(output).results().map(step -> step.group(1)).forEach(trace::add);
    Set<String> never = new TreeSet<>();
    if (holds && counted) {
      List<MatchResult> steps = COVERAGE.matcher(output).results().toList();
      if (steps.isEmpty()) {
        throw new AssertionError("TLC told no coverage:\n" + output);
      }
      // TLC tells it several times in a long run: the last count is the highest.
      steps.forEach(
          step -> {
            if (step.group(2).equals("0")) {
              never.add(step.group(1));
            } else {
              never.remove(step.group(1));
            }
          });
    }
    return new Outcome(holds, states, List.copyOf(trace), Set.copyOf(never));
  }

  private static String jar() {
    try {
      return Path.of(tlc2.TLC.class.getProtectionDomain().getCodeSource().getLocation().toURI())
          .toString();
    } catch (URISyntaxException e) {
      throw new AssertionError(e);
    }
  }
}
