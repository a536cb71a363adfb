package org.pgonce.cli.schema;

import picocli.CommandLine.Command;

/** The schema pgonce. Channels of triggers are defined in Java, and migrated there. */
@Command(
    name = "migrate",
    description = {
      "The schema pgonce: print it, check it, bring it up to date, take it away.",
      "Channels are defined in your code: Triggers.migration prints those, Triggers.check and the start of a listener check them."
    },
    subcommands = {
      MigratePrintCommand.class,
      MigrateCheckCommand.class,
      MigrateApplyCommand.class,
      MigrateDownCommand.class
    })
public final class MigrateCommand {}
