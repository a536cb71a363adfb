package org.pgonce.internal.context;

import java.time.Duration;
import org.pgonce.spi.Observer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps an observer's exceptions to itself: what is being watched must not fail because of the
 * watching.
 */
public record SafeObserver(Observer inner) implements Observer {

  private static final Logger LOG = LoggerFactory.getLogger(SafeObserver.class);

  @Override
  public void handled(
      String channel, long id, int attempt, Duration sinceStored, Duration inHandler) {
    tell(() -> inner.handled(channel, id, attempt, sinceStored, inHandler));
  }

  @Override
  public void retried(String channel, long id, int attempt, Duration delay, String reason) {
    tell(() -> inner.retried(channel, id, attempt, delay, reason));
  }

  @Override
  public void skipped(String channel, long id, int attempt) {
    tell(() -> inner.skipped(channel, id, attempt));
  }

  @Override
  public void deadLettered(String channel, long id, int attempt, String reason) {
    tell(() -> inner.deadLettered(channel, id, attempt, reason));
  }

  @Override
  public void broadcastDropped(String channel, String reason) {
    tell(() -> inner.broadcastDropped(channel, reason));
  }

  @Override
  public void paused(String channel, String subscription, String by, String reason) {
    tell(() -> inner.paused(channel, subscription, by, reason));
  }

  @Override
  public void resumed(String channel, String subscription) {
    tell(() -> inner.resumed(channel, subscription));
  }

  @Override
  public void outdated(String channel, String subscription, String difference) {
    tell(() -> inner.outdated(channel, subscription, difference));
  }

  @Override
  public void feedTrouble(String channel, String problem) {
    tell(() -> inner.feedTrouble(channel, problem));
  }

  @Override
  public void upToDate(String channel, String subscription) {
    tell(() -> inner.upToDate(channel, subscription));
  }

  @Override
  public void listening(String source) {
    tell(() -> inner.listening(source));
  }

  @Override
  public void disconnected(String reason) {
    tell(() -> inner.disconnected(reason));
  }

  @Override
  public void databaseTrouble(String channel, String reason) {
    tell(() -> inner.databaseTrouble(channel, reason));
  }

  private static void tell(Runnable event) {
    try {
      event.run();
    } catch (RuntimeException e) {
      LOG.warn("pgonce: the observer threw; it is to be mended, nothing else is affected", e);
    }
  }
}
