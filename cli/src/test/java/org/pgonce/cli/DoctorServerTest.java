package org.pgonce.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Map;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.testkit.TestDatabase;
import org.pgonce.testkit.TestServer;
import org.postgresql.PGConnection;
import org.postgresql.ds.PGSimpleDataSource;
import org.postgresql.jdbc.PreferQueryMode;

/** Findings that take a server of their own; a test is named after its finding. */
@Tag("all")
class DoctorServerTest {

  private static final Duration SOON = Duration.ofSeconds(45);

  private static Cli installed(TestDatabase database) throws Exception {
    new PgOnceInstalled().make(database);
    return new Cli(database.login());
  }

  @Test
  @Tag("all")
  void fsyncFullPageWritesAndAutovacuumOff() throws Exception {
    try (var server =
            TestServer.start(
                Map.of("fsync", "on", "full_page_writes", "off", "autovacuum", "off"));
        var database = server.createDatabase()) {
      var cli = installed(database);
      assertThat(DoctorFindings.names(cli))
          .contains("FULL_PAGE_WRITES_OFF", "AUTOVACUUM_OFF")
          .doesNotContain("FSYNC_OFF");
    }
    try (var server = TestServer.start(Map.of("fsync", "off"));
        var database = server.createDatabase()) {
      DoctorFindings.one(installed(database), "FSYNC_OFF");
    }
  }

  @Test
  void connections() throws Exception {
    try (var server =
            TestServer.start(
                Map.of("max_connections", "10", "superuser_reserved_connections", "0"));
        var database = server.createDatabase()) {
      var cli = installed(database);
      assertThat(DoctorFindings.names(cli)).doesNotContain("CONNECTIONS");
      var open = new ArrayList<AutoCloseable>();
      try {
        for (var i = 0; i < 7; i++) {
          open.add(database.dataSource().getConnection());
        }
        assertThat(DoctorFindings.one(cli, "CONNECTIONS").get("what").asString())
            .contains("of 10 connections");
        var monitor = new Cli(database.loginRole("looks", "pgonce_monitor"));
        DoctorFindings.one(monitor, "CONNECTIONS");
      } finally {
        for (var one : open) {
          one.close();
        }
      }
    }
  }

  @Test
  void walLevelMinimalAndPreparedTransaction() throws Exception {
    try (var server =
            TestServer.start(
                Map.of(
                    "wal_level",
                    "minimal",
                    "max_wal_senders",
                    "0",
                    "max_prepared_transactions",
                    "2"));
        var database = server.createDatabase()) {
      var cli = installed(database);
      assertThat(DoctorFindings.names(cli)).contains("WAL_LEVEL_MINIMAL");
      database.execute("create table t (i int)");
      try (var connection = database.dataSource().getConnection();
          var statement = connection.createStatement()) {
        statement.execute("begin; insert into t values (1); prepare transaction 'lost one'");
      }
      assertThat(
              DoctorFindings.one(cli, "PREPARED_TRANSACTION", "--old", "0").get("what").asString())
          .contains("lost one")
          .containsPattern(" waits since 2\\d{3}-");
      database.execute("rollback prepared 'lost one'");
    }
  }

  /** A standby's message, as if a query of it had run for two million transactions. */
  @Test
  void standbyFeedback() throws Exception {
    try (var server = TestServer.start(Map.of("wal_level", "replica", "max_wal_senders", "2"));
        var database = server.createDatabase()) {
      var cli = installed(database);
      assertThat(DoctorFindings.names(cli)).doesNotContain("STANDBY_FEEDBACK");
      var login = database.login();
      var source = new PGSimpleDataSource();
      source.setURL("jdbc:postgresql://%s:%d/postgres".formatted(login.host(), login.port()));
      source.setUser(login.user());
      source.setPassword(login.password());
      source.setReplication("true");
      source.setAssumeMinServerVersion("14"); // else the driver asks for no replication
      source.setPreferQueryMode(PreferQueryMode.SIMPLE);
      source.setApplicationName("reports");
      try (var standby = source.getConnection()) {
        var copy =
            standby
                .unwrap(PGConnection.class)
                .getCopyAPI()
                .copyDual(
                    "START_REPLICATION PHYSICAL "
                        + database.queryString("select pg_current_wal_flush_lsn()"));
        var xmin = database.queryLong("select pg_current_xact_id()::text::bigint") - 2_000_000;
        var message =
            ByteBuffer.allocate(25)
                .put((byte) 'h')
                .putLong(0)
                .putInt((int) xmin)
                .putInt((int) (xmin >> 32))
                .putInt(0)
                .putInt(0)
                .array();
        copy.writeToCopy(message, 0, message.length);
        copy.flushCopy();
        await().atMost(SOON).until(() -> DoctorFindings.names(cli).contains("STANDBY_FEEDBACK"));
        assertThat(DoctorFindings.one(cli, "STANDBY_FEEDBACK").get("what").asString())
            .contains("standby \"reports\" at ")
            .containsPattern("holds back 2\\d{6} transactions");
      }
    }
  }

  @Test
  void notifyQueue() throws Exception {
    try (var server = TestServer.start(Map.of());
        var probe = server.createDatabase()) {
      // A queue of the default 8 GB is not filled in a test.
      Assumptions.assumeTrue(
          probe.queryLong("select current_setting('server_version_num')::integer") >= 170_000,
          "skipped: max_notify_queue_pages is there from PostgreSQL 17 on");
    }
    try (var server = TestServer.start(Map.of("max_notify_queue_pages", "64"));
        var database = server.createDatabase()) {
      var cli = installed(database);
      assertThat(DoctorFindings.names(cli)).doesNotContain("NOTIFY_QUEUE");
      try (var holder = database.dataSource().getConnection();
          var statement = holder.createStatement()) {
        statement.execute("listen something");
        statement.execute("begin; select 1");
        for (var i = 0; i < 24; i++) {
          database.execute("select pg_notify('something', repeat('x', 7900) || " + i + ")");
        }
        assertThat(DoctorFindings.one(cli, "NOTIFY_QUEUE").get("what").asString())
            .contains("% full");
        // As the log of the server said it.
        assertThat(DoctorFindings.one(cli, "NOTIFY_QUEUE").get("advice").asString())
            .contains("is among those with the oldest transactions");
        statement.execute("rollback");
      }
    }
  }

  @Test
  void standby() throws Exception {
    try (var server = TestServer.start(Map.of())) {
      var database = server.createDatabase();
      var cli = installed(database);
      assertThat(DoctorFindings.names(cli)).doesNotContain("STANDBY");
      assertThat(cli.run("status").ends(0).out()).doesNotContain("standby");
      assertThat(cli.run("status", "-o", "json").json().get(0).get("standby").asBoolean())
          .isFalse();
      database.execute(
          """
          select pgonce.publish('mails', '"hello"');
          update pgonce.notification set created_at = now() - interval '1 minute';
          insert into pgonce.listener (id, instance, subscriptions, workers, listens_by, silence)
          select gen_random_uuid(), 'mailer', array[id], '{4}', 'pgjdbc', '1 hour' from pgonce.subscription where id > 0
          """);
      assertThat(cli.run("explain", "mails").ends(3).out()).contains("STARVED");
      var data = Path.of(database.queryString("show data_directory"));
      server.stopImmediately();
      Files.createFile(data.resolve("standby.signal"));
      server.restart();
      assertThat(DoctorFindings.one(cli, "STANDBY").get("advice").asString()).contains("primary");
      assertThat(cli.run("status").ends(0).out()).contains("\nThe server is a standby: ");
      assertThat(cli.run("status", "-o", "json").json().get(0).get("standby").asBoolean()).isTrue();
      assertThat(cli.run("pause", "mails", "--because", "x").ends(1).err()).contains("standby");
      // Its sessions are those of the standby: what is at work on the primary is not among them.
      assertThat(cli.run("explain", "mails").ends(0).out())
          .contains("WAITING", "1 listeners; this server is a standby", "Ask the primary");
    }
  }
}
