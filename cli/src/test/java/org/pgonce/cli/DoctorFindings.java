package org.pgonce.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.StreamSupport;
import tools.jackson.databind.JsonNode;

/** What {@code pgonce doctor} finds. */
final class DoctorFindings {

  private DoctorFindings() {}

  static JsonNode all(Cli cli, String... more) {
    return run(cli, more).json();
  }

  private static Cli.Run run(Cli cli, String... more) {
    var arguments = new ArrayList<>(List.of("doctor", "-o", "json"));
    arguments.addAll(List.of(more));
    return cli.run(arguments.toArray(new String[0]));
  }

  static List<String> names(Cli cli) {
    return names(all(cli));
  }

  static List<String> names(JsonNode findings) {
    return StreamSupport.stream(findings.spliterator(), false)
        .map(one -> one.get("name").asString())
        .toList();
  }

  /** The only one of that name; it says all that a finding says, and the exit status fits. */
  static JsonNode one(Cli cli, String name, String... more) {
    var run = run(cli, more);
    var finding = one(run.json(), name);
    if (!finding.get("severity").asString().equals("INFO")) {
      run.ends(3);
    }
    return finding;
  }

  static JsonNode one(JsonNode all, String name) {
    var findings =
        StreamSupport.stream(all.spliterator(), false)
            .filter(one -> one.get("name").asString().equals(name))
            .toList();
    assertThat(findings).as(name).isNotEmpty();
    var finding = findings.get(0);
    for (var part : List.of("severity", "what", "why", "advice")) {
      assertThat(finding.get(part).asString()).as(part).isNotBlank();
    }
    return finding;
  }
}
