package org.pgonce.example.scenario;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.UnaryOperator;

/**
 * Another system over HTTP, on loopback. It acts at each POST; at a PUT only if the path is new to
 * it, as a system that takes idempotency keys does. GET only looks.
 */
final class Outside implements AutoCloseable {

  private static final HttpClient HTTP = HttpClient.newHttpClient();

  private final HttpServer server;
  private final ExecutorService threads = Executors.newCachedThreadPool();
  private final Map<String, AtomicInteger> calls = new ConcurrentHashMap<>();
  private final Map<String, AtomicInteger> effects = new ConcurrentHashMap<>();
  private final Map<String, CountDownLatch> held = new ConcurrentHashMap<>();
  private final Set<String> dropped = ConcurrentHashMap.newKeySet();
  private volatile UnaryOperator<String> answer = path -> "done";

  Outside() throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 128);
    server.createContext("/", this::handle);
    server.setExecutor(threads);
    server.start();
  }

  private void handle(HttpExchange exchange) throws IOException {
    try (exchange) {
      var path = exchange.getRequestURI().getPath();
      if (!exchange.getRequestMethod().equals("GET")) {
        var call = count(calls, path);
        if (exchange.getRequestMethod().equals("POST") || call == 1) {
          var unused = count(effects, path);
        }
        var hold = held.get(path);
        if (hold != null) {
          hold.await();
        }
      }
      if (dropped.remove(path)) {
        return; // closed without an answer
      }
      var body = answer.apply(path).getBytes(StandardCharsets.UTF_8);
      exchange.sendResponseHeaders(200, body.length);
      exchange.getResponseBody().write(body);
    } catch (InterruptedException closed) {
      Thread.currentThread().interrupt();
    }
  }

  private static int count(Map<String, AtomicInteger> counts, String path) {
    return counts.computeIfAbsent(path, unused -> new AtomicInteger()).incrementAndGet();
  }

  private static int of(Map<String, AtomicInteger> counts, String path) {
    return counts.getOrDefault(path, new AtomicInteger()).get();
  }

  /** A request with a time limit, and the text of its answer. */
  static String send(String method, String url) throws IOException, InterruptedException {
    var request =
        HttpRequest.newBuilder(URI.create(url))
            .method(method, HttpRequest.BodyPublishers.noBody())
            .timeout(Duration.ofSeconds(20))
            .build();
    return HTTP.send(request, HttpResponse.BodyHandlers.ofString()).body();
  }

  String url() {
    return "http://127.0.0.1:" + server.getAddress().getPort();
  }

  /** What it answers from now on. */
  void answers(UnaryOperator<String> byPath) {
    answer = byPath;
  }

  /** It acts on this path and does not answer before the release. */
  void hold(String path) {
    held.put(path, new CountDownLatch(1));
  }

  void release(String path) {
    var hold = held.remove(path);
    if (hold != null) {
      hold.countDown();
    }
  }

  /** It acts on this path and drops the answer, once. */
  void dropAnswerOf(String path) {
    dropped.add(path);
  }

  int calls(String path) {
    return of(calls, path);
  }

  int effects(String path) {
    return of(effects, path);
  }

  /** Of all paths. */
  int calls() {
    return calls.values().stream().mapToInt(AtomicInteger::get).sum();
  }

  /** How many paths were called. */
  int paths() {
    return calls.size();
  }

  /** Of all paths. */
  int effects() {
    return effects.values().stream().mapToInt(AtomicInteger::get).sum();
  }

  @Override
  public void close() {
    held.values().forEach(CountDownLatch::countDown);
    server.stop(0);
    threads.shutdownNow();
  }
}
