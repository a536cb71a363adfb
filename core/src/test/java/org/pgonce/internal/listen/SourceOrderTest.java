package org.pgonce.internal.listen;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.SQLException;
import java.sql.SQLTransientConnectionException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import javax.net.ssl.SSLHandshakeException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.internal.listen.ListenFailure.Kind;
import org.pgonce.spi.ListenAddress;
import org.pgonce.spi.WakeUpConnection;
import org.pgonce.spi.WakeUpSource;
import org.pgonce.stage.Logged;
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

  /** How a source connects, or fails. */
  private interface Opening {
    WakeUpConnection open(ListenAddress address, WakeUpSource.Callback callback, Duration timeout)
        throws SQLException;
  }

  private WakeUpSource first(Opening opening) {
    return new WakeUpSource() {
      @Override
      public String name() {
        return "first";
      }

      @Override
      public WakeUpConnection open(ListenAddress address, Callback callback, Duration timeout)
          throws SQLException {
        tries.incrementAndGet();
        return opening.open(address, callback, timeout);
      }
    };
  }

  private NotificationListener listener(TestDatabase database, SQLException failure) {
    return listener(
        Addresses.of(database),
        (address, callback, timeout) -> {
          throw failure;
        });
  }

  private NotificationListener listener(ListenAddress address, Opening opening) {
    return Listeners.started(
        List.of(first(opening), new PgjdbcSource()), () -> List.of(address), witness, "orders");
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
    try (var log = new Logged();
        var listener = listener(database, new SQLException("channel closed", "08006"))) {
      reconnects(listener, database);
      assertThat(log.text()).contains("not through {first=").contains("channel closed");
      assertThat(tries).hasValueGreaterThanOrEqualTo(2);
      assertThat(listener.status().failedSources()).isEmpty();
    }
  }

  /** As the probe of pgjdbc-ng says it. Each further source would wait for as long again. */
  @Test
  void h60_aHostThatDoesNotAnswerIsAskedByOneSourceOnly(TestDatabase database) throws Exception {
    var silence = new SQLTransientConnectionException("no answer", "08001");
    try (var listener = listener(database, silence)) {
      var status = listener.awaitFirstAttempt(Received.BOUND);
      assertThat(status.failure().kind()).isEqualTo(Kind.UNREACHABLE);
      assertThat(status.failure().reason()).contains("no answer");
      assertThat(tries).hasPositiveValue();
    }
  }

  /** It looks like a transaction-mode pooler, for which one waits up to an hour. */
  @Test
  @Tag("all")
  void h60_oneLateAnswerBehindAnOutageIsNoReasonToWait(TestDatabase database) throws Exception {
    var outage = 12;
    Opening opening =
        (address, callback, timeout) -> {
          if (tries.get() <= outage) {
            throw new SQLTransientConnectionException("no answer", "08001");
          } else if (tries.get() == outage + 1) {
            throw new SQLException("prepared statement \"TB\" already exists", "42P05");
          }
          return new PgjdbcSource().open(address, callback, timeout);
        };
    try (var listener =
        Listeners.started(
            List.of(first(opening)), () -> List.of(Addresses.of(database)), witness, "orders")) {
      assertThat(listener.awaitFirstAttempt(Received.BOUND).failure()).isNotNull();
      witness.awaitListening(1);
    }
  }

  @Test
  void whereNoSourceConnectsAllAreTriedAgain(TestDatabase database) throws Exception {
    var login = database.loginRole("listener");
    database.execute("ALTER ROLE \"" + login.user() + "\" CONNECTION LIMIT 0");
    try (var listener = listener(Addresses.of(login), new PgjdbcSource()::open)) {
      assertThat(listener.awaitFirstAttempt(Received.BOUND).failure().kind())
          .isEqualTo(Kind.FAILED);
      database.execute("ALTER ROLE \"" + login.user() + "\" CONNECTION LIMIT 5");
      witness.awaitListening(1);
      assertThat(listener.status().source()).isEqualTo("first");
      assertThat(listener.status().failedSources()).isEmpty();
      assertThat(tries).hasValueGreaterThanOrEqualTo(2);
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
