package org.pgonce.example.campaign;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * A mail service on loopback that delivers nothing and counts everything. It drops what comes again
 * under a key that it has seen, and can be down. Safe for use by several threads.
 */
final class MailServer implements AutoCloseable {

  private static final int THREADS = 16;

  private final HttpServer http;
  private final ExecutorService threads = Executors.newFixedThreadPool(THREADS);
  private final Map<String, Boolean> keys = new ConcurrentHashMap<>();
  private final Map<String, Received> addresses = new ConcurrentHashMap<>();
  private final LongAdder dropped = new LongAdder();
  private final LongAdder refused = new LongAdder();
  private volatile boolean down;

  /**
   * What an address has got.
   *
   * @param first when the first mail came, by System.nanoTime()
   */
  record Received(int mails, long first) {}

  private MailServer(HttpServer http) {
    this.http = http;
    http.createContext("/", this::answer);
    http.setExecutor(threads);
    http.start();
  }

  static MailServer start() throws IOException {
    // Else its answers wait 40 ms for the client's acknowledgement.
    System.setProperty("sun.net.httpserver.nodelay", "true");
    return new MailServer(
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 128));
  }

  private void answer(HttpExchange exchange) throws IOException {
    try (exchange) {
      var address = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
      var key = exchange.getRequestHeaders().getFirst(MailClient.KEY_HEADER);
      exchange.sendResponseHeaders(receive(key, address), -1);
    }
  }

  private int receive(@Nullable String key, String address) {
    if (down) {
      refused.increment();
      return 503;
    }
    if (key == null) {
      return 400;
    }
    if (keys.putIfAbsent(key, true) != null) {
      dropped.increment();
      return 204;
    }
    addresses.merge(
        address,
        new Received(1, System.nanoTime()),
        (before, now) -> new Received(before.mails() + 1, before.first()));
    return 204;
  }

  URI address() {
    return URI.create("http://127.0.0.1:" + http.getAddress().getPort() + "/mails");
  }

  /** From now on it answers 503, or no longer. */
  void setDown(boolean down) {
    this.down = down;
  }

  boolean isDown() {
    return down;
  }

  /** What the address has got; null if nothing. */
  @Nullable Received of(String address) {
    return addresses.get(address);
  }

  /** Addresses that have got a mail. */
  long delivered() {
    return addresses.size();
  }

  /** Mails beyond the first of their address, under whatever key. */
  long twice() {
    return addresses.values().stream().mapToLong(received -> received.mails() - 1).sum();
  }

  /** Calls that came again under their key. */
  long dropped() {
    return dropped.sum();
  }

  /** Calls while it was down. */
  long refused() {
    return refused.sum();
  }

  @Override
  public void close() {
    http.stop(0);
    threads.shutdownNow();
  }
}
