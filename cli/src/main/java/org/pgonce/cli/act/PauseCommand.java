package org.pgonce.cli.act;

import picocli.CommandLine.Command;

/** {@code pgonce.pause}. */
@Command(
    name = "pause",
    description =
        "Stops all claims of a channel until it is resumed, restarts included; what is at work finishes.")
public final class PauseCommand extends SubscriptionCommand {

  public PauseCommand() {
    super("pause", "paused");
  }
}
