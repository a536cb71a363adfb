package org.pgonce.internal.wakeup;

import static org.awaitility.Awaitility.await;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;

/** An owner of a {@link Hearing} that writes down what it is told. */
class Witness implements Hearing.Sink {

  private final Heard heard = new Heard();
  private final AtomicInteger listenings = new AtomicInteger();
  private final List<Deafness> deafnesses = new CopyOnWriteArrayList<>();

  @Override
  public void heard(String channel, String payload) {
    heard.heard(channel, payload);
  }

  @Override
  public void listening() {
    listenings.incrementAndGet();
  }

  @Override
  public void deaf(Deafness deafness) {
    deafnesses.add(deafness);
  }

  Heard ears() {
    return heard;
  }

  List<Deafness> deafnesses() {
    return deafnesses;
  }

  int listenings() {
    return listenings.get();
  }

  void awaitListening(int times) {
    awaitListening(times, Heard.BOUND);
  }

  void awaitListening(int times, Duration bound) {
    await("listening for the " + times + ". time, after " + deafnesses)
        .pollInterval(Duration.ofMillis(2))
        .atMost(bound)
        .until(() -> listenings.get() >= times);
  }

  Deafness awaitDeaf(Duration bound) {
    return await("deaf")
        .pollInterval(Duration.ofMillis(2))
        .atMost(bound)
        .until(() -> deafnesses, list -> !list.isEmpty())
        .get(0);
  }
}
