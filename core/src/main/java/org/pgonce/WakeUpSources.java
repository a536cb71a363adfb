package org.pgonce;

import java.util.ArrayList;
import java.util.List;
import java.util.ServiceConfigurationError;
import java.util.ServiceLoader;
import org.pgonce.internal.listen.PgjdbcSource;
import org.pgonce.spi.WakeUpSource;
import org.slf4j.LoggerFactory;

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
    List<WakeUpSource> sources = new ArrayList<>();
    try {
      // By pgonce's own loader, as the context class loader is any caller's.
      ServiceLoader.load(WakeUpSource.class, WakeUpSource.class.getClassLoader())
          .forEach(sources::add);
    } catch (ServiceConfigurationError e) {
      LoggerFactory.getLogger(WakeUpSources.class)
          .warn("pgonce: a wake-up source cannot be loaded; it listens without", e);
    }
    sources.add(PGJDBC);
    return List.copyOf(sources);
  }
}
