package org.pgonce.internal.wakeup;

import org.pgonce.spi.WakeUpSource;

/** {@link Hearing} through {@link PgjdbcSource}. */
class PgjdbcHearingTest extends HearingContract {

  @Override
  WakeUpSource source() {
    return new PgjdbcSource();
  }
}
