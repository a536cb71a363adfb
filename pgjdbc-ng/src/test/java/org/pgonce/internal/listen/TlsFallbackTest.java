package org.pgonce.internal.listen;

import static java.nio.file.StandardCopyOption.COPY_ATTRIBUTES;
import static java.nio.file.StandardCopyOption.REPLACE_EXISTING;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.pgonce.WakeUpSources;
import org.pgonce.spi.WakeUpSource;
import org.pgonce.testkit.Login;
import org.pgonce.testkit.TestDatabase;
import org.pgonce.testkit.TestServer;

/** Where pgjdbc-ng cannot connect though the pool's pgjdbc can, pgjdbc takes over. */
class TlsFallbackTest {

  private static final List<WakeUpSource> BOTH = WakeUpSources.DEFAULT;

  @TempDir static Path directory;
  private static TestServer server;
  private static TestCertificate sha256;
  private static TestCertificate sha384;

  private final Witness witness = new Witness();
  private TestDatabase database;
  private Login login;

  @BeforeAll
  static void startServer() throws Exception {
    sha256 = TestCertificate.signedWith("sha256", directory);
    sha384 = TestCertificate.signedWith("sha384", directory);
    shown(sha256);
    server =
        TestServer.start(
            Map.of(
                "ssl", "on",
                "ssl_cert_file", directory.resolve("server.crt").toString(),
                "ssl_key_file", directory.resolve("server.key").toString()));
  }

  @AfterAll
  static void stopServer() {
    if (server != null) {
      server.close();
    }
  }

  @BeforeEach
  void begin() throws Exception {
    database = server.createDatabase();
    login = database.loginRole("listener"); // SCRAM
  }

  @AfterEach
  void end() {
    Leaks.awaitNone(database);
    database.close();
  }

  private NotificationListener listener(Map<String, String> properties) {
    return Listeners.started(
        BOTH, () -> List.of(Addresses.of(login, properties)), witness, "orders");
  }

  private void serverShows(TestCertificate certificate) throws Exception {
    var before = database.queryString("SELECT pg_conf_load_time()");
    shown(certificate);
    database.execute("SELECT pg_reload_conf()");
    await()
        .atMost(Received.BOUND)
        .until(() -> !before.equals(database.queryString("SELECT pg_conf_load_time()")));
  }

  private static void shown(TestCertificate certificate) throws IOException {
    Files.copy(certificate.certificate(), directory.resolve("server.crt"), REPLACE_EXISTING);
    Files.copy(
        certificate.key(), directory.resolve("server.key"), REPLACE_EXISTING, COPY_ATTRIBUTES);
  }

  private void assertListensEncrypted(NotificationListener listener, String source)
      throws Exception {
    var status = listener.awaitFirstAttempt(Received.BOUND);
    assertThat(status.source()).as("%s", status).isEqualTo(source);
    assertThat(
            database.queryString(
                "SELECT ssl FROM pg_stat_ssl WHERE pid = " + status.session().backendPid()))
        .isEqualTo("t");
    database.execute("NOTIFY orders, 'encrypted'");
    witness.received().awaitMessage("orders", "encrypted");
  }

  @Test
  void pgjdbcNgListensWithTlsWhereItCan() throws Exception {
    serverShows(sha256);
    try (var listener = listener(Map.of("sslmode", "require"))) {
      assertListensEncrypted(listener, "pgjdbc-ng");
      assertThat(listener.status().failedSources()).isEmpty();
    }
  }

  @Test
  void tlsIsPreferredAsByPgjdbcWhenNothingIsSaid() throws Exception {
    serverShows(sha256);
    try (var listener = listener(Map.of())) {
      assertListensEncrypted(listener, "pgjdbc-ng");
    }
  }

  @Test
  void pgjdbcNgVerifiesTheCertificateWhereItIsTold() throws Exception {
    serverShows(sha256);
    try (var listener =
        listener(Map.of("sslmode", "verify-ca", "sslrootcert", sha256.certificate().toString()))) {
      assertListensEncrypted(listener, "pgjdbc-ng");
    }
  }

  @Test
  void pgjdbcTakesOverWithACertificateThatPgjdbcNgCannotBindTo() throws Exception {
    serverShows(sha384);
    try (var listener = listener(Map.of("sslmode", "require"))) {
      assertListensEncrypted(listener, "pgjdbc");
      assertThat(listener.status().failedSources()).containsOnlyKeys("pgjdbc-ng");
      assertThat(listener.status().failedSources().get("pgjdbc-ng"))
          .contains("channel binding")
          .doesNotContain(login.password());
    }
  }

  @Test
  void pgjdbcTakesOverWhereTheHostNameIsToBeVerified() throws Exception {
    serverShows(sha256);
    try (var listener =
        listener(
            Map.of("sslmode", "verify-full", "sslrootcert", sha256.certificate().toString()))) {
      assertListensEncrypted(listener, "pgjdbc");
      assertThat(listener.status().failedSources().get("pgjdbc-ng"))
          .contains("sslmode=verify-full")
          .contains("only after it has logged in");
    }
  }

  @Test
  void theSourceThatWorkedIsTheFirstAtTheNextReconnect() throws Exception {
    serverShows(sha384);
    try (var listener = listener(Map.of("sslmode", "require"))) {
      assertListensEncrypted(listener, "pgjdbc");
      var before = listener.status().failedSources();
      database.backends().terminate(listener.status().session().backendPid());

      witness.awaitListening(2);
      assertThat(listener.status().source()).isEqualTo("pgjdbc");
      assertThat(listener.status().failedSources()).isEqualTo(before); // and still says why
    }
  }

  @Test
  void aCertificateOfSomebodyElseIsRefusedByBothAndSaid() throws Exception {
    serverShows(sha256);
    try (var listener =
        listener(Map.of("sslmode", "verify-ca", "sslrootcert", sha384.certificate().toString()))) {
      var status = listener.awaitFirstAttempt(Received.BOUND);

      assertThat(status.listening()).isFalse();
      assertThat(status.failure().kind()).isEqualTo(ListenFailure.Kind.FAILED);
      assertThat(status.failure().reason())
          .contains("no TLS connection came about; check sslmode, sslrootcert");
      assertThat(status.failedSources()).containsOnlyKeys("pgjdbc-ng", "pgjdbc");
    }
  }
}
