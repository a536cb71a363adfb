package org.pgonce.internal.wakeup;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.ConnectException;
import java.sql.SQLException;
import java.sql.SQLTransientConnectionException;
import java.util.List;
import javax.net.ssl.SSLHandshakeException;
import org.junit.jupiter.api.Test;
import org.pgonce.spi.WakeUpSource;

/** Which source is tried after which failure. */
class SourceChoiceTest {

  private static final WakeUpSource NG = new PgjdbcNgSource();
  private static final WakeUpSource PGJDBC = new PgjdbcSource();

  private final SourceChoice sources = new SourceChoice(List.of(NG, PGJDBC));

  @Test
  void whatWorkedIsTriedFirst() {
    sources.works(PGJDBC);

    assertThat(sources.inOrder()).containsExactly(PGJDBC, NG);
  }

  @Test
  void aSourceThatCannotDoTheSettingsRestsAndTheNextIsTried() {
    assertThat(sources.failed(NG, new SQLException("no", "0A000"))).isTrue();

    assertThat(sources.inOrder()).containsExactly(PGJDBC);
    assertThat(sources.failures()).containsOnlyKeys("pgjdbc-ng");
  }

  @Test
  void aSourceThatTheServerTurnsAwayIsTriedAgain() {
    assertThat(sources.failed(NG, new SQLException("wrong password", "28P01"))).isTrue();

    assertThat(sources.inOrder()).containsExactly(NG, PGJDBC);
  }

  @Test
  void nobodyElseIsTriedWhereNobodyWouldGetIn() {
    for (var failure :
        List.of(
            new SQLTransientConnectionException("nothing answers", "08001"),
            new SQLException("refused", "08001", new ConnectException()),
            new SQLException("too many connections", "53300"),
            new SQLException("starting up", "57P03"),
            new SQLException("no such database", "3D000"),
            new SQLException("no right", "42501"))) {
      assertThat(sources.failed(NG, failure)).as("%s", failure).isFalse();
    }
    assertThat(sources.failures()).isEmpty();
  }

  /** A server that restarts breaks a connect or two, and that is not the source's fault. */
  @Test
  void h70_aConnectThatBreaksChangesTheSourceOnlyTheThirdTime() {
    var broken = new SQLException("channel closed", "08006");

    assertThat(sources.failed(NG, broken)).isFalse();
    assertThat(sources.failed(NG, broken)).isFalse();
    assertThat(sources.failed(NG, broken)).isTrue();
    assertThat(sources.inOrder()).containsExactly(PGJDBC);
  }

  @Test
  void aTlsFailureIsTheSourcesOwnAtOnce() {
    var tls = new SQLException("no", "08001", new SSLHandshakeException("unknown authority"));

    assertThat(sources.failed(NG, tls)).isTrue();
  }

  @Test
  void theLastOneDoesNotRest() {
    sources.failed(NG, new SQLException("no", "0A000"));
    sources.failed(PGJDBC, new SQLException("no", "0A000"));

    assertThat(sources.inOrder()).containsExactly(PGJDBC);
  }

  @Test
  void h61_aloneBehindAPoolerThatItCannotSpeakToItRestsAllTheSame() {
    var alone = new SourceChoice(List.of(NG));
    alone.failed(NG, new SQLException("prepared statement \"TB\" already exists", "42P05"));

    assertThat(alone.inOrder()).isEmpty();
    assertThat(alone.none()).isFalse();
  }
}
