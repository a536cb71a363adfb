package org.pgonce.internal.listen;

import static org.awaitility.Awaitility.await;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;

/** An owner of a {@link NotificationListener} that writes down what it is told. */
class Witness implements NotificationListener.Callback {

  private final Received received = new Received();
  private final AtomicInteger listenings = new AtomicInteger();
  private final List<ListenFailure> failures = new CopyOnWriteArrayList<>();

  @Override
  public void notified(String channel, String payload) {
    received.notified(channel, payload);
  }

  @Override
  public void listening() {
    listenings.incrementAndGet();
  }

  @Override
  public void disconnected(ListenFailure failure) {
    failures.add(failure);
  }

  Received received() {
    return received;
  }

  List<ListenFailure> failures() {
    return failures;
  }

  int listenings() {
    return listenings.get();
  }

  void awaitListening(int times) {
    awaitListening(times, Received.BOUND);
  }

  void awaitListening(int times, Duration bound) {
    await("listening for the " + times + ". time, after " + failures)
        .pollInterval(Duration.ofMillis(2))
        .atMost(bound)
        .until(() -> listenings.get() >= times);
  }

  ListenFailure awaitDisconnected(Duration bound) {
    return await("disconnected")
        .pollInterval(Duration.ofMillis(2))
        .atMost(bound)
        .until(() -> failures, list -> !list.isEmpty())
        .get(0);
  }
}
