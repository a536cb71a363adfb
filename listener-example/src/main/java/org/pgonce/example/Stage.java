package org.pgonce.example;

import org.pgonce.Mode;

/**
 * What a run plays on: a server, a database of its own, listener processes, writers. All of it goes
 * when this is closed or the JVM is told to end.
 */
final class Stage implements AutoCloseable {

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

  static Stage open(ServerOptions options, Console console) {
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

  Console console() {
    return console;
  }

  ExampleServer server() {
    return server;
  }

  DatabaseAddress address() {
    return database.address();
  }

  /** Listener processes, none of them started. */
  Listeners listeners(Mode mode, ListenerOptions options) {
    var kind = new ListenerProcess.Kind(database.address(), mode, options.concurrency());
    return cleanup.add(new Listeners(kind, console));
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
