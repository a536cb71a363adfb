package org.pgonce.example.run;

import java.io.IOException;
import java.net.InetAddress;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.pgonce.console.ConsoleServer;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Whether a run can be watched in a browser, on pgonce's own pages. */
public final class PagesOption {

  private static final int ANSWER_SECONDS = 10;

  @Spec(Spec.Target.MIXEE)
  private @Nullable CommandSpec spec;

  private @Nullable Integer port;

  @Option(
      names = "--console",
      paramLabel = "<port>",
      arity = "0..1",
      fallbackValue = "0",
      description =
          "Serve pgonce's console on 127.0.0.1 until the run ends, for reading, and print its address. Without a port, or with 0, on one that is free.")
  void port(int value) {
    port = Bounds.require(spec, "--console", value, 0, 65_535);
  }

  /** Serves the pages where they are wanted; closed with the stage. */
  void open(Stage stage) {
    if (port == null) {
      return;
    }
    var source = stage.address().dataSource();
    source.setApplicationName("pgonce console");
    source.setSocketTimeout(ANSWER_SECONDS);
    var options =
        new ConsoleServer.Options(InetAddress.getLoopbackAddress(), port, Set.of(), false, null);
    try {
      var server =
          stage.add(
              ConsoleServer.start(
                  org.pgonce.console.Console.of(source, false, ConsoleServer.AT_ONCE), options));
      // Though only the result is wanted: nobody would find it.
      stage.console().say("console      " + server.url());
    } catch (IOException e) {
      throw new CannotRunException(
          "the console cannot listen at port %d: %s. Give another --console, or none, for a port that is free"
              .formatted(port, e.getMessage()),
          e);
    }
  }
}
