package org.pgonce.operations.internal.doctor;

import java.sql.SQLException;
import java.util.List;
import org.pgonce.operations.internal.sql.Statements;

/** What the login that asks may do. */
final class RightsCheck {

  private static final String HELD =
      """
      SELECT r.rolname FROM pg_roles r
       WHERE r.rolname IN ('pgonce_owner', 'pgonce_installer', 'pgonce_publisher', 'pgonce_listener', 'pgonce_admin', 'pgonce_monitor')
         AND pg_has_role(r.oid, 'USAGE') ORDER BY 1
      """;
  private static final String MAY_LOOK =
      "SELECT coalesce(has_schema_privilege(to_regnamespace('pgonce'), 'USAGE') AND has_table_privilege(to_regclass('pgonce.channel_gauges'), 'SELECT'), false)";

  private RightsCheck() {}

  static Check ifMayLook(Check check) {
    return new Check(
        check.name(),
        statements -> mayLook(statements) ? check.search().find(statements) : List.of());
  }

  private static boolean mayLook(Statements statements) throws SQLException {
    return statements.isTrue(
            "SELECT has_schema_privilege(n.oid, 'USAGE') FROM pg_namespace n WHERE n.nspname = 'pgonce'")
        && statements.isTrue(MAY_LOOK);
  }

  static List<Finding> find(Statements statements) throws SQLException {
    if (mayLook(statements)) {
      return List.of();
    }
    var held = statements.rows(HELD).column("rolname");
    return List.of(
        new Finding(
            Finding.Severity.ERROR,
            "RIGHTS",
            "the login may not look at channels; of pgonce's roles it has %s"
                .formatted(held.isEmpty() ? "none" : held),
            "Channels and listeners were not examined.",
            "GRANT pgonce_monitor to it: pgonce grants ROLE --to look; a listener needs --to listen."));
  }
}
