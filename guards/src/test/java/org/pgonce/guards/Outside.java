package org.pgonce.guards;

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
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Another system, over HTTP: POST does something and counts it, GET says how often it was done.
 * What is held acts and does not answer.
 */
final class Outside implements AutoCloseable {

  private final HttpServer server;
  private final ExecutorService threads = Executors.newCachedThreadPool();
  private final Map<String, AtomicInteger> calls = new ConcurrentHashMap<>();
  private final Map<String, CountDownLatch> held = new ConcurrentHashMap<>();

  Outside() throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext("/", this::answer);
    server.setExecutor(threads);
    server.start();
  }

  private void answer(HttpExchange exchange) throws IOException {
    try (exchange) {
      var what = exchange.getRequestURI().getPath().substring(1);
      var count = calls.computeIfAbsent(what, path -> new AtomicInteger());
      var done = exchange.getRequestMethod().equals("POST") ? count.incrementAndGet() : count.get();
      held.getOrDefault(what, new CountDownLatch(0)).await();
      var body = (what + " " + done).getBytes(StandardCharsets.UTF_8);
      exchange.sendResponseHeaders(200, body.length);
      exchange.getResponseBody().write(body);
    } catch (InterruptedException closed) {
      Thread.currentThread().interrupt();
    }
  }

  String url() {
    return "http://127.0.0.1:" + server.getAddress().getPort() + "/";
  }

  /** Does it, and returns what was done and how often by now. */
  String call(String what) throws IOException, InterruptedException {
    return call(url(), what);
  }

  static String call(String url, String what) throws IOException, InterruptedException {
    var request =
        HttpRequest.newBuilder(URI.create(url + what))
            .POST(HttpRequest.BodyPublishers.noBody())
            .build();
    return HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString()).body();
  }

  /** How often it was done. */
  int calls(String what) {
    return calls.getOrDefault(what, new AtomicInteger()).get();
  }

  void hold(String what) {
    held.put(what, new CountDownLatch(1));
  }

  void release(String what) {
    held.remove(what).countDown();
  }

  @Override
  public void close() {
    held.values().forEach(CountDownLatch::countDown);
    server.stop(0);
    threads.shutdownNow();
  }
}
