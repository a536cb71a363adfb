package org.pgonce.testkit;

import java.io.IOException;
import java.io.OutputStream;
import java.net.Socket;
import java.util.Arrays;

/** Carries bytes one way, as {@link Traffic} rules. */
final class Pump {

  private static final int CHUNK = 8_192;

  /** What else happens to the chunks of one way. */
  interface Inspection {
    /** Says what of the chunk goes on; it may hold back, wait, or cut the link. */
    byte[] inspect(byte[] chunk) throws InterruptedException;

    /** The sender has ended the connection. */
    void ended();
  }

  private final Link link;
  private final Direction way;
  private final Traffic traffic;
  private final Inspection inspection;
  private boolean lost;

  Pump(Link link, Direction way, Traffic traffic, Inspection inspection) {
    this.link = link;
    this.way = way;
    this.traffic = traffic;
    this.inspection = inspection;
  }

  void run(Socket from, Socket to) {
    try {
      var buffer = new byte[CHUNK];
      int read;
      while ((read = from.getInputStream().read(buffer)) >= 0) {
        if (admitted()) {
          write(inspection.inspect(Arrays.copyOf(buffer, read)), to.getOutputStream());
        }
      }
      if (admitted()) {
        inspection.ended();
        to.shutdownOutput();
      }
    } catch (IOException reset) {
      cutUnlessLost();
    } catch (InterruptedException e) {
      link.cut(); // somebody cuts or closes this link: its threads are interrupted for nothing else
    }
  }

  /**
   * A stream with a hole in it never goes on: the peer would read the rest as garbage, which no
   * real network does.
   */
  private boolean admitted() throws InterruptedException {
    lost = lost || !traffic.admit(way);
    return !lost;
  }

  private void cutUnlessLost() {
    try {
      if (admitted()) {
        link.cut();
      }
    } catch (InterruptedException e) {
      link.cut();
    }
  }

  private void write(byte[] bytes, OutputStream out) throws IOException {
    if (!traffic.isTrickling()) {
      out.write(bytes);
      return;
    }
    for (var one : bytes) {
      out.write(one); // TCP_NODELAY: each is a packet of its own
    }
  }
}
