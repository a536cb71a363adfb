package org.pgonce.spring.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.micrometer.core.instrument.MeterRegistry;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.spring.PgOnceListener;
import org.pgonce.spring.contract.ContractApplication.Job;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import org.slf4j.MDC;

/** pgonce-micrometer on the class path is enough. */
@PgTest
@Tag("second")
class MetersTest {

  @Test
  void metersObservationsAndLoggingContextAreThere(TestDatabase database) throws Exception {
    try (var service = Service.start(database, Remembers.class)) {
      service.publish(1, 3);
      service.awaitQuiet();
      var meters = service.bean(MeterRegistry.class);
      await()
          .atMost(Service.BOUND)
          .untilAsserted(
              () -> {
                assertThat(meters.get("pgonce.process").tag("channel", "job").timer().count())
                    .isEqualTo(3);
                assertThat(meters.get("pgonce.listening").gauge().value()).isEqualTo(1);
                assertThat(meters.get("pgonce.handle").timer().count()).isEqualTo(3);
              });
      assertThat(meters.find("jdbc.connections.active").gauge()).as("of the pool").isNotNull();
      assertThat(service.bean(Remembers.class).channels).containsExactly("job", "job", "job");
    }
  }

  static class Remembers {

    final List<String> channels = new CopyOnWriteArrayList<>();

    @PgOnceListener(channel = "job")
    void handle(Job job) {
      channels.add(MDC.get("pgonce.channel"));
    }
  }
}
