package org.pgonce.micrometer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.pgonce.micrometer.Stage.value;

import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.pgonce.Channel;
import org.pgonce.PgOnce;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** All that a service sets up to be watched. */
@PgTest
class MicrometerExampleTest {

  private static final Channel<String> SIGNED_UP = Channel.of("signed_up", String.class);

  @Test
  void example_aServiceThatIsWatched(TestDatabase database) throws Exception {
    var registry = new SimpleMeterRegistry(); // the service's own, as its ObservationRegistry
    try (var stage = new Stage(database);
        var traces = Traces.linked();
        var pgonce =
            PgOnce.builder(stage.dataSource)
                .observer(new EventMeters(registry))
                .interceptors(new HandlerObservation(traces.observations), new LoggingContext())
                .build();
        var metrics = PgOnceMetrics.of(pgonce, stage.dataSource, Duration.ofSeconds(1))) {
      pgonce.install(SIGNED_UP);
      pgonce.listen(SIGNED_UP, (signedUp, tx) -> {}).start();
      metrics.bindTo(registry);

      var publisher = new ObservedPublisher(pgonce.publisher(), traces.observations);
      try (var connection = stage.dataSource.getConnection()) {
        connection.setAutoCommit(false);
        publisher.publish(connection, SIGNED_UP, "Ada");
        connection.commit();
      }

      stage.awaitSoon(1, registry, "pgonce.process", "outcome", "handled");
      stage.awaitSoon(1, registry, "pgonce.listeners", "channel", "signed_up");
      assertThat(value(registry, "pgonce.publish")).isEqualTo(1);
      assertThat(value(registry, "pgonce.lag")).isEqualTo(1);
      assertThat(traces.span("process signed_up").getLinks()).hasSize(1);
    }
  }
}
