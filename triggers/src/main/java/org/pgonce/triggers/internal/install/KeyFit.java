package org.pgonce.triggers.internal.install;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.pgonce.records.TableName;
import org.pgonce.records.internal.catalog.Column;
import org.pgonce.records.internal.catalog.Shape;

/** Whether a table has the columns that its keys are made of. */
public final class KeyFit {

  /** What has no one text, or a text that means the same as another: no key is made of it. */
  private static final Set<Shape> UNFIT =
      Set.of(Shape.JSON, Shape.ARRAY, Shape.COMPOSITE, Shape.UNKNOWN);

  private KeyFit() {}

  /**
   * One line per column that does not fit.
   *
   * @param uses the names of the columns, and what each is for
   */
  public static List<String> misfits(
      Map<String, String> uses, TableName table, List<Column> columns) {
    var misfits = new ArrayList<String>();
    uses.forEach(
        (name, use) -> {
          var column =
              columns.stream().filter(one -> one.name().equals(name)).findFirst().orElse(null);
          if (column == null) {
            misfits.add(
                "the %s reads column %s, which table %s does not have: add the column, or name another"
                    .formatted(use, name, table));
          } else if (column.virtual()) {
            misfits.add(
                "the %s reads column %s of table %s, which is generated when it is read and not seen by triggers: make it STORED, or name another"
                    .formatted(use, name, table));
          } else if (use.contains("key") && UNFIT.contains(column.type().shape())) {
            misfits.add(
                "the %s reads column %s of table %s, which is %s and has no plain text: name a column of a simple type"
                    .formatted(use, name, table, column.type().name()));
          }
        });
    return misfits;
  }
}
