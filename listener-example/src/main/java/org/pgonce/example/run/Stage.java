package org.pgonce.example.run;

import java.util.List;
import org.pgonce.Mode;
import org.pgonce.testkit.Cleanup;

/**
 * What a run plays on: a server, a database of its own, listener processes, writers. All of it goes
 * when this is closed or the JVM is told to end.
 */
public final class Stage implements AutoCloseable {

  private final Cleanup cleanup;
  private final Console console;
  private final ExampleServer server;
  private final ExampleDatabase database;

  private Stage(Cleanup cleanup, ServerOptions options, Console console) {
    this.cleanup = cleanup;
    this.console = console;
    cleanup.add(this::sayIfEndedBySignal);
    this.server = cleanup.add(ExampleServer.start(options));
    console.tell("server       " + server);
    this.database = cleanup.add(ExampleDatabase.create(server, options.keep));
    if (!server.isEmbedded()) {
      console.tell(
          "database     " + database.name() + (options.keep ? ", kept" : ", dropped in the end"));
    }
  }

  public static Stage open(ServerOptions options, Console console) {
    var cleanup = new Cleanup();
    try {
      return new Stage(cleanup, options, console);
    } catch (RuntimeException e) {
      cleanup.close();
      throw e;
    }
  }

  /** Closed last, when all the rest is gone. */
  private void sayIfEndedBySignal() {
    if (Cleanup.jvmEnds()) {
      console.end("ended by a signal; its listeners and its database are gone");
    }
  }

  public Console console() {
    return console;
  }

  ExampleServer server() {
    return server;
  }

  public DatabaseAddress address() {
    return database.address();
  }

  /** Listener processes, none of them started. */
  Listeners listeners(Mode mode, ListenerOptions options) {
    return listeners(ListenerMain.class, mode.name(), Integer.toString(options.concurrency()));
  }

  /**
   * Listener processes of another kind, none of them started.
   *
   * @param main as {@link ListenerMain}: it gets its name and these arguments
   */
  public Listeners listeners(Class<?> main, String... arguments) {
    var kind = new ListenerProcess.Kind(database.address(), main, List.of(arguments));
    return cleanup.add(new Listeners(kind, console));
  }

  /** Gives it back before the rest of the stage. */
  public <T extends AutoCloseable> T add(T resource) {
    return cleanup.add(resource);
  }

  Writers writers(Writers.Plan plan) {
    return cleanup.add(new Writers(database.address(), plan));
  }

  Tally tally(Mode mode) {
    return cleanup.add(new Tally(database.address(), mode == Mode.BROADCAST ? "heard" : "post"));
  }

  @Override
  public void close() {
    cleanup.close();
  }
}
