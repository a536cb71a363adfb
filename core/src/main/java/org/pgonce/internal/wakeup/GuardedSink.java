package org.pgonce.internal.wakeup;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** An owner's mistake must not end the thread that hears, nor a thread of the driver. */
record GuardedSink(Hearing.Sink sink) implements Hearing.Sink {

  private static final Logger log = LoggerFactory.getLogger(Hearing.class);

  @Override
  public void heard(String channel, String payload) {
    guard(() -> sink.heard(channel, payload));
  }

  @Override
  public void listening() {
    guard(sink::listening);
  }

  @Override
  public void deaf(Deafness deafness) {
    guard(() -> sink.deaf(deafness));
  }

  private static void guard(Runnable call) {
    try {
      call.run();
    } catch (RuntimeException e) {
      log.error("whoever is told of wake-ups threw; hearing goes on", e);
    }
  }
}
