package org.pgonce.records.internal.fit;

import java.lang.reflect.RecordComponent;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.pgonce.records.TableName;
import org.pgonce.records.internal.catalog.Column;

/** Whether each component of a record finds what it reads. */
public final class RecordFit {

  private RecordFit() {}

  /**
   * One line per component that does not fit; empty if all do, or the type is no record, or one
   * that says itself how it is read. Columns that no component reads are nobody's concern here.
   */
  public static List<String> misfits(Class<?> rowType, TableName table, List<Column> columns) {
    return isCompared(rowType) ? misfits(rowType, "table " + table, columns) : List.of();
  }

  private static boolean isCompared(Class<?> rowType) {
    return rowType.isRecord() && !JavaType.readsItself(rowType);
  }

  private static List<String> misfits(Class<?> record, String where, List<Column> columns) {
    var misfits = new ArrayList<String>();
    for (var component : record.getRecordComponents()) {
      var misfit = misfit(component, where, columns);
      if (misfit != null) {
        misfits.add(record.getSimpleName() + "." + component.getName() + misfit);
      }
    }
    return misfits;
  }

  /**
   * One line for each component that may be null and has no column: either that was meant, or the
   * column was renamed or dropped since.
   */
  public static List<String> unread(Class<?> rowType, TableName table, List<Column> columns) {
    if (!isCompared(rowType)) {
      return List.of();
    }
    return Stream.of(rowType.getRecordComponents())
        .filter(JavaType::isOptional)
        .filter(component -> ColumnName.of(component).in(columns) == null)
        .map(
            component ->
                "%s.%s has no column %s in table %s, and stays empty: if the column has another name now, let the component read that (@JsonProperty, @JsonAlias); else drop the component"
                    .formatted(
                        rowType.getSimpleName(),
                        component.getName(),
                        ColumnName.of(component).name(),
                        table))
        .toList();
  }

  /**
   * The column that is meant by a name: the one that the record's component of that name reads, or
   * the name itself.
   */
  public static String column(Class<?> rowType, String name) {
    if (rowType.isRecord()) {
      for (var component : rowType.getRecordComponents()) {
        if (component.getName().equals(name)) {
          return ColumnName.of(component).name();
        }
      }
    }
    return name;
  }

  /** What does not fit in a record that reads a composite type; null if all does. */
  static @Nullable String misfitsOfAttributes(Class<?> record, List<Column> attributes) {
    var misfits = misfits(record, "the composite type", attributes);
    return misfits.isEmpty() ? null : String.join("; ", misfits);
  }

  private static @Nullable String misfit(
      RecordComponent component, String where, List<Column> columns) {
    var wanted = ColumnName.of(component);
    var all = wanted.allIn(columns);
    if (all.size() > 1) {
      return " reads each of the columns %s of %s, and no record can be made of a payload with more than one: take away @JsonAlias while they are there"
          .formatted(all.stream().map(Column::name).collect(Collectors.joining(", ")), where);
    }
    var column = wanted.in(columns);
    var type = component.getGenericType().getTypeName().replaceAll("[\\w.$]+[.$]", "");
    if (column == null) {
      return JavaType.isOptional(component) ? null : missing(wanted, where, columns);
    }
    if (column.virtual()) {
      return " reads column %s of %s, which is generated when it is read and not seen by triggers: make it STORED, or drop the component"
          .formatted(column.name(), where);
    }
    var misfit = TypeFit.misfit(component.getGenericType(), column.type());
    if (misfit != null) {
      return " is %s, but column %s of %s is %s: %s"
          .formatted(type, column.name(), where, column.type().name(), misfit);
    }
    return component.getType().isPrimitive() && column.nullable()
        ? " is %s, but column %s of %s may be null: use a type that can be null, or make the column NOT NULL"
            .formatted(type, column.name(), where)
        : null;
  }

  private static String missing(ColumnName wanted, String where, List<Column> columns) {
    var near = wanted.nearMiss(columns);
    return " has no column %s in %s: %s"
        .formatted(
            wanted.name(),
            where,
            near == null
                ? "add the column, drop the component, or declare it Optional or @Nullable"
                : "there is \"" + near + "\", which @JsonProperty(\"" + near + "\") reads");
  }
}
