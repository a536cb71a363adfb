package org.pgonce.cli.act;

import picocli.CommandLine.Command;

/** {@code pgonce.resume}. */
@Command(name = "resume", description = "Ends a pause: what has waited is handled.")
public final class ResumeCommand extends SubscriptionCommand {

  public ResumeCommand() {
    super("resume", "resumed");
  }
}
