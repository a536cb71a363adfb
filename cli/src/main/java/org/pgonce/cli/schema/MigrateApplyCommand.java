package org.pgonce.cli.schema;

import org.pgonce.operations.internal.doctor.SchemaState;
import org.pgonce.triggers.Migration;
import picocli.CommandLine.Command;

/** Installs the schema, brings it up to date, or gives it back its owners and rights. */
@Command(
    name = "apply",
    description = {
      "Installs the schema, or brings it up to date. The database records who and when, in pgonce.schema_version.",
      "The login may create schemas and roles, or is a member of pgonce_owner where the roles are there."
    })
public final class MigrateApplyCommand extends SchemaChange {

  @Override
  boolean mustRun(SchemaState before) {
    return !before.problems().isEmpty();
  }

  @Override
  String script() {
    return Migration.ofSchema().up();
  }

  @Override
  String done() {
    return "schema pgonce is installed, in the version of this command line";
  }
}
