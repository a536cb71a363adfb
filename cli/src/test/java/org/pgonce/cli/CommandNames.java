package org.pgonce.cli;

import java.util.ArrayList;
import java.util.List;
import org.pgonce.cli.terminal.Terminal;
import picocli.CommandLine;

/** All commands that there are. */
final class CommandNames {

  private CommandNames() {}

  static List<String> all() {
    var names = new ArrayList<String>();
    add(new CommandLine(new PgOnceCommand(Terminal.ofProcess())), "", names);
    return names;
  }

  private static void add(CommandLine line, String above, List<String> names) {
    line.getSubcommands()
        .forEach(
            (name, command) -> {
              names.add(above + name);
              add(command, above + name + " ", names);
            });
  }
}
