package org.pgonce.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The packed jar: what it says of itself, and never says. Beside {@link PackedJarIT}, as each of
 * its many calls is a JVM.
 */
class PackedHelpIT extends PackedJarScene {

  static List<String> commands() {
    return CommandNames.all();
  }

  @Test
  void helpAndVersionNeedNoDatabase() throws Exception {
    var help = ended(java(List.of(), "--help"));
    assertThat(help.err()).isEmpty();
    assertThat(help.out()).startsWith("Usage: pgonce ");
    assertThat(run("--version").out()).matches("pgonce [0-9]+\\.[0-9]+.*\n");
  }

  @Tag("all") // a JVM for each
  @ParameterizedTest
  @MethodSource("commands")
  void eachCommandHasHelp(String name) throws Exception {
    var arguments = new ArrayList<>(List.of(name.split(" ")));
    arguments.add("--help");
    var help = run(arguments.toArray(new String[0]));
    assertThat(help.err()).isEmpty();
    assertThat(help.status()).isZero();
    assertThat(help.out()).startsWith("Usage: pgonce " + name);
  }

  @Tag("all")
  @ParameterizedTest
  @ValueSource(
      strings = {
        "postgresql://u:hunter2@my_db/x",
        "postgresql://u:hunter2@h1,h2:5432",
        "jdbc:postgresql://u:hunter2@h1:1,h2:2/x",
        "postgresql://u:p@hunter2@my_db/x",
        "postgresql://u:hunter2/y@localhost/x",
        "postgresql://u:1?hunter2@localhost/x",
        "postgresql://u:hunter2@localhost:port/x",
        "postgresql://localhost:hunter2/x",
        "postgresql://my_db/x?password=hunter2"
      })
  void noPasswordOfAnAddressIsShown(String url) throws Exception {
    var run = run("status", "--url", url);
    assertThat(run.status()).isEqualTo(2);
    assertThat(run.out() + run.err()).doesNotContain("hunter2").contains("--url");
    var variable = command("status");
    variable
        .environment()
        .put("PGONCE_URL", url + (url.contains("?") ? "&" : "?") + "connectTimeout=1");
    var byVariable = ended(variable);
    assertThat(byVariable.status()).isEqualTo(1);
    assertThat(byVariable.out() + byVariable.err()).doesNotContain("hunter2");
  }

  @Test
  void completionIsAScriptOfTheShell() throws Exception {
    var script = directory.resolve("completion.sh");
    Files.writeString(script, run("generate-completion").out());
    var bash = new ProcessBuilder("bash", "-n", script.toString()).start();
    assertThat(bash.waitFor()).isZero();
    assertThat(Files.readString(script)).contains("redrive").contains("--because");
  }
}
