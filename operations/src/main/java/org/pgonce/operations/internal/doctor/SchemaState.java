package org.pgonce.operations.internal.doctor;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import org.pgonce.internal.store.Rights;
import org.pgonce.internal.store.Schema;
import org.pgonce.operations.internal.sql.Statements;

/**
 * The schema pgonce as the database has it.
 *
 * @param installed its version; 0 if it is not there, -1 if the login may not see it
 * @param needed the version that this command line brings
 * @param problems with what to do
 */
public record SchemaState(long installed, long needed, List<String> problems) {

  static final String NOT_SEEN =
      "the login may not see the version of schema pgonce: GRANT pgonce_monitor";

  private static final String MAY_SEE =
      "SELECT has_schema_privilege('pgonce', 'USAGE') AND has_table_privilege('pgonce.schema_version', 'SELECT')";

  public static SchemaState of(Statements statements) throws SQLException {
    var problems = new ArrayList<String>();
    var needed = Schema.latest();
    var installed = -1L;
    if (!Schema.exists(statements.connection())) {
      installed = 0;
      problems.add(
          "schema pgonce is not installed: pgonce migrate apply, or migrate print for a review");
    } else {
      var damage = Rights.damage(statements.connection());
      if (damage != null) {
        problems.add(damage);
      }
      if (statements.isTrue(MAY_SEE)) {
        installed =
            statements.number("SELECT coalesce(max(v.version), 0) FROM pgonce.schema_version v");
        if (installed < needed) {
          problems.add(
              "schema pgonce is of version %d, and %d is needed: pgonce migrate apply"
                  .formatted(installed, needed));
        } else if (installed > needed) {
          problems.add(
              "schema pgonce is of version %d, and this command line knows %d: take the one of that release"
                  .formatted(installed, needed));
        }
      } else {
        problems.add(NOT_SEEN);
      }
    }
    return new SchemaState(installed, needed, problems);
  }
}
