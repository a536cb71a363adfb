package org.pgonce.records.internal.source;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.pgonce.records.internal.catalog.Column;
import org.pgonce.records.internal.fit.ColumnName;

/** What the components of a record are called that reads these columns. */
final class ComponentNames {

  /** A record cannot have them: its accessors would be methods that every object has. */
  private static final Set<String> METHODS =
      Set.of(
          "clone", "finalize", "getClass", "hashCode", "notify", "notifyAll", "toString", "wait");

  private ComponentNames() {}

  /** One for each, in their order, no two alike. */
  static List<String> of(List<Column> columns) {
    var columnNames = columns.stream().map(Column::name).collect(Collectors.toSet());
    var taken = new HashSet<String>();
    var names = new ArrayList<String>();
    for (var i = 0; i < columns.size(); i++) {
      var column = columns.get(i).name();
      var wanted = Words.of(column).camelCase("column" + (i + 1));
      if (!Words.isIdentifier(wanted) || METHODS.contains(wanted)) {
        wanted += "_";
      }
      var name = wanted;
      // Not by another column's name either: Jackson takes @JsonProperty("a") b and a for one.
      for (var n = 2;
          taken.contains(name) || (columnNames.contains(name) && !name.equals(column));
          n++) {
        name = wanted + n;
      }
      taken.add(name);
      names.add(name);
    }
    return names;
  }

  /** Whether a component of this name has to be told which column it reads. */
  static boolean needsAnnotation(String component, String column) {
    return !ColumnName.byDefault(component).equals(column);
  }
}
