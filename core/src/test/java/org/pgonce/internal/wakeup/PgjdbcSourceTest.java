package org.pgonce.internal.wakeup;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Nested;
import org.pgonce.spi.WakeUpSource;

/** {@link PgjdbcSource} under the contract of all sources. */
class PgjdbcSourceTest {

  @Nested
  @DisplayName("while nothing breaks")
  class Contract extends WakeUpSourceContract {
    @Override
    WakeUpSource source() {
      return new PgjdbcSource();
    }
  }

  @Nested
  @DisplayName("when something breaks")
  class Faults extends WakeUpSourceFaultContract {
    @Override
    WakeUpSource source() {
      return new PgjdbcSource();
    }
  }
}
