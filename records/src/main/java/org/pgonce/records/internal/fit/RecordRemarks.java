package org.pgonce.records.internal.fit;

import java.lang.reflect.Type;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.pgonce.records.TableName;
import org.pgonce.records.internal.catalog.Column;
import org.pgonce.records.internal.catalog.ColumnType;
import org.pgonce.records.internal.catalog.Shape;

/** Where a record and a table differ without harm to the channel. */
final class RecordRemarks {

  private final Set<String> remarks = new LinkedHashSet<>();

  private RecordRemarks() {}

  /** One line each; empty if the record reads the table and nothing but the table. */
  static List<String> of(Class<?> rowType, TableName table, List<Column> columns) {
    var where = "table " + table;
    if (!rowType.isRecord() || JavaType.readsItself(rowType)) {
      return notCompared(rowType, where, columns);
    }
    var remarks = new RecordRemarks();
    remarks.compare(rowType, where, columns, true);
    return List.copyOf(remarks.remarks);
  }

  private static List<String> notCompared(Class<?> rowType, String where, List<Column> columns) {
    var remarks = new ArrayList<String>();
    remarks.add(
        "%s is not compared with the columns of %s: it reads whatever it reads"
            .formatted(rowType.getSimpleName(), where));
    columns.stream().filter(Column::virtual).forEach(column -> remarks.add(unseen(column, where)));
    return remarks;
  }

  private static String unseen(Column column, String where) {
    return "column %s of %s is generated when it is read: no trigger sees it, and the payload has null in its place"
        .formatted(column.name(), where);
  }

  /**
   * @param nulls whether the columns say which of them may be null; attributes do not
   */
  private void compare(Class<?> record, String where, List<Column> columns, boolean nulls) {
    var name = record.getSimpleName();
    var read = new LinkedHashSet<Column>();
    for (var component : record.getRecordComponents()) {
      var wanted = ColumnName.of(component);
      var column = wanted.in(columns);
      if (column == null) {
        if (JavaType.isOptional(component)) {
          remarks.add(
              "%s.%s has no column %s in %s, and stays empty"
                  .formatted(name, component.getName(), wanted.name(), where));
        }
        continue;
      }
      read.add(column);
      if (nulls
          && column.nullable()
          && !component.getType().isPrimitive()
          && !JavaType.isOptional(component)) {
        remarks.add(
            "%s.%s is not declared as @Nullable or Optional, but column %s of %s may be null"
                .formatted(name, component.getName(), column.name(), where));
      }
      inside(component.getGenericType(), column.type());
    }
    for (var column : columns) {
      if (!read.contains(column)) {
        remarks.add(
            column.virtual()
                ? unseen(column, where)
                : "column %s of %s, %s, is read by no component of %s"
                    .formatted(column.name(), where, column.type().name(), name));
      }
    }
  }

  private void inside(Type declared, ColumnType column) {
    var type = JavaType.unwrapped(declared);
    var raw = JavaType.raw(type);
    var element = column.parts().element();
    var javaElement = JavaType.element(type);
    if (element != null && javaElement != null) {
      inside(javaElement, TypeFit.isDimension(javaElement, element) ? column : element);
    } else if (column.shape() == Shape.COMPOSITE && raw.isRecord() && !JavaType.readsItself(raw)) {
      compare(raw, "composite type " + column.name(), column.parts().attributes(), false);
    } else if (column.shape() == Shape.ENUM && raw.isEnum()) {
      for (var constant : EnumFit.idle(raw, column.parts().labels())) {
        remarks.add(
            "%s.%s is read from no label of enum %s"
                .formatted(raw.getSimpleName(), constant, column.name()));
      }
    }
  }
}
