package org.pgonce.testkit;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.ServerSocket;
import java.net.Socket;

/** The thread that accepts connections for a {@link FaultProxy} as long as it is not closed. */
final class Listener implements AutoCloseable {

  private static final int BOUND_MS = 10_000;

  /** What is done with an accepted connection. */
  interface Acceptance {
    void accept(Socket client) throws IOException;
  }

  private final ServerSocket socket;
  private final Thread thread;

  private Listener(ServerSocket socket, Acceptance acceptance) {
    this.socket = socket;
    this.thread = new Thread(() -> run(acceptance), "fault-proxy-" + socket.getLocalPort());
    thread.setDaemon(true);
  }

  static Listener start(ServerSocket socket, Acceptance acceptance) {
    var listener = new Listener(socket, acceptance);
    listener.thread.start();
    return listener;
  }

  private void run(Acceptance acceptance) {
    while (!socket.isClosed()) {
      try {
        acceptance.accept(socket.accept());
      } catch (IOException e) {
        // Either closed, which ends the loop, or the server is down, which the client has been told
        // by a reset.
      }
    }
  }

  @Override
  public void close() {
    try {
      socket.close();
      thread.join(BOUND_MS);
    } catch (IOException e) {
      throw new UncheckedIOException("Cannot close the proxy's port " + socket.getLocalPort(), e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt(); // the thread ends by itself: its socket is closed
    }
  }
}
