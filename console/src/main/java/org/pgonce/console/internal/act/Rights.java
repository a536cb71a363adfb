package org.pgonce.console.internal.act;

import java.sql.SQLException;
import java.util.EnumSet;
import java.util.Set;
import org.pgonce.operations.internal.sql.Statements;

/** What the console's database role may call. Asked at each request: a right may be taken away. */
public final class Rights {

  private static final String MAY_CALL =
      "SELECT coalesce(has_schema_privilege(to_regnamespace('pgonce'), 'USAGE') AND has_function_privilege(to_regprocedure(?), 'EXECUTE'), false)";

  private Rights() {}

  public static Set<Verb> of(Statements statements) throws SQLException {
    var may = EnumSet.noneOf(Verb.class);
    for (var verb : Verb.values()) {
      if (statements.isTrue(MAY_CALL, verb.function())) {
        may.add(verb);
      }
    }
    return may;
  }
}
