package org.pgonce.cli.act;

import picocli.CommandLine.Command;

/** {@code pgonce.discard}. */
@Command(name = "discard", description = "Deletes dead letters for good.")
public final class DiscardCommand extends DeadLetterCommand {

  public DiscardCommand() {
    super("discard", "discarded");
  }
}
