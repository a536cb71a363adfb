package org.pgonce.internal.wakeup;

import java.sql.SQLException;
import java.time.Duration;
import java.util.Collection;
import java.util.concurrent.atomic.AtomicBoolean;
import org.pgonce.spi.WakeUpConnection;

/** A real connection that hears, and whose own NOTIFY is lost while it is mute. */
record MuteConnection(WakeUpConnection real, AtomicBoolean mute) implements WakeUpConnection {

  @Override
  public void listen(Collection<String> channels, Duration deadline) throws SQLException {
    real.listen(channels, deadline);
  }

  @Override
  public long notify(String channel, String payload, Duration deadline) throws SQLException {
    return mute.get() ? System.nanoTime() : real.notify(channel, payload, deadline);
  }

  @Override
  public void exemptFromIdleTimeout(Duration deadline) throws SQLException {
    real.exemptFromIdleTimeout(deadline);
  }

  @Override
  public int backendPid() {
    return real.backendPid();
  }

  @Override
  public boolean pooled() {
    return real.pooled();
  }

  @Override
  public void close() {
    real.close();
  }
}
