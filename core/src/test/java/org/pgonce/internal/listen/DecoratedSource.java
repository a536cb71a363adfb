package org.pgonce.internal.listen;

import java.sql.SQLException;
import java.time.Duration;
import java.util.function.UnaryOperator;
import org.pgonce.spi.ListenAddress;
import org.pgonce.spi.WakeUpConnection;
import org.pgonce.spi.WakeUpSource;

/** A real source whose connections a test wraps or keeps. */
record DecoratedSource(WakeUpSource real, UnaryOperator<WakeUpConnection> decoration)
    implements WakeUpSource {

  @Override
  public String name() {
    return real.name();
  }

  @Override
  public WakeUpConnection open(ListenAddress address, Callback callback, Duration timeout)
      throws SQLException {
    return decoration.apply(real.open(address, callback, timeout));
  }
}
