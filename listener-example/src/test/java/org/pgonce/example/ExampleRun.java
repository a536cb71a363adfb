package org.pgonce.example;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.pgonce.testkit.JvmProcess;
import org.pgonce.testkit.Login;
import org.pgonce.testkit.ParentWatch;
import org.pgonce.testkit.TestServer;

/** The example as a user runs it: a process with arguments, output and a status. */
final class ExampleRun implements AutoCloseable {

  static final Duration BOUND = Duration.ofMinutes(2);

  private final JvmProcess process;

  private ExampleRun(JvmProcess process) {
    this.process = process;
  }

  /** The example's main, ended also when the tests are killed. */
  static final class Main {
    public static void main(String[] arguments) {
      ParentWatch.exitWhenParentDies();
      ListenerExample.main(arguments);
    }
  }

  static ExampleRun start(String... arguments) {
    return new ExampleRun(JvmProcess.start(Main.class, arguments));
  }

  /** On the server that all tests share. */
  static ExampleRun startOnSharedServer(String... arguments) {
    var server = TestServer.shared();
    return start(at(server, arguments));
  }

  private static String[] at(TestServer server, String... arguments) {
    var all = new ArrayList<>(List.of(arguments));
    var login =
        new Login(
            server.host(), server.port(), server.database(), server.user(), server.password());
    all.addAll(List.of("--url", login.jdbcUrl() + "?password=" + login.password()));
    all.addAll(List.of("--user", login.user()));
    return all.toArray(String[]::new);
  }

  /** The rows of the report by their first word. */
  static Map<String, Long> figures(List<String> lines) {
    return lines.stream()
        .filter(line -> line.matches("[a-z ]{3,15} +[0-9,]+  .*"))
        .map(line -> line.split(" {2,}", 3))
        .collect(
            Collectors.toMap(
                parts -> parts[0],
                parts -> Long.parseLong(parts[1].replace(",", "")),
                (first, second) -> second));
  }

  JvmProcess process() {
    return process;
  }

  String awaitLine(String part) throws InterruptedException {
    return process.awaitLine(part, BOUND);
  }

  /** Waits for its end and checks its status; what it has printed comes back. */
  List<String> awaitStatus(int status) throws InterruptedException {
    var actual = process.awaitExit(BOUND);
    assertThat(actual).as("status of a run that printed %s", process.lines()).isEqualTo(status);
    assertNothingUncaught();
    return process.lines();
  }

  void assertNothingUncaught() {
    assertThat(process.lines()).noneMatch(line -> line.startsWith("Exception in thread"));
  }

  @Override
  public void close() {
    process.close();
  }
}
