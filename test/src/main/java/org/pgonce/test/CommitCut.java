package org.pgonce.test;

import java.io.BufferedInputStream;
import java.io.Closeable;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.sql.SQLException;
import java.util.Arrays;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.pgonce.PgOnceException;
import org.pgonce.internal.concurrent.Threads;
import org.pgonce.internal.listen.ListenAddresses;
import org.pgonce.internal.listen.ListenFailure;
import org.pgonce.spi.ListenAddress;
import org.postgresql.PGProperty;
import org.postgresql.ds.PGSimpleDataSource;

/**
 * A proxy before the server that cuts a connection behind a commit: the server has committed, and
 * the client does not learn it. Two threads per connection, which end with it.
 */
final class CommitCut implements Closeable {

  // CommandComplete of a COMMIT, behind its length. A transaction that has failed says ROLLBACK.
  private static final int COMMAND_COMPLETE = 'C';
  private static final byte[] COMMITTED = "COMMIT\0".getBytes(StandardCharsets.US_ASCII);

  private enum State {
    PASSES,
    CUTS_NEXT,
    HAS_CUT
  }

  private final ListenAddress server;
  private final ServerSocket accepting;
  private final Set<Socket> open = ConcurrentHashMap.newKeySet();
  private final AtomicInteger count = new AtomicInteger();
  private State state = State.PASSES;

  private CommitCut(ListenAddress server) throws IOException {
    this.server = server;
    this.accepting = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    start("accept", this::accept);
  }

  /**
   * Before the server that the data source connects to.
   *
   * @throws PgOnceException if it does not say where that is
   */
  static CommitCut before(DataSource dataSource) {
    try {
      return new CommitCut(ListenAddresses.of(dataSource).get(0));
    } catch (ListenFailure e) {
      throw new PgOnceException(
          "loseCommitAnswer needs the server's address, and the DataSource %s does not give it: use PgOnceTester.on with HikariCP, or a PGSimpleDataSource"
              .formatted(dataSource.getClass().getName()),
          e);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Connects through this, as the original does but without encryption, which this cannot read. */
  DataSource dataSource() {
    var source = new PGSimpleDataSource();
    try {
      for (var property : server.properties().entrySet()) {
        if (!property.getKey().startsWith("ssl")) {
          source.setProperty(property.getKey(), property.getValue());
        }
      }
      source.setProperty(PGProperty.SSL_MODE, "disable");
      source.setProperty(PGProperty.GSS_ENC_MODE, "disable");
    } catch (SQLException e) {
      throw new PgOnceException("pgjdbc does not take the settings of the DataSource", e);
    }
    source.setServerNames(new String[] {accepting.getInetAddress().getHostAddress()});
    source.setPortNumbers(new int[] {accepting.getLocalPort()});
    source.setDatabaseName(server.database());
    source.setUser(server.user());
    source.setPassword(server.password());
    return source;
  }

  /** The next commit of any connection through this is the last that its client sends. */
  synchronized void cutNextCommit() {
    state = State.CUTS_NEXT;
  }

  synchronized boolean hasCut() {
    return state == State.HAS_CUT;
  }

  private synchronized boolean cuts(int type, byte[] body) {
    var cuts =
        state == State.CUTS_NEXT && type == COMMAND_COMPLETE && Arrays.equals(body, COMMITTED);
    if (cuts) {
      state = State.HAS_CUT;
    }
    return cuts;
  }

  private void accept() throws IOException {
    while (true) {
      var client = accepting.accept();
      open.add(client);
      var behind = behind(client);
      if (behind == null) {
        continue;
      }
      open.add(behind);
      client.setTcpNoDelay(true);
      behind.setTcpNoDelay(true);
      start("sends", () -> pump(client, behind, CommitCut::copy));
      start("answers", () -> pump(client, behind, (from, to) -> copyMessages(to, from)));
    }
  }

  /** Null where none can be had: then the client is told, which has no bound for its wait. */
  private @Nullable Socket behind(Socket client) throws IOException {
    try {
      return new Socket(server.host(), server.port());
    } catch (IOException e) {
      open.remove(client);
      client.close();
      return null;
    }
  }

  @FunctionalInterface
  private interface Work {
    void run() throws IOException;
  }

  @FunctionalInterface
  private interface Copy {
    void between(Socket client, Socket behind) throws IOException;
  }

  private void start(String what, Work work) {
    Threads.daemon(
            "pgonce-test-%s-%s".formatted(what, count.incrementAndGet()),
            () -> {
              try {
                work.run();
              } catch (EOFException | SocketException ended) {
                // as connections end
              } catch (IOException e) {
                throw new UncheckedIOException(e);
              }
            })
        .start();
  }

  private void pump(Socket client, Socket behind, Copy copy) throws IOException {
    try (client;
        behind) {
      copy.between(client, behind);
    } finally {
      open.remove(client);
      open.remove(behind);
    }
  }

  private static void copy(Socket from, Socket to) throws IOException {
    from.getInputStream().transferTo(to.getOutputStream());
  }

  /** What the server says is a type, a length, and the rest. */
  private void copyMessages(Socket from, Socket to) throws IOException {
    InputStream raw = new BufferedInputStream(from.getInputStream());
    var messages = new DataInputStream(raw);
    OutputStream out = to.getOutputStream();
    while (true) {
      var type = messages.readUnsignedByte();
      var length = messages.readInt();
      var body = messages.readNBytes(length - Integer.BYTES);
      if (cuts(type, body)) {
        return;
      }
      var whole = ByteBuffer.allocate(1 + length);
      whole.put((byte) type).putInt(length).put(body);
      out.write(whole.array());
    }
  }

  @Override
  public void close() throws IOException {
    accepting.close();
    for (var socket : open) {
      socket.close();
    }
  }
}
