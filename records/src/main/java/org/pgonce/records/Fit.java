package org.pgonce.records;

import java.util.ArrayList;
import java.util.List;

/**
 * Where a record and a table disagree; see {@link Records#fit(java.sql.Connection, String, Class)}.
 * {@link #toString} is the readable form.
 *
 * @param misfits what a channel is refused for, one line per component, with what to do; or the one
 *     reason why the table cannot feed a channel at all
 * @param remarks what stands in no channel's way, one line each: columns that no component reads or
 *     no trigger sees, components and enum constants that nothing is read into, components that may
 *     be null and do not say so
 */
public record Fit(List<String> misfits, List<String> remarks) {

  public Fit {
    misfits = List.copyOf(misfits);
    remarks = List.copyOf(remarks);
  }

  /** Whether every row can be read; there may be remarks. */
  public boolean fits() {
    return misfits.isEmpty();
  }

  @Override
  public String toString() {
    var lines = new ArrayList<String>();
    misfits.forEach(misfit -> lines.add("misfit: " + misfit));
    remarks.forEach(remark -> lines.add("remark: " + remark));
    if (lines.isEmpty()) {
      lines.add("no difference");
    }
    return String.join("\n", lines) + "\n";
  }
}
