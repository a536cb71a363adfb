package org.pgonce.cli.act;

import picocli.CommandLine.Command;

/** {@code pgonce.redrive}. */
@Command(
    name = "redrive",
    description =
        "Gives dead letters another life: due now, with their attempts counted from zero.")
public final class RedriveCommand extends DeadLetterCommand {

  public RedriveCommand() {
    super("redrive", "redriven");
  }
}
