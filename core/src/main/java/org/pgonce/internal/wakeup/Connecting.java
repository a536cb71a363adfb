package org.pgonce.internal.wakeup;

import java.security.SecureRandom;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.pgonce.spi.ListenAddress;

/** One round over the addresses and sources, until a session hears. */
final class Connecting {

  private final SourceChoice sources;
  private final HearingConfig config;
  private final Set<String> channels;
  private final Hearing.Sink sink;
  // Nobody else's: an echo that another process could cause would prove nothing.
  private final String selfChannel = "pgonce_self_" + randomHex();
  private volatile boolean open = true;
  private volatile @Nullable HearingSession current;

  Connecting(SourceChoice sources, HearingConfig config, Set<String> channels, Hearing.Sink sink) {
    this.sources = sources;
    this.config = config;
    this.channels = channels;
    this.sink = sink;
  }

  /** Which sources could not connect though something answered, and why. */
  Map<String, String> failures() {
    return sources.failures();
  }

  /**
   * Returns a session that hears, to be closed by the caller.
   *
   * @throws Deafness.Found none does
   * @throws InterruptedException hearing is being closed
   */
  HearingSession connect(List<ListenAddress> addresses)
      throws Deafness.Found, InterruptedException {
    List<Deafness> reasons = new ArrayList<>();
    for (var address : addresses) {
      var deafness = new Deafness(Deafness.Kind.POLLING, "no wake-up source is configured");
      for (var source : sources.inOrder()) {
        var session = new HearingSession(source, address, selfChannel, channels, sink);
        try {
          begin(session);
          sources.works(source);
          return session;
        } catch (SQLException e) {
          session.close();
          if (Thread.interrupted() || !open) {
            throw new InterruptedException("hearing is being closed");
          }
          deafness = Diagnosis.of(address, e);
          if (session.backendPid() != 0) {
            sources.works(source); // it could connect: the reason lies behind it
            break;
          }
          if (!Diagnosis.ownFailure(e)) {
            break;
          }
          sources.failed(source, e);
        }
      }
      reasons.add(deafness);
    }
    throw new Deafness.Found(Deafness.together(reasons));
  }

  private void begin(HearingSession session) throws SQLException {
    current = session;
    if (!open) {
      throw new SQLException("hearing is being closed", "08003");
    }
    session.begin(config);
  }

  /** Ends the session at hand and keeps another from beginning. For any thread. */
  void close() {
    open = false;
    var session = current;
    if (session != null) {
      session.close();
    }
  }

  private static String randomHex() {
    var bytes = new byte[8];
    new SecureRandom().nextBytes(bytes);
    return HexFormat.of().formatHex(bytes);
  }
}
