package org.pgonce.testkit;

import java.io.IOException;
import java.net.Socket;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * One client connection through a {@link FaultProxy}: two sockets and the two threads between them.
 */
final class Link implements AutoCloseable {

  private static final int BOUND_MS = 5_000;

  private final Socket client;
  private final Socket server;
  private final List<Thread> threads;
  private final AtomicReference<@Nullable Trap> answerTrap = new AtomicReference<>();
  private final AtomicInteger pumping = new AtomicInteger(2);
  private volatile Runnable whenOver = () -> {};

  Link(Socket client, Socket server, Traffic traffic, Traps traps) {
    this.client = client;
    this.server = server;
    this.threads =
        List.of(
            thread(
                Direction.TO_SERVER,
                () ->
                    new Pump(this, Direction.TO_SERVER, traffic, new ClientMessages(this, traps))
                        .run(client, server)),
            thread(
                Direction.TO_CLIENT,
                () ->
                    new Pump(this, Direction.TO_CLIENT, traffic, new ServerAnswers(this))
                        .run(server, client)));
  }

  private Thread thread(Direction way, Runnable pump) {
    var thread =
        new Thread(
            () -> {
              try {
                pump.run();
              } catch (RuntimeException e) {
                cut(); // a link with one dead thread would look like a fault that nobody asked for
                throw e;
              }
              if (pumping.decrementAndGet() == 0) {
                cut();
              }
            },
            "fault-proxy-" + way);
    thread.setDaemon(true);
    return thread;
  }

  void start(Runnable whenOver) throws IOException {
    this.whenOver = whenOver;
    client.setTcpNoDelay(true);
    server.setTcpNoDelay(true);
    threads.forEach(Thread::start);
  }

  /** The answer to what goes to the server next belongs to this trap. */
  void trapNextAnswer(Trap trap) {
    answerTrap.set(trap);
  }

  AtomicReference<@Nullable Trap> answerTrap() {
    return answerTrap;
  }

  /** Resets both connections and wakes both threads. */
  void cut() {
    reset(client);
    reset(server);
    threads.forEach(Thread::interrupt);
    whenOver.run();
  }

  /** Ends both connections in good order; whatever is held back is lost. */
  void end() {
    end(client);
    end(server);
  }

  private static void end(Socket socket) {
    try {
      socket.shutdownOutput();
    } catch (IOException e) {
      // Ended already.
    }
  }

  private static void reset(Socket socket) {
    try {
      socket.setSoLinger(true, 0); // makes close() a reset
    } catch (IOException e) {
      // Closed already.
    }
    try {
      socket.close();
    } catch (IOException e) {
      // It is gone, which is what was wanted.
    }
  }

  /** Cuts, and waits for the threads. */
  @Override
  public void close() {
    cut();
    try {
      for (var thread : threads) {
        thread.join(BOUND_MS);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt(); // they end by themselves: their sockets are closed
    }
  }
}
