package org.pgonce.triggers.internal.fit;

import java.lang.reflect.RecordComponent;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.pgonce.triggers.TableName;
import org.pgonce.triggers.internal.catalog.Column;

/** Whether each component of a record finds what it reads. */
public final class RecordFit {

  private RecordFit() {}

  /**
   * One line per component that does not fit; empty if all do, or the type is no record, or one
   * that says itself how it is read. Columns that no component reads are nobody's concern here, see
   * {@link RecordRemarks}.
   */
  public static List<String> misfits(Class<?> rowType, TableName table, List<Column> columns) {
    var misfits = new ArrayList<String>();
    if (rowType.isRecord() && !JavaType.readsItself(rowType)) {
      for (var component : rowType.getRecordComponents()) {
        var misfit = misfit(component, "table " + table, columns);
        if (misfit != null) {
          misfits.add(rowType.getSimpleName() + "." + component.getName() + misfit);
        }
      }
    }
    return misfits;
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
    var misfits = new ArrayList<String>();
    for (var component : record.getRecordComponents()) {
      var misfit = misfit(component, "the composite type", attributes);
      if (misfit != null) {
        misfits.add(record.getSimpleName() + "." + component.getName() + misfit);
      }
    }
    return misfits.isEmpty() ? null : String.join("; ", misfits);
  }

  private static @Nullable String misfit(
      RecordComponent component, String where, List<Column> columns) {
    var wanted = ColumnName.of(component);
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
