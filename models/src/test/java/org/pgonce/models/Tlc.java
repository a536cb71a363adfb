package org.pgonce.models;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * A configuration of {@code Gate.tla} that TLC checks in a JVM of its own, since its state is
 * static. What TLC was given and what it said stay in {@code target/tlc/NAME}.
 */
record Tlc(int writers, int processes, int faults, String promise, List<String> off) {

  private static final Path MODEL = Path.of("src", "test", "tla", "Gate.tla");
  private static final Pattern STEP = Pattern.compile("(?m)^State \\d+: <(\\w+)");
  private static final Pattern STATES = Pattern.compile("\\d+ distinct states found");

  // TLC's exit codes: an invariant, or a property, does not hold.
  private static final List<Integer> REFUTED = List.of(12, 13);

  Tlc(int writers, int processes) {
    this(writers, processes, 0, "", List.of());
  }

  Tlc faults(int most) {
    return new Tlc(writers, processes, most, promise, off);
  }

  Tlc invariant(String name) {
    return new Tlc(writers, processes, faults, "SPECIFICATION Safe\nINVARIANT " + name, off);
  }

  Tlc property(String name) {
    return new Tlc(writers, processes, faults, "SPECIFICATION Live\nPROPERTY " + name, off);
  }

  Tlc without(String rule) {
    return new Tlc(writers, processes, faults, promise, List.of(rule));
  }

  /** The steps that lead to a violation, in order; empty if what is promised holds. */
  List<String> refutation(String name) throws Exception {
    var home = Files.createDirectories(Path.of("target", "tlc", name)).toAbsolutePath();
    Files.copy(MODEL, home.resolve("Gate.tla"), StandardCopyOption.REPLACE_EXISTING);
    Files.writeString(home.resolve("Gate.cfg"), configuration());
    var said = home.resolve("out.txt");
    var begun = System.nanoTime();
    var tlc =
        new ProcessBuilder(command(home.toString()))
            .directory(home.toFile())
            .redirectErrorStream(true)
            .redirectOutput(said.toFile())
            .start();
    try {
      if (!tlc.waitFor(5, TimeUnit.MINUTES)) {
        throw new AssertionError("TLC did not end: " + said);
      }
    } finally {
      tlc.destroyForcibly().waitFor();
    }
    var output = Files.readString(said);
    if (tlc.exitValue() != 0 && !REFUTED.contains(tlc.exitValue())) {
      throw new AssertionError("TLC failed: " + said + "\n" + output);
    }
    var steps = STEP.matcher(output).results().map(step -> step.group(1)).toList();
    System.out.printf(
        "%s: %s, %s, %.1f s%n",
        name,
        tlc.exitValue() == 0 ? "holds" : "refuted in " + steps.size() + " steps",
        STATES.matcher(output).results().map(found -> found.group()).reduce("", (a, b) -> b),
        (System.nanoTime() - begun) / 1e9);
    return steps;
  }

  // One worker finds the shortest way. TLC unpacks its modules where temporary files go.
  private static List<String> command(String home) throws Exception {
    var java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
    var jar = Path.of(tlc2.TLC.class.getProtectionDomain().getCodeSource().getLocation().toURI());
    return Stream.concat(
            Stream.of(java, "-Djava.io.tmpdir=" + home, "-cp", jar.toString()),
            Stream.of(
                "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xmx1g tlc2.TLC -nowarning -workers 1 Gate.tla"
                    .split(" ")))
        .toList();
  }

  private String configuration() {
    var w = names("w", writers);
    var p = names("p", processes);
    return Stream.concat(
            Stream.of(
                promise,
                "CHECK_DEADLOCK FALSE",
                "CONSTANTS",
                "W = {" + String.join(", ", w) + "}",
                "P = {" + String.join(", ", p) + "}",
                "Faults = " + faults,
                "Off = "
                    + off.stream()
                        .map("\"%s\""::formatted)
                        .collect(Collectors.joining(", ", "{", "}"))),
            Stream.concat(w.stream(), p.stream()).map(name -> name + " = " + name))
        .collect(Collectors.joining("\n", "", "\n"));
  }

  private static List<String> names(String prefix, int count) {
    return IntStream.rangeClosed(1, count).mapToObj(i -> prefix + i).toList();
  }
}
