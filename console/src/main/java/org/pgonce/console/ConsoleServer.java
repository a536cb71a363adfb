package org.pgonce.console;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Clock;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.pgonce.console.internal.page.Words;
import org.pgonce.console.internal.web.Hosts;
import org.pgonce.console.internal.web.Sessions;
import org.pgonce.console.internal.web.UrlEncoded;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The console on the JDK's HTTP server, for the command line.
 *
 * <p>On a loopback address everyone on the machine may look, with the rights of the console's own
 * database role, unless {@link Options} asks for a token. On any other address a browser brings a
 * token once, which is in {@link #url}. It speaks HTTP without TLS: beyond the machine put a proxy
 * or a tunnel in front.
 *
 * <p>Bounds: 200 connections, each with a thread while a request arrives or is answered, 8 pages at
 * once (others wait 2 s, then 503), 64 KiB of body, 10 s for a request to arrive. Those of time and
 * connections are the JDK's, by its system properties ({@code sun.net.httpserver.maxReqTime},
 * {@code jdk.httpserver.maxConnections}), which are set here where nobody has set them, and are of
 * the whole JVM.
 */
public final class ConsoleServer implements AutoCloseable {

  private static final Logger LOG = LoggerFactory.getLogger(ConsoleServer.class);

  private static final int CONNECTIONS = 200;
  private static final int IDLE_SECONDS = 30;

  /** Pages at once, for {@link Console#of}. */
  public static final int AT_ONCE = 8;

  private static final int LONGEST_BODY = 64 << 10;
  private static final int STOP_SECONDS = 1;

  static {
    // Read once by the JDK, when its first server is made.
    Map.of(
            "sun.net.httpserver.maxReqTime", "10",
            "sun.net.httpserver.maxRspTime", "60",
            "sun.net.httpserver.idleInterval", "30",
            "jdk.httpserver.maxConnections", String.valueOf(CONNECTIONS))
        .forEach(System.getProperties()::putIfAbsent);
  }

  /**
   * Where it listens, and for whom.
   *
   * @param address loopback, or not: then a token is asked for, and so it is where there are names
   * @param port 0 for any that is free
   * @param names by which browsers may call it, beside {@code localhost} and addresses
   * @param withToken whether a token is asked for on this machine too: whoever has an account there
   *     would act with the rights of the console's database role
   * @param person stands in the operation log; null: the database's role alone
   */
  public record Options(
      InetAddress address,
      int port,
      Set<String> names,
      boolean withToken,
      @Nullable String person) {

    public Options {
      Objects.requireNonNull(address, "address");
      names = Set.copyOf(names);
    }

    /** Where a name is given, a proxy may let others in. */
    private boolean asksForToken() {
      return withToken || !address.isLoopbackAddress() || !names.isEmpty();
    }
  }

  private final HttpServer server;
  private final ThreadPoolExecutor threads;
  private final Gate gate;
  private final Options options;

  private ConsoleServer(HttpServer server, Gate gate, Options options) {
    this.server = server;
    this.gate = gate;
    this.options = options;
    var count = new AtomicInteger();
    // One for each connection: a request that does not arrive holds its thread for 10 s.
    this.threads =
        new ThreadPoolExecutor(
            CONNECTIONS,
            CONNECTIONS,
            IDLE_SECONDS,
            TimeUnit.SECONDS,
            new LinkedBlockingQueue<>(),
            task -> {
              var thread = new Thread(task, "pgonce-console-" + count.incrementAndGet());
              thread.setDaemon(true);
              return thread;
            });
    threads.allowCoreThreadTimeOut(true);
  }

  /**
   * Begins to answer. The caller closes it.
   *
   * @throws IOException if the port is in use, or the address is none of this machine's
   */
  public static ConsoleServer start(Console console, Options options) throws IOException {
    var server = HttpServer.create(new InetSocketAddress(options.address(), options.port()), 50);
    var sessions = new Sessions(Clock.systemUTC());
    var names = new HashSet<String>();
    names.add("localhost");
    options.names().forEach(name -> names.add(name.toLowerCase(Locale.ROOT)));
    var started =
        new ConsoleServer(
            server,
            new Gate(
                console,
                new Hosts(names),
                sessions,
                options.asksForToken() ? sessions.newToken() : null,
                "pgonce_console_" + server.getAddress().getPort(),
                options.person()),
            options);
    server.setExecutor(started.threads);
    server.createContext("/", started::handle);
    server.start();
    return started;
  }

  public int port() {
    return server.getAddress().getPort();
  }

  /** To be opened in a browser; with the token, where one is asked for. */
  public String url() {
    var address = options.address();
    var host =
        address.isAnyLocalAddress()
            ? options.names().stream().findFirst().orElse("localhost")
            : address.getHostAddress();
    var token = gate.token();
    return "http://%s:%s/%s"
        .formatted(
            host.contains(":") ? "[" + host + "]" : host,
            port(),
            token == null ? "" : "?token=" + token);
  }

  /** For tests: what a form of this session would bring. */
  String csrfToken(String cookie) {
    var session = gate.sessions().of(cookie.substring(cookie.indexOf('=') + 1));
    return gate.sessions().csrfToken(String.valueOf(session));
  }

  /** For tests: the next page looks anew. */
  void forget() {
    gate.console().forget();
  }

  private void handle(HttpExchange exchange) throws IOException {
    try (exchange) {
      send(exchange, answered(exchange));
    }
  }

  private Response answered(HttpExchange exchange) throws IOException {
    try {
      var head = request(exchange, Map.of());
      var refused = gate.refusal(head);
      if (refused != null || !head.isPost()) {
        return refused != null ? refused : gate.answer(head);
      }
      var body = exchange.getRequestBody().readNBytes(LONGEST_BODY + 1);
      return body.length > LONGEST_BODY
          ? Response.text(413, "At most %s bytes\n".formatted(Words.count(LONGEST_BODY)))
          : gate.answer(request(exchange, form(exchange, body)));
    } catch (IllegalArgumentException e) {
      return Response.text(400, "The request cannot be read\n");
    } catch (RuntimeException e) {
      LOG.error("pgonce console: a request failed", e);
      return Response.text(500, "This is a bug; the console's log says more\n");
    }
  }

  private static Request request(HttpExchange exchange, Map<String, List<String>> form) {
    var uri = exchange.getRequestURI();
    return Request.of(
        "",
        exchange.getRequestMethod(),
        uri.getRawPath(),
        uri.getRawQuery(),
        form,
        exchange.getRequestHeaders());
  }

  private static Map<String, List<String>> form(HttpExchange exchange, byte[] body) {
    var type = exchange.getRequestHeaders().getFirst("Content-Type");
    return type != null && type.startsWith("application/x-www-form-urlencoded")
        ? UrlEncoded.parameters(new String(body, StandardCharsets.UTF_8))
        : Map.of();
  }

  private static void send(HttpExchange exchange, Response response) throws IOException {
    response.headers().forEach(exchange.getResponseHeaders()::set);
    var body = response.body().getBytes(StandardCharsets.UTF_8);
    if (exchange.getRequestMethod().equals("HEAD") || body.length == 0) {
      exchange.sendResponseHeaders(response.status(), -1);
    } else {
      exchange.sendResponseHeaders(response.status(), body.length);
      exchange.getResponseBody().write(body);
    }
  }

  /** Requests that run have a second to end. Returns when the port is free. */
  @Override
  public void close() {
    // The JDK waits the whole time where there is no request, too.
    server.stop(threads.getActiveCount() > 0 ? STOP_SECONDS : 0);
    threads.shutdownNow();
  }
}
