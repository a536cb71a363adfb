package org.pgonce.internal.listen;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.pgonce.WakeUpSources;
import org.pgonce.internal.listen.ListenFailure.Kind;
import org.pgonce.pgjdbcng.PgjdbcNgSource;
import org.pgonce.spi.WakeUpSource;
import org.pgonce.testkit.PgBouncer;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** {@link PgjdbcNgSource} under the tests of all sources. */
@PgTest
class PgjdbcNgSourceTest {

  private static final WakeUpSource SOURCE = new PgjdbcNgSource();

  @Test
  void itIsFoundOnTheClassPathAndTriedFirst() {
    assertThat(WakeUpSources.DEFAULT)
        .extracting(WakeUpSource::name)
        .containsExactly("pgjdbc-ng", "pgjdbc");
  }

  @Test
  void h61_thePoolerIsTheReasonThoughPgjdbcNgCannotEvenConnectToIt(TestDatabase database)
      throws Exception {
    try (var pooler = PgBouncer.start(database, "transaction");
        var listener =
            Listeners.started(
                WakeUpSources.DEFAULT,
                () -> List.of(Addresses.of(pooler.login(database))),
                new Witness(),
                "orders")) {
      var status = listener.awaitFirstAttempt(Received.BOUND);

      assertThat(status.failure().kind()).isEqualTo(Kind.POOLER);
      assertThat(status.failure().reason()).contains("LISTEN is accepted but no NOTIFY arrives");
      assertThat(status.failedSources()).containsOnlyKeys("pgjdbc-ng");
    }
  }

  @Nested
  @DisplayName("while nothing breaks")
  class Contract extends SourceTest {
    @Override
    WakeUpSource source() {
      return SOURCE;
    }
  }

  @Nested
  @DisplayName("when something breaks")
  class Faults extends SourceFaultTest {
    @Override
    WakeUpSource source() {
      return SOURCE;
    }
  }

  @Nested
  @DisplayName("that a listener uses")
  class Listening extends NotificationListenerTest {
    @Override
    WakeUpSource source() {
      return SOURCE;
    }
  }

  @Nested
  @DisplayName("whose server restarts")
  class Restart extends ServerRestartTest {
    @Override
    WakeUpSource source() {
      return SOURCE;
    }
  }

  @Nested
  @DisplayName("behind a pooler")
  class Pooler extends PoolerTest {
    @Override
    WakeUpSource source() {
      return SOURCE;
    }
  }

  @Nested
  @DisplayName("in a database that ends idle sessions")
  class Idle extends IdleSessionTest {
    @Override
    WakeUpSource source() {
      return SOURCE;
    }
  }

  @Nested
  @DisplayName("that cannot connect")
  class Failure extends ListenFailureTest {}
}
