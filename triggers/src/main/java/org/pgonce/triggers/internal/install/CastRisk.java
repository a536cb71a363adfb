package org.pgonce.triggers.internal.install;

import java.util.List;
import java.util.stream.Stream;
import org.pgonce.triggers.TableName;
import org.pgonce.triggers.internal.catalog.Column;
import org.pgonce.triggers.internal.catalog.ColumnType;

/**
 * row_to_json uses a cast to json where a type has one. The cast's function then runs inside the
 * capturing function, with the rights of pgonce_owner: whoever owns it could read and forge every
 * notification.
 */
final class CastRisk {

  private CastRisk() {}

  /** One line per column whose values are cast by a function that no superuser made. */
  static List<String> problems(TableName table, List<Column> columns) {
    return columns.stream()
        .flatMap(column -> casters(column.type()).map(caster -> problem(table, column, caster)))
        .toList();
  }

  private static Stream<String> casters(ColumnType type) {
    var parts = type.parts();
    return Stream.of(
            Stream.ofNullable(parts.castBy()),
            Stream.ofNullable(parts.element()).flatMap(CastRisk::casters),
            parts.attributes().stream().flatMap(attribute -> casters(attribute.type())))
        .flatMap(some -> some);
  }

  private static String problem(TableName table, Column column, String caster) {
    return "column %s of table %s is cast to json by a function of role %s, which would run with the rights of pgonce_owner: drop that cast of %s to json, or let a superuser own its function"
        .formatted(column.name(), table, caster, column.type().name());
  }
}
