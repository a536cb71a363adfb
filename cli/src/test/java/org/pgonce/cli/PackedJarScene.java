package org.pgonce.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestInstance.Lifecycle;
import org.junit.jupiter.api.io.TempDir;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** {@code java -jar pgonce.jar}, as users start it: the file alone in a directory. */
@PgTest(PgOnceInstalled.class)
@TestInstance(Lifecycle.PER_CLASS)
abstract class PackedJarScene {

  static final Duration SOON = Duration.ofSeconds(60);

  @TempDir private static Path home;

  @TempDir Path directory;
  TestDatabase database;

  @BeforeAll
  void open(TestDatabase shared) throws IOException {
    database = shared;
    Files.copy(Path.of("target", "pgonce.jar"), home.resolve("pgonce.jar"));
  }

  ProcessBuilder command(String... arguments) {
    return java(List.of(), arguments);
  }

  ProcessBuilder java(List<String> options, String... arguments) {
    var command = new ArrayList<String>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"));
    command.addAll(options);
    command.addAll(List.of("-jar", "pgonce.jar"));
    command.addAll(List.of(arguments));
    var builder = new ProcessBuilder(command).directory(home.toFile());
    builder.environment().putAll(Cli.variables(database.login()));
    return builder;
  }

  record Ended(int status, String out, String err) {}

  Ended run(String... arguments) throws Exception {
    return ended(command(arguments));
  }

  Ended ended(ProcessBuilder command) throws Exception {
    var out = Files.createTempFile(directory, "out", "").toFile();
    var err = Files.createTempFile(directory, "err", "").toFile();
    var process =
        command.redirectInput(new File("/dev/null")).redirectOutput(out).redirectError(err).start();
    try {
      assertThat(process.waitFor(SOON.toSeconds(), TimeUnit.SECONDS)).isTrue();
      return new Ended(
          process.exitValue(), Files.readString(out.toPath()), Files.readString(err.toPath()));
    } finally {
      process.destroyForcibly();
    }
  }
}
