package org.pgonce.internal.listen;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import javax.net.ssl.SSLHandshakeException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.pgonce.internal.listen.ListenFailure.Kind;
import org.pgonce.spi.ListenAddress;
import org.pgonce.spi.WakeUpConnection;
import org.pgonce.spi.WakeUpSource;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** Which source is tried after which failure: the first cannot connect, the last is pgjdbc. */
@PgTest
class SourceOrderTest {

  private final Witness witness = new Witness();
  private final AtomicInteger tries = new AtomicInteger();

  @AfterEach
  void leavesNothing(TestDatabase database) {
    Leaks.awaitNone(database);
  }

  private NotificationListener listener(TestDatabase database, SQLException failure) {
    var first =
        new WakeUpSource() {
          @Override
          public String name() {
            return "first";
          }

          @Override
          public WakeUpConnection open(ListenAddress address, Callback callback, Duration timeout)
              throws SQLException {
            tries.incrementAndGet();
            throw failure;
          }
        };
    return Listeners.started(
        List.of(first, new PgjdbcSource()),
        () -> List.of(Addresses.of(database)),
        witness,
        "orders");
  }

  private void reconnects(NotificationListener listener, TestDatabase database) throws Exception {
    var status = listener.awaitFirstAttempt(Received.BOUND);
    assertThat(status.source()).isEqualTo("pgjdbc");
    database.backends().terminate(status.session().backendPid());
    witness.awaitListening(2);
    assertThat(listener.status().source()).isEqualTo("pgjdbc");
  }

  @Test
  void aSourceThatCannotDoTheSettingsIsNotTriedAtEachReconnect(TestDatabase database)
      throws Exception {
    try (var listener = listener(database, new SQLException("no", "0A000"))) {
      reconnects(listener, database);
      assertThat(tries).hasValue(1);
      assertThat(listener.status().failedSources()).containsOnlyKeys("first");
    }
  }

  @Test
  void aTlsFailureIsTheSourcesOwn(TestDatabase database) throws Exception {
    var failure = new SQLException("no", "08001", new SSLHandshakeException("unknown authority"));
    try (var listener = listener(database, failure)) {
      reconnects(listener, database);
      assertThat(tries).hasValue(1);
      assertThat(listener.status().failedSources()).containsOnlyKeys("first");
    }
  }

  /** A server that restarts breaks a connect or two, and that is not the source's fault. */
  @Test
  void h70_aSourceWhoseConnectBreaksIsTheFirstAgainTheNextTime(TestDatabase database)
      throws Exception {
    try (var listener = listener(database, new SQLException("channel closed", "08006"))) {
      reconnects(listener, database);
      assertThat(tries).hasValueGreaterThanOrEqualTo(2);
      assertThat(listener.status().failedSources()).isEmpty();
    }
  }

  @Test
  void whereNoSourceConnectsAllAreTriedAgain(TestDatabase database) throws Exception {
    var login = database.loginRole("listener");
    database.execute("ALTER ROLE \"" + login.user() + "\" CONNECTION LIMIT 0");
    var counted = new AtomicInteger();
    WakeUpSource last = new PgjdbcSource();
    var first =
        new WakeUpSource() {
          @Override
          public String name() {
            return "first";
          }

          @Override
          public WakeUpConnection open(ListenAddress address, Callback callback, Duration timeout)
              throws SQLException {
            counted.incrementAndGet();
            return last.open(address, callback, timeout);
          }
        };
    try (var listener =
        Listeners.started(
            List.of(first, last), () -> List.of(Addresses.of(login)), witness, "orders")) {
      assertThat(listener.awaitFirstAttempt(Received.BOUND).failure().kind())
          .isEqualTo(Kind.FAILED);
      database.execute("ALTER ROLE \"" + login.user() + "\" CONNECTION LIMIT 5");
      witness.awaitListening(1);
      assertThat(listener.status().source()).isEqualTo("first");
      assertThat(listener.status().failedSources()).isEmpty();
      assertThat(counted).hasValueGreaterThanOrEqualTo(2);
    }
  }

  /** Each try leaks a connection of the pooler in pgjdbc-ng 0.8.9. */
  @Test
  void h61_behindAPoolerThatItCannotSpeakToASourceIsTriedOnceAnHour() {
    var mixedUp = new SQLException("prepared statement \"TB\" already exists", "42P05");
    var failure =
        ListenFailure.of(
            new ListenAddress("db.example", 5432, "shop", "app", null, java.util.Map.of()),
            mixedUp);

    assertThat(failure.reason()).contains("transaction-mode pooler");
    assertThat(failure.kind().backoff().longest()).isEqualTo(Duration.ofHours(1));
  }
}
