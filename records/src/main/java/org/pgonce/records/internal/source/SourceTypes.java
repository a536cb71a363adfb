package org.pgonce.records.internal.source;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.pgonce.records.internal.catalog.Column;
import org.pgonce.records.internal.catalog.ColumnType;

/**
 * The Java type of each column, as the package documents it, with all that must be declared or
 * imported for it.
 */
final class SourceTypes {

  static final String JSON_PROPERTY = "com.fasterxml.jackson.annotation.JsonProperty";
  static final String NULLABLE = "org.jspecify.annotations.Nullable";
  static final String TRIGGER_CHANNEL = "org.pgonce.triggers.TriggerChannel";

  private static final Map<String, String> IMPORTS =
      List.of(
              JSON_PROPERTY,
              NULLABLE,
              TRIGGER_CHANNEL,
              "java.math.BigDecimal",
              "java.time.Instant",
              "java.time.LocalDate",
              "java.time.LocalDateTime",
              "java.time.LocalTime",
              "java.util.List",
              "java.util.UUID",
              "tools.jackson.databind.JsonNode")
          .stream()
          .collect(
              Collectors.toMap(name -> name.substring(name.lastIndexOf('.') + 1), name -> name));

  /** A class's initializer of more constants may be longer than a method can be. */
  private static final int MOST_CONSTANTS = 1000;

  private final TypeNames names = new TypeNames(IMPORTS.keySet());
  private final TreeSet<String> imports = new TreeSet<>();
  private final Map<String, String> declared = new LinkedHashMap<>();
  private final Map<String, String> declarations = new LinkedHashMap<>();

  /** A name for the record itself, which no other type will have. */
  String nameOf(String sqlTable) {
    return names.give(sqlTable);
  }

  SourceType of(ColumnType type) {
    return new SourceType(
        switch (type.shape()) {
          case BOOLEAN -> "boolean";
          case INT2 -> "short";
          case INT4 -> "int";
          case INT8 -> "long";
          case FLOAT4 -> "float";
          case FLOAT8 -> "double";
          case NUMERIC -> used("BigDecimal");
          case TEXT, INTERVAL, STRING -> "String";
          case BYTES -> "byte[]";
          case UUID -> used("UUID");
          case DATE -> used("LocalDate");
          case TIME -> used("LocalTime");
          case TIMESTAMP -> used("LocalDateTime");
          case TIMESTAMP_TZ -> used("Instant");
          case JSON, UNKNOWN -> used("JsonNode");
          case ENUM -> constants(type);
          case COMPOSITE -> record(type);
          case ARRAY -> list(type.parts().element(), type.parts().dimensions());
        });
  }

  /** Its elements may be null, whatever was declared; its dimensions are what was declared. */
  private String list(@Nullable ColumnType element, int dimensions) {
    if (element == null) {
      return used("JsonNode");
    }
    used("Nullable");
    var list = used("List") + "<" + of(element).nullable() + ">";
    for (var n = 2; n <= dimensions; n++) {
      list = "List<" + list + ">";
    }
    return list;
  }

  private String constants(ColumnType type) {
    var labels = type.parts().labels();
    // No annotation can say that a constant's name is empty.
    if (labels.contains("") || labels.size() > MOST_CONSTANTS) {
      return "String";
    }
    return declared(type, name -> EnumSource.of(name, labels, this));
  }

  private String record(ColumnType type) {
    // Nothing promises that an attribute is not null.
    var attributes =
        type.parts().attributes().stream()
            .map(one -> new Column(one.name(), one.type(), true, false))
            .toList();
    return declared(type, name -> new Components(attributes, this).record(name, ""));
  }

  private interface Declaration {
    String of(String name);
  }

  private String declared(ColumnType type, Declaration declaration) {
    var known = declared.get(type.name());
    if (known != null) {
      return known;
    }
    var name = names.give(type.name());
    declared.put(type.name(), name);
    declarations.put(name, declaration.of(name));
    return name;
  }

  /** Notes that the type is imported, and returns its simple name. */
  String used(String simpleName) {
    imports.add(IMPORTS.getOrDefault(simpleName, simpleName));
    return simpleName;
  }

  /** Lines of import, sorted. */
  String imports() {
    return imports.stream().map(name -> "import " + name + ";\n").collect(Collectors.joining());
  }

  /** Enums and records of composite types. */
  List<String> declarations() {
    return List.copyOf(declarations.values());
  }
}
