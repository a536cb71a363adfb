package org.pgonce.models;

import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** One configuration of {@code Gate.tla}; the module's constants are explained there. */
record Gate(
    Protocol protocol,
    int writers,
    int processes,
    int workers,
    Map<String, Integer> faults,
    Set<String> off,
    Promise promise) {

  /** How those who are not awake learn that they must look. */
  enum Protocol {
    CALLED,
    ALWAYS,
    OWNED
  }

  /** What TLC is asked to refute. */
  enum Promise {
    SOMEBODY_KNOWS("INVARIANT SomebodyKnows"),
    EVERYBODY_KNOWS("INVARIANT EverybodyKnows"),
    ALL_HANDLED("PROPERTY AllHandled");

    final String line;

    Promise(String line) {
      this.line = line;
    }
  }

  private static final List<String> FAULTS =
      List.of("die", "deaf", "restart", "hang", "fail", "clock", "stop");

  /** Who opens calls the others, who watch the word until it is closed. */
  static Gate called(int writers, int processes) {
    return new Gate(
        Protocol.CALLED, writers, processes, 1, Map.of(), Set.of(), Promise.EVERYBODY_KNOWS);
  }

  /** Everybody reads the word now and then, for ever; nobody calls. */
  static Gate always(int writers, int processes) {
    return new Gate(
        Protocol.ALWAYS, writers, processes, 1, Map.of(), Set.of(), Promise.EVERYBODY_KNOWS);
  }

  /** {@code Owned.tla}: only its owner changes the word, and closes it when nothing is owed. */
  static Gate owned(int writers, int processes) {
    return new Gate(
        Protocol.OWNED, writers, processes, 1, Map.of(), Set.of(), Promise.EVERYBODY_KNOWS);
  }

  /** Each of these faults may come once; one that is named twice, twice. */
  Gate faults(String... kinds) {
    Map<String, Integer> counted =
        Stream.of(kinds).collect(Collectors.toMap(kind -> kind, kind -> 1, Integer::sum));
    if (!FAULTS.containsAll(counted.keySet())) {
      throw new IllegalArgumentException("No such fault: " + counted.keySet());
    }
    return new Gate(protocol, writers, processes, workers, counted, off, promise);
  }

  Gate without(String... rules) {
    return new Gate(protocol, writers, processes, workers, faults, Set.of(rules), promise);
  }

  Gate workers(int each) {
    return new Gate(protocol, writers, processes, each, faults, off, promise);
  }

  Gate promise(Promise asked) {
    return new Gate(protocol, writers, processes, workers, faults, off, asked);
  }

  /** The module that TLC is started with: a record can't stand in its configuration file. */
  String module() {
    String record =
        FAULTS.stream()
            .map(fault -> fault + " |-> " + faults.getOrDefault(fault, 0))
            .collect(Collectors.joining(", ", "[", "]"));
    return """
        ---- MODULE Run ----
        EXTENDS %s
        TheFaults == %s
        ====
        """
        .formatted(protocol == Protocol.OWNED ? "Owned" : "Gate", record);
  }

  String configuration() {
    boolean live = promise == Promise.ALL_HANDLED;
    String rules =
        off.stream()
            .sorted()
            .map(rule -> '"' + rule + '"')
            .collect(Collectors.joining(", ", "{", "}"));
    return """
        SPECIFICATION %s
        %s
        CHECK_DEADLOCK FALSE
        CONSTANTS
          W = %s
          P = %s
          Cap = %d
          Always = %s
          Off = %s
          Faults <- TheFaults
        """
            .formatted(
                // TLC's liveness checking is not sound with symmetry.
                (protocol == Protocol.OWNED ? "O" : "")
                    + (live ? "Live" : "Safe\nSYMMETRY Symmetry"),
                promise.line,
                values("w", writers),
                values("p", processes),
                workers,
                protocol == Protocol.ALWAYS ? "TRUE" : "FALSE",
                rules)
        + Stream.concat(names("w", writers), names("p", processes))
            .map(name -> "  " + name + " = " + name + "\n")
            .collect(Collectors.joining());
  }

  /** The steps that this configuration has no use for; every other one TLC must have taken. */
  Set<String> idleSteps() {
    Map<String, Boolean> used = new TreeMap<>();
    used.put("Die", faults.containsKey("die"));
    used.put("Start", faults.containsKey("die") || faults.containsKey("stop"));
    used.put("Deaf", faults.containsKey("deaf"));
    used.put("Hang", faults.containsKey("hang"));
    used.put("ComeBack", faults.containsKey("hang"));
    used.put("Fail", faults.containsKey("fail"));
    used.put("ClockBack", faults.containsKey("clock"));
    String own = protocol == Protocol.OWNED ? "O" : "";
    used.put(own + "Restart", faults.containsKey("restart"));
    used.put(
        own + "Relisten",
        Stream.of("die", "deaf", "restart", "stop").anyMatch(faults.keySet()::contains));
    if (protocol == Protocol.OWNED) {
      used.put("OStop", faults.containsKey("stop"));
    } else {
      used.put("Call", protocol == Protocol.CALLED);
      used.put("SetAwake", protocol == Protocol.CALLED);
      used.put("Compare", off.contains("in one step"));
      used.put("ListEarly", off.contains("listed later"));
      used.put("Prune", off.contains("pruned by the look"));
      used.put("Notice", off.contains("closed is new"));
    }
    return used.entrySet().stream()
        .filter(step -> !step.getValue())
        .map(Map.Entry::getKey)
        .collect(Collectors.toSet());
  }

  private static Stream<String> names(String prefix, int count) {
    return IntStream.rangeClosed(1, count).mapToObj(i -> prefix + i);
  }

  private static String values(String prefix, int count) {
    return names(prefix, count).collect(Collectors.joining(", ", "{", "}"));
  }
}
