package org.pgonce.records.internal.source;

import java.util.HashSet;
import java.util.List;
import java.util.stream.Collectors;

/** A Java enum for one of PostgreSQL's. */
final class EnumSource {

  private EnumSource() {}

  static String of(String name, List<String> labels, SourceTypes types) {
    // A label that can be a constant's name is one, so no other constant may have it.
    var taken =
        labels.stream().filter(Words::isIdentifier).collect(Collectors.toCollection(HashSet::new));
    var constants = new StringBuilder();
    for (var i = 0; i < labels.size(); i++) {
      var label = labels.get(i);
      constants.append(i == 0 ? "\n" : ",\n");
      if (Words.isIdentifier(label)) {
        constants.append("  ").append(label);
      } else {
        var wanted = Words.of(label).upperCase("LABEL_" + (i + 1));
        var constant = wanted;
        for (var n = 2; !taken.add(constant); n++) {
          constant = wanted + "_" + n;
        }
        constants
            .append("  @%s(%s)\n".formatted(types.used("JsonProperty"), JavaLiteral.of(label)))
            .append("  ")
            .append(constant);
      }
    }
    return "public enum %s {%s\n}\n".formatted(name, constants);
  }
}
