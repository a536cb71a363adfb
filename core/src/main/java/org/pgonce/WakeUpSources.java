package org.pgonce;

import java.util.List;
import org.pgonce.internal.wakeup.PgjdbcNgSource;
import org.pgonce.internal.wakeup.PgjdbcSource;
import org.pgonce.spi.WakeUpSource;

/** The wake-up sources that pgonce brings, for {@link PgOnceBuilder#wakeUpBy}. */
public final class WakeUpSources {

  /** Hears through pgjdbc-ng: NOTIFY is pushed to it. */
  public static final WakeUpSource PGJDBC_NG = new PgjdbcNgSource();

  /** Hears through pgjdbc, which waits on its socket. Knows every TLS setting of pgjdbc. */
  public static final WakeUpSource PGJDBC = new PgjdbcSource();

  /** pgjdbc-ng, and pgjdbc where it cannot connect. */
  public static final List<WakeUpSource> DEFAULT = List.of(PGJDBC_NG, PGJDBC);

  private WakeUpSources() {}
}
