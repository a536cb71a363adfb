package org.pgonce.cli.console;

import java.io.IOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import org.jspecify.annotations.Nullable;
import org.pgonce.cli.database.DatabaseCommand;
import org.pgonce.cli.terminal.ExitStatus;
import org.pgonce.cli.terminal.FailedException;
import org.pgonce.cli.terminal.UsageException;
import org.pgonce.console.Console;
import org.pgonce.console.ConsoleServer;
import org.pgonce.operations.internal.sql.Database;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** Serves the console's pages until Ctrl-C. */
@Command(
    name = "console",
    description = {
      "Pages for a browser: what waits, why, and what can be done about it; until Ctrl-C.",
      "For reading only, unless --operate is given and the role may act. With --operate, or on another address than the machine's own, a browser brings the token that is printed."
    })
public final class ConsoleCommand extends DatabaseCommand {

  // Longer than a page's statements take. A connection that is lost must not hold a page for long.
  private static final int ANSWER_SECONDS = 10;

  @Option(
      names = "--port",
      paramLabel = "PORT",
      defaultValue = "8080",
      description = "0: any that is free. Default: 8080")
  private int port = 8_080;

  @Option(
      names = "--address",
      paramLabel = "ADDRESS",
      description = "Where it listens. Default: 127.0.0.1, which only this machine reaches")
  private @Nullable String address;

  @Option(
      names = "--name",
      paramLabel = "HOST",
      description = "A name by which browsers call it, beside localhost and addresses")
  private List<String> names = List.of();

  @Option(names = "--operate", description = "With what can be done, if the role may")
  private boolean operate;

  @Option(
      names = "--by",
      paramLabel = "PERSON",
      description =
          "Who does it, for the operation log. Default: PGONCE_OPERATOR, else the system's user")
  private @Nullable String by;

  @Override
  protected int run(Database database) throws InterruptedException {
    database.close(); // it has shown that there is one; each page takes its own
    if (port < 0 || port > 65_535) {
      throw new UsageException("--port is " + port + ": 0 to 65,535");
    }
    var source = connection.dataSource(terminal());
    source.setApplicationName("pgonce console");
    source.setSocketTimeout(ANSWER_SECONDS);
    var options = new ConsoleServer.Options(where(), port, new HashSet<>(names), operate, person());
    try (var server =
        ConsoleServer.start(Console.of(source, operate, ConsoleServer.AT_ONCE), options)) {
      output.print(terminal(), Map.of("url", server.url()), server.url());
      terminal().out().flush();
      new CountDownLatch(1).await(); // until Ctrl-C interrupts it
    } catch (IOException e) {
      throw new FailedException(
          "the console cannot listen at %s, port %d: %s. Give another --port or --address"
              .formatted(options.address().getHostAddress(), port, e.getMessage()),
          e);
    }
    return ExitStatus.DONE;
  }

  private String person() {
    return by != null
        ? by
        : Objects.requireNonNullElse(
            terminal().variable("PGONCE_OPERATOR"), System.getProperty("user.name"));
  }

  private InetAddress where() {
    try {
      return InetAddress.getByName(address == null ? "127.0.0.1" : address);
    } catch (UnknownHostException e) {
      throw new UsageException("--address " + address + " is no address of this machine", e);
    }
  }
}
