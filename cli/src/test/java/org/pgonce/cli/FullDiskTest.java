package org.pgonce.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.pgonce.cli.terminal.Terminal;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** What is printed cannot be written: a script must not take it for what was asked. */
@PgTest
class FullDiskTest {

  private static final OutputStream FULL =
      new OutputStream() {
        @Override
        public void write(int one) throws IOException {
          throw new IOException("no space left on device");
        }
      };

  /** Without a database; where it found a problem; help. */
  @ParameterizedTest
  @ValueSource(strings = {"migrate print", "migrate check", "doctor", "migrate apply", "--help"})
  void whatCouldNotBeWrittenIsAFailure(String arguments, TestDatabase database) {
    var err = new ByteArrayOutputStream();
    var terminal =
        new Terminal(
            new ByteArrayInputStream(new byte[0]),
            new PrintStream(FULL, true, StandardCharsets.UTF_8),
            new PrintStream(err, true, StandardCharsets.UTF_8),
            false,
            Cli.variables(database.login()),
            null);
    assertThat(PgOnceCommand.run(terminal, () -> false, arguments.split(" "))).isEqualTo(1);
    assertThat(err.toString(StandardCharsets.UTF_8))
        .startsWith(
            arguments.equals("migrate apply")
                ? "pgonce: it is done, and its output could not be written"
                : "pgonce: its output could not be written");
  }
}
