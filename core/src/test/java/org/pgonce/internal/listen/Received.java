package org.pgonce.internal.listen;

import static org.awaitility.Awaitility.await;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.pgonce.spi.WakeUpSource;

/** Collects what a callback gets, on whatever thread it comes. */
final class Received implements WakeUpSource.Callback {

  record Message(String channel, String payload) {}

  static final Duration BOUND = Duration.ofSeconds(20);

  private final List<Message> messages = new CopyOnWriteArrayList<>();
  private final List<String> losses = new CopyOnWriteArrayList<>();

  @Override
  public void notified(String channel, String payload) {
    messages.add(new Message(channel, payload));
  }

  @Override
  public void lost(String reason) {
    losses.add(reason);
  }

  List<Message> messages() {
    return messages;
  }

  List<String> payloads(String channel) {
    return messages.stream()
        .filter(message -> message.channel().equals(channel))
        .map(Message::payload)
        .toList();
  }

  List<String> losses() {
    return losses;
  }

  void awaitMessage(String channel, String payload) {
    await("NOTIFY on " + channel)
        .pollInterval(Duration.ofMillis(2))
        .atMost(BOUND)
        .until(() -> messages.contains(new Message(channel, payload)));
  }
}
