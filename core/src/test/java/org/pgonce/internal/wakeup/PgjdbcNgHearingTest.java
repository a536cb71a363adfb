package org.pgonce.internal.wakeup;

import org.pgonce.spi.WakeUpSource;

/** {@link Hearing} through {@link PgjdbcNgSource}. */
class PgjdbcNgHearingTest extends HearingContract {

  @Override
  WakeUpSource source() {
    return new PgjdbcNgSource();
  }
}
