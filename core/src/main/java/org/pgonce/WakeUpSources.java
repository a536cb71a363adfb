package org.pgonce;

import java.util.ArrayList;
import java.util.List;
import org.pgonce.internal.listen.PgjdbcSource;
import org.pgonce.internal.listen.Services;
import org.pgonce.spi.WakeUpSource;

/** The wake-up sources that there are, for {@link PgOnceBuilder#wakeUpBy}. */
public final class WakeUpSources {

  /** Listens through pgjdbc, which waits on its socket. Knows every TLS setting of pgjdbc. */
  public static final WakeUpSource PGJDBC = new PgjdbcSource();

  /**
   * Those on the class path or module path (pgonce-pgjdbc-ng, to which NOTIFY is pushed), and
   * {@link #PGJDBC} where none of them can connect.
   */
  public static final List<WakeUpSource> DEFAULT = found();

  private WakeUpSources() {}

  private static List<WakeUpSource> found() {
    var sources = new ArrayList<>(Services.found(WakeUpSource.class));
    sources.add(PGJDBC);
    return List.copyOf(sources);
  }
}
