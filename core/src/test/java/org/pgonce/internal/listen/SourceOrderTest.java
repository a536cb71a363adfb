package org.pgonce.internal.listen;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.net.ConnectException;
import java.sql.SQLException;
import java.sql.SQLTransientConnectionException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import javax.net.ssl.SSLHandshakeException;
import org.junit.jupiter.api.Test;
import org.pgonce.spi.ListenAddress;
import org.pgonce.spi.WakeUpConnection;
import org.pgonce.spi.WakeUpSource;

/** Which source is tried after which failure. */
class SourceOrderTest {

  private static final WakeUpSource FIRST = new Named("first");
  private static final WakeUpSource LAST = new Named("last");
  private static final ListenAddress ADDRESS =
      new ListenAddress("db.example", 5432, "shop", "app", null, Map.of());

  private final SourceOrder sources = new SourceOrder(List.of(FIRST, LAST));

  private record Named(String name) implements WakeUpSource {
    @Override
    public WakeUpConnection open(ListenAddress address, Callback callback, Duration timeout) {
      throw new AssertionError("nobody connects here");
    }
  }

  private boolean failed(WakeUpSource source, SQLException failure) {
    return sources.failed(source, ListenFailure.of(ADDRESS, failure));
  }

  @Test
  void aSourceThatCannotDoTheSettingsRestsAndTheNextIsTried() throws Exception {
    assertThat(failed(FIRST, new SQLException("no", "0A000"))).isTrue();

    assertThat(sources.usable()).containsExactly(LAST);
    assertThat(sources.failures()).containsOnlyKeys("first");
  }

  @Test
  void aSourceThatTheServerTurnsAwayIsTriedAgain() throws Exception {
    assertThat(failed(FIRST, new SQLException("wrong password", "28P01"))).isTrue();

    assertThat(sources.usable()).containsExactly(FIRST, LAST);
  }

  @Test
  void aSourceThatConnectsHasNotFailed() throws Exception {
    failed(FIRST, new SQLException("no", "0A000"));
    sources.connected(FIRST);

    assertThat(sources.usable()).containsExactly(FIRST, LAST);
    assertThat(sources.failures()).isEmpty();
  }

  @Test
  void noOtherIsTriedWhereNoneWouldGetIn() {
    for (var failure :
        List.of(
            new SQLTransientConnectionException("nothing answers", "08001"),
            new SQLException("refused", "08001", new ConnectException()),
            new SQLException("too many connections", "53300"),
            new SQLException("starting up", "57P03"),
            new SQLException("no such database", "3D000"),
            new SQLException("no right", "42501"))) {
      assertThat(failed(FIRST, failure)).as("%s", failure).isFalse();
    }
    assertThat(sources.failures()).isEmpty();
  }

  /** A server that restarts breaks a connect or two, and that is not the source's fault. */
  @Test
  void h70_aSourceWhoseConnectBreaksIsTheFirstAgainTheNextTime() throws Exception {
    assertThat(failed(FIRST, new SQLException("channel closed", "08006"))).isTrue();

    assertThat(sources.usable()).containsExactly(FIRST, LAST);
  }

  @Test
  void aTlsFailureIsTheSourcesOwn() throws Exception {
    failed(FIRST, new SQLException("no", "08001", new SSLHandshakeException("unknown authority")));

    assertThat(sources.usable()).containsExactly(LAST);
  }

  @Test
  void theLastOneDoesNotRest() throws Exception {
    failed(FIRST, new SQLException("no", "0A000"));
    failed(LAST, new SQLException("no", "0A000"));

    assertThat(sources.usable()).containsExactly(LAST);
  }

  @Test
  void h61_behindAPoolerThatItCannotSpeakToTheLastOneRestsAllTheSame() {
    var alone = new SourceOrder(List.of(FIRST));
    var mixedUp = new SQLException("prepared statement \"TB\" already exists", "42P05");
    alone.failed(FIRST, ListenFailure.of(ADDRESS, mixedUp));

    assertThatThrownBy(alone::usable)
        .isInstanceOf(ListenFailure.class)
        .hasMessageContaining("transaction-mode pooler");
  }
}
