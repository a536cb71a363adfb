package org.pgonce.testkit;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * A TCP proxy on loopback in front of a PostgreSQL server that breaks connections on purpose.
 *
 * <p>It starts by passing everything. Each switch takes effect at once, for the connections that
 * are open and for new ones, until {@link #pass()}. Connections must not use TLS where a trap is to
 * read them. At most {@value #MAX_LINKS} connections are open at a time; more are cut.
 *
 * <p>Safe for use by several threads.
 */
public final class FaultProxy implements AutoCloseable {

  private static final int MAX_LINKS = 256;
  private static final int PORTS_TO_TRY = 5;
  private static final int CONNECT_BOUND_MS = 5_000;

  private final InetSocketAddress target;
  private final int port;
  private final Traffic traffic = new Traffic();
  private final Traps traps = new Traps();
  private final Set<Link> links = ConcurrentHashMap.newKeySet();
  private final ReentrantLock listening = new ReentrantLock();
  private @Nullable Listener listener;

  private FaultProxy(InetSocketAddress target, ServerSocket socket) {
    this.target = target;
    this.port = socket.getLocalPort();
    this.listener = Listener.start(socket, this::connect);
  }

  /** Starts a proxy in front of the given server. */
  public static FaultProxy to(String host, int port) {
    for (var attempt = 1; ; attempt++) {
      try {
        return new FaultProxy(new InetSocketAddress(host, port), bind(FreePort.find()));
      } catch (IOException e) {
        if (attempt == PORTS_TO_TRY) {
          throw new UncheckedIOException(
              "No port for a proxy in %d attempts".formatted(attempt), e);
        }
      }
    }
  }

  /**
   * Starts a proxy in front of the server of the given database; connect with {@link
   * Login#through}.
   */
  public static FaultProxy to(TestDatabase database) {
    return to(database.host(), database.port());
  }

  private static ServerSocket bind(int port) throws IOException {
    var socket = new ServerSocket();
    try {
      socket.setReuseAddress(
          true); // acceptConnections() comes back to a port with connections in TIME_WAIT
      socket.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
      return socket;
    } catch (IOException e) {
      socket.close();
      throw e;
    }
  }

  public String host() {
    return InetAddress.getLoopbackAddress().getHostAddress();
  }

  public int port() {
    return port;
  }

  private void connect(Socket client) throws IOException {
    var server = new Socket();
    var link = new Link(client, server, traffic, traps);
    links.add(link);
    try {
      if (links.size() > MAX_LINKS) {
        throw new IOException("more than " + MAX_LINKS + " connections");
      }
      server.connect(target, CONNECT_BOUND_MS);
      link.start(() -> links.remove(link));
    } catch (IOException e) {
      links.remove(link);
      link.cut();
      throw e;
    }
  }

  /**
   * Everything passes again, and connections are accepted. A connection that lost bytes to {@link
   * #silence} stays silent for good. Traps stay set.
   */
  public void pass() {
    traffic.pass();
    acceptConnections();
  }

  /**
   * Loses all bytes on the given ways, or on both if none is given, and closes nothing: the network
   * is gone and nobody says so.
   */
  public void silence(Direction... ways) {
    traffic.lose(bothIfNone(ways));
  }

  /**
   * Holds all bytes on the given ways, or on both if none is given, until {@link #pass()}: a frozen
   * peer that comes back.
   */
  public void stall(Direction... ways) {
    traffic.hold(bothIfNone(ways));
  }

  private static List<Direction> bothIfNone(Direction... ways) {
    return List.of(ways.length == 0 ? Direction.values() : ways);
  }

  /**
   * Delays every chunk of up to 8 kB, on both ways.
   *
   * @param perChunk at most one minute; zero for none
   */
  public void delay(Duration perChunk) {
    traffic.delay(perChunk);
  }

  /** Passes one byte at a time, each in a packet of its own. */
  public void trickle() {
    traffic.trickle();
  }

  /** Connecting fails with "connection refused"; open connections go on. */
  public void refuseConnections() {
    listening.lock();
    try {
      if (listener != null) {
        listener.close();
        listener = null;
      }
    } finally {
      listening.unlock();
    }
  }

  /** Ends {@link #refuseConnections()}. */
  public void acceptConnections() {
    listening.lock();
    try {
      if (listener == null) {
        listener = Listener.start(bind(port), this::connect);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(
          "The proxy's port %d was taken while it refused connections".formatted(port), e);
    } finally {
      listening.unlock();
    }
  }

  /** Resets every open connection, seen at once by both ends; new ones are accepted. */
  public void cutAll() {
    links.forEach(Link::cut);
  }

  /**
   * Ends every open connection in good order on both sides, as a process does that exits: what an
   * end has received stays readable, then its stream is over. New ones are accepted.
   */
  public void endAll() {
    links.forEach(Link::end);
  }

  /**
   * Resets the connection on which the next statement with the given text comes, instead of passing
   * it on: the server never sees it. Once.
   *
   * @param sql a part of the statement as the driver sends it, such as {@code COMMIT}; prepared
   *     statements count each time they run
   */
  public Trap cutBeforeForwarding(String sql) {
    return after("").cutBeforeForwarding(sql);
  }

  /**
   * Passes the next statement with the given text on, waits until the server has run it, and resets
   * the connection instead of answering. Once.
   */
  public Trap cutAfterForwarding(String sql) {
    return after("").cutAfterForwarding(sql);
  }

  /**
   * Passes the next statement with the given text on and holds the server's answer back until
   * {@link Trap#release()}. Once.
   */
  public Trap holdAnswerTo(String sql) {
    return after("").holdAnswerTo(sql);
  }

  /**
   * Traps for statements that follow another one on the same connection: so the COMMIT of one
   * transaction is told from that of another.
   *
   * @param previous a part of the statement right before
   */
  public After after(String previous) {
    return new After(previous);
  }

  /** Sets traps as the methods of the same names do. */
  public final class After {

    private final String previous;

    private After(String previous) {
      this.previous = previous;
    }

    public Trap cutBeforeForwarding(String sql) {
      return traps.set(previous, sql, Trap.Kind.CUT_BEFORE_FORWARDING);
    }

    public Trap cutAfterForwarding(String sql) {
      return traps.set(previous, sql, Trap.Kind.CUT_AFTER_FORWARDING);
    }

    public Trap holdAnswerTo(String sql) {
      return traps.set(previous, sql, Trap.Kind.HOLD_ANSWER);
    }
  }

  /** Resets every connection and ends the proxy's threads. */
  @Override
  public void close() {
    refuseConnections();
    links.forEach(Link::close);
  }
}
