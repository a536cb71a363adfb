package org.pgonce.records.internal.source;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import org.pgonce.records.internal.catalog.Column;

/** The components of a record, one for each column that a trigger sees. */
final class Components {

  /** What a constructor takes, beside this; a long or double counts twice. */
  private static final int MOST_SLOTS = 254;

  private static final Pattern LINE = Pattern.compile("^(?=.)", Pattern.MULTILINE);

  private final List<String> components = new ArrayList<>();
  private final List<String> leftOut = new ArrayList<>();

  Components(List<Column> columns, SourceTypes types) {
    var seen = columns.stream().filter(column -> !column.virtual()).toList();
    var names = ComponentNames.of(seen);
    var slots = 0;
    for (var i = 0; i < seen.size(); i++) {
      var column = seen.get(i);
      var type = types.of(column.type());
      slots += column.nullable() ? 1 : type.slots();
      if (slots > MOST_SLOTS) {
        leftOut.add(
            "column %s, because a record has no room for more components"
                .formatted(JavaLiteral.of(column.name())));
      } else {
        components.add(component(column, names.get(i), type, types));
      }
    }
    columns.stream()
        .filter(Column::virtual)
        .forEach(
            column ->
                leftOut.add(
                    "column %s, which is generated when it is read and not seen by triggers"
                        .formatted(JavaLiteral.of(column.name()))));
  }

  private static String component(Column column, String name, SourceType type, SourceTypes types) {
    var annotation = "";
    if (ComponentNames.needsAnnotation(name, column.name())) {
      annotation = "@%s(%s) ".formatted(types.used("JsonProperty"), JavaLiteral.of(column.name()));
    }
    if (column.nullable()) {
      types.used("Nullable");
    }
    return annotation + (column.nullable() ? type.nullable() : type.text()) + " " + name;
  }

  /**
   * @param body what follows in the record's braces, in lines
   */
  String record(String name, String body) {
    var head =
        components.isEmpty()
            ? "public record %s()".formatted(name)
            : "public record %s(\n    %s)".formatted(name, String.join(",\n    ", components));
    var inside = new StringBuilder();
    leftOut.forEach(one -> inside.append("// Left out: ").append(one).append(".\n"));
    if (!leftOut.isEmpty() && !body.isEmpty()) {
      inside.append('\n');
    }
    inside.append(body);
    return inside.isEmpty()
        ? head + " {}\n"
        : head + " {\n\n" + LINE.matcher(inside).replaceAll("  ") + "}\n";
  }
}
