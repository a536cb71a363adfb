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
    var arguments = new ArrayList<>(List.of("doctor", "-o", "json"));
    arguments.addAll(List.of(more));
    return cli.run(arguments.toArray(new String[0])).json();
  }

  static List<String> names(Cli cli) {
    return StreamSupport.stream(all(cli).spliterator(), false)
        .map(one -> one.get("name").asString())
        .toList();
  }

  /** The only one of that name; it says all that a finding says, and the exit status fits. */
  static JsonNode one(Cli cli, String name, String... more) {
    var findings =
        StreamSupport.stream(all(cli, more).spliterator(), false)
            .filter(one -> one.get("name").asString().equals(name))
            .toList();
    assertThat(findings).as(name).isNotEmpty();
    var finding = findings.get(0);
    for (var part : List.of("severity", "what", "why", "advice")) {
      assertThat(finding.get(part).asString()).as(part).isNotBlank();
    }
    if (!finding.get("severity").asString().equals("INFO")) {
      var arguments = new ArrayList<>(List.of("doctor"));
      arguments.addAll(List.of(more));
      cli.run(arguments.toArray(new String[0])).ends(3);
    }
    return finding;
  }
}
