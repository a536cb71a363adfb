package org.pgonce.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.Channel;
import org.pgonce.PgOnce;
import org.pgonce.cli.terminal.Terminal;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** What {@code pgonce tail} takes for new; what goes on behind a lost connection. */
@PgTest(PgOnceInstalled.class)
class TailTest {

  private static final Duration SOON = Duration.ofSeconds(60);

  /** A reader that can go away. */
  private static final class Reader extends OutputStream {

    private final ByteArrayOutputStream read = new ByteArrayOutputStream();
    private volatile boolean gone;

    @Override
    public void write(int one) throws IOException {
      if (gone) {
        throw new IOException("nobody reads");
      }
      read.write(one);
    }

    String text() {
      return read.toString(StandardCharsets.UTF_8);
    }
  }

  private static Thread command(Cli cli, Reader reader, Reader errors, String... arguments) {
    var terminal =
        new Terminal(
            new ByteArrayInputStream(new byte[0]),
            new PrintStream(reader, true, StandardCharsets.UTF_8),
            new PrintStream(errors, true, StandardCharsets.UTF_8),
            false,
            cli.environment,
            null);
    return new Thread(() -> PgOnceCommand.run(terminal, () -> false, arguments));
  }

  private static Thread tail(Cli cli, Reader reader, Reader errors, String... channel) {
    var arguments = Stream.concat(Stream.of("tail"), Stream.of(channel)).toArray(String[]::new);
    return command(cli, reader, errors, arguments);
  }

  @Test
  void aChannelThatIsNotInstalledIsNamed(TestDatabase database) throws Exception {
    var reader = new Reader();
    var errors = new Reader();
    var cli = new Cli(database.login());
    var tail = tail(cli, reader, errors, "mail");
    tail.start();
    try {
      await().atMost(SOON).until(() -> errors.text().contains("\n"));
      assertThat(errors.text())
          .isEqualTo("channel mail is not installed: nothing is shown until it is\n");
      PgOnce.using(database.dataSource()).install(Channel.of("mail", String.class));
      await().atMost(SOON).until(() -> reader.text().contains("INSTALL mail"));
    } finally {
      reader.gone = true;
      // Something to show, by which it notices that.
      cli.run("pause", "mail", "--because", "x");
      tail.join(SOON.toMillis());
    }
    assertThat(tail.isAlive()).isFalse();
  }

  /** As by a restart: it says so, and goes on from what it has shown. */
  @Test
  void whatHappenedWhileItsConnectionWasLostIsShown(TestDatabase database) throws Exception {
    var reader = new Reader();
    var errors = new Reader();
    var cli = new Cli(database.login());
    var tail = tail(cli, reader, errors, "mails");
    tail.start();
    try {
      awaitFirstLook(cli, reader);
      endSessions(database);
      database.execute("select pgonce.pause('mails', 'while it was lost')");
      await().atMost(SOON).until(() -> reader.text().contains("while it was lost"));
      assertThat(errors.text())
          .startsWith("pgonce: ")
          .contains("It is tried again each 2 s, until Ctrl-C")
          .endsWith("pgonce: connected again\n");
      assertThat(reader.text().split("while it was lost", -1)).hasSize(2);
    } finally {
      reader.gone = true;
      cli.run("pause", "mails", "--because", "x");
      cli.run("resume", "mails", "--because", "x");
      tail.join(SOON.toMillis());
    }
    assertThat(tail.isAlive()).isFalse();
  }

  @Test
  void statusThatWatchesGoesOnWhenItsConnectionWasLost(TestDatabase database) throws Exception {
    var reader = new Reader();
    var errors = new Reader();
    var cli = new Cli(database.login());
    var status =
        command(cli, reader, errors, "status", "mails", "--watch", "--every", "1", "-o", "json");
    status.start();
    try {
      await().atMost(SOON).until(() -> reader.text().contains("\"backlog\": 0"));
      endSessions(database);
      Cli.publish(database, "1");
      await().atMost(SOON).until(() -> reader.text().contains("\"backlog\": 1"));
      assertThat(errors.text())
          .startsWith("pgonce: ")
          .contains("It is tried again each 2 s, until Ctrl-C")
          .endsWith("pgonce: connected again\n");
    } finally {
      reader.gone = true;
      status.join(SOON.toMillis());
    }
    assertThat(status.isAlive()).isFalse();
  }

  /** One that comes before tail's first look is not new to it. */
  private static void awaitFirstLook(Cli cli, Reader reader) {
    await()
        .atMost(SOON)
        .until(
            () -> {
              cli.run("pause", "mails", "--because", "x").ends(0);
              cli.run("resume", "mails", "--because", "x").ends(0);
              return reader.text().contains("RESUME");
            });
  }

  private static void endSessions(TestDatabase database) throws Exception {
    database.execute(
        "select pg_terminate_backend(pid, 10000) from pg_stat_activity where application_name = 'pgonce cli' and datname = current_database()");
  }

  @Tag("all")
  @Test
  void whatComesIntoSightIsNotNew(TestDatabase database) throws Exception {
    Cli.bury(database, 1_500, "REJECTED", "no such account");
    database.execute(
        "insert into pgonce.scheduled (subscription_id, id, attempts, due_at, created_at, last_error, payload) select subscription_id, id, 1, now() + interval '1 day', now(), 'busy', payload from pgonce.dead_letter");
    var reader = new Reader();
    var cli = new Cli(database.login());
    var tail = tail(cli, reader, new Reader());
    tail.start();
    try {
      awaitFirstLook(cli, reader);
      database.execute("delete from pgonce.scheduled where id > 500");
      database.execute("delete from pgonce.dead_letter where id > 500");
      cli.run("pause", "mails", "--because", "the later one").ends(0);
      await().atMost(SOON).until(() -> reader.text().contains("the later one"));
      assertThat(reader.text()).doesNotContain("DEAD").doesNotContain("FAILED");
      Cli.bury(database, 1, "REJECTED", "a new one");
      await().atMost(SOON).until(() -> reader.text().contains("a new one"));
    } finally {
      reader.gone = true;
      Cli.bury(database, 1, "REJECTED", "for the reader that is gone");
      tail.join(SOON.toMillis());
    }
    assertThat(tail.isAlive()).isFalse();
  }
}
