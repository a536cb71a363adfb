package org.pgonce.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.net.CookieManager;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.pgonce.testkit.JvmProcess;

/** The packed jar: every command once, and how it ends. */
class PackedJarIT extends PackedJarScene {

  @Tag("all")
  @ParameterizedTest
  @CsvSource({
    "status, 0, mails",
    "explain mails, 0, DONE_OR_NEVER",
    "peek mails, 0, nothing waits",
    "history mails, 0, keeps no history",
    "dead, 0, no dead letters",
    "listeners, 0, nobody listens",
    "channels, 0, EXACTLY_ONCE",
    "log, 0, INSTALL",
    "pause mails --because x, 0, 1 subscriptions of channel mails paused",
    "resume mails --because x, 0, 1 subscriptions of channel mails resumed",
    "retry-now mails 1 --because x, 0, made due",
    "redrive mails --all --because x, 0, redriven",
    "discard mails 1 --because x, 0, discarded",
    "cancel mails 1 --because x, 0, cancelled",
    "publish mails 1 --because x --dry-run, 0, would be published",
    "adopt --because x --dry-run, 0, would be adopted",
    "migrate check, 0, as needed",
    "migrate apply --dry-run, 0, nothing to do",
    "migrate print, 0, the database half",
    "migrate down --dry-run --database other, 1, ''",
    "grants postgres --to look, 0, nothing is missing",
    "record author, 0, public record Author(",
    "generate-completion, 0, complete -F",
    "explain nowhere, 1, ''",
    "nothing, 2, ''"
  })
  void eachCommandRuns(String line, int status, String shows) throws Exception {
    database.execute("create table if not exists author (id bigint, name text)"); // for record
    var run = run(line.split(" "));
    assertThat(run.status()).as(run.toString()).isEqualTo(status);
    assertThat(run.out()).contains(shows);
    if (status == 0) {
      assertThat(run.err()).isEmpty();
    } else if (status != 3) {
      assertThat(run.err()).isNotEmpty();
    }
  }

  /** As cron starts it. */
  @Test
  void withoutALocaleItPrintsWhatIsThere() throws Exception {
    database.execute(
        "select pgonce.publish('mails', '\"Grüße\"', delivery_key => 'für Ada', delay => '1 hour')");
    var command = command("peek", "mails", "--payload", "-o", "json");
    command.environment().put("LC_ALL", "C");
    assertThat(ended(command).out()).contains("\"für Ada\"", "\"Grüße\"");
    database.execute("select pgonce.cancel('mails', delivery_keys => array['für Ada'])");
  }

  @Test
  void digitsAreTheSameInEveryCountry() throws Exception {
    Cli.bury(database, 1_234, "REJECTED", "no such account");
    var arabic = List.of("-Duser.language=ar", "-Duser.country=EG");
    var looked = ended(java(arabic, "dead", "--group"));
    var discarded = ended(java(arabic, "discard", "mails", "--all", "--because", "x"));
    assertThat(looked.out()).contains(" 1234 ");
    assertThat(discarded.out())
        .as(discarded.err())
        .isEqualTo("1,234 dead letters of channel mails discarded\n");
  }

  @Test
  void doctorEndsWithThreeWhereItFindsSomething() throws Exception {
    Cli.publish(database, "1");
    var run = run("doctor -o json".split(" "));
    database.execute("delete from pgonce.notification where subscription_id > 0");
    assertThat(run.status()).as(run.toString()).isEqualTo(3);
    assertThat(run.out()).contains("\"NO_LISTENER\"");
  }

  @Test
  void allCommandsAreRunHere() throws Exception {
    var source = Files.readString(Path.of("src/test/java/org/pgonce/cli/PackedJarIT.java"));
    var missing = new HashSet<>(CommandNames.all());
    missing.removeIf(
        name -> source.contains('"' + name + ",") || source.contains('"' + name + " "));
    // They have no end of their own: see below.
    assertThat(missing).isEqualTo(Set.of("tail", "console"));
  }

  @ParameterizedTest
  @CsvSource({"status --watch --every 1", "status --watch -o json", "tail"})
  void ctrlCEndsItCleanly(String line) throws Exception {
    Assumptions.assumeFalse(JvmProcess.interruptIsIgnored(), "skipped: SIGINT is ignored here");
    var err = Files.createTempFile(directory, "err", "").toFile();
    var process = command(line.split(" ")).redirectError(err).start();
    try {
      awaitConnected(true);
      new ProcessBuilder("kill", "-INT", String.valueOf(process.pid())).start().waitFor();
      assertThat(process.waitFor(SOON.toSeconds(), TimeUnit.SECONDS)).isTrue();
      assertThat(process.exitValue()).isEqualTo(130);
      assertThat(Files.readString(err.toPath())).isEmpty();
      awaitConnected(false);
    } finally {
      process.destroyForcibly();
    }
  }

  @Tag("all")
  @Test
  void aClosedPipeEndsWatching() throws Exception {
    var err = Files.createTempFile(directory, "err", "").toFile();
    var process = command("status", "--watch", "--every", "1").redirectError(err).start();
    try {
      var reader =
          new BufferedReader(
              new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
      assertThat(reader.readLine()).startsWith("CHANNEL");
      reader.close();
      assertThat(process.waitFor(SOON.toSeconds(), TimeUnit.SECONDS)).isTrue();
      assertThat(process.exitValue()).isZero();
      assertThat(Files.readString(err.toPath())).isEmpty();
    } finally {
      process.destroyForcibly();
    }
  }

  @Test
  void anOutputThatIsNotWrittenIsAFailure() throws Exception {
    var full = new File("/dev/full");
    Assumptions.assumeTrue(full.exists(), "skipped: no /dev/full here");
    var err = Files.createTempFile(directory, "err", "").toFile();
    var process = command("status").redirectOutput(full).redirectError(err).start();
    assertThat(process.waitFor(SOON.toSeconds(), TimeUnit.SECONDS)).isTrue();
    assertThat(process.exitValue()).isEqualTo(1);
    assertThat(Files.readString(err.toPath())).contains("could not be written");
  }

  @Tag("all")
  @Test
  void tailFollowsWhatFailsAndWhatIsDone() throws Exception {
    var out = Files.createTempFile(directory, "out", "").toFile();
    var process = command("tail", "mails").redirectOutput(out).start();
    try {
      awaitConnected(true);
      await()
          .atMost(SOON)
          .until(
              () -> {
                Cli.bury(database, 1, "REJECTED", "no such account");
                return Files.readString(out.toPath()).contains("REJECTED: no such account");
              });
      run("pause", "mails", "--because", "mail server is down");
      await().atMost(SOON).until(() -> Files.readString(out.toPath()).contains("PAUSE mails"));
      assertThat(Files.readString(out.toPath())).contains("Ada mail server is down");
    } finally {
      process.destroyForcibly();
      process.waitFor();
      run("resume", "mails", "--because", "x");
      run("discard", "mails", "--all", "--because", "x");
    }
  }

  @Test
  void theConsoleAnswersUntilCtrlC() throws Exception {
    Assumptions.assumeFalse(JvmProcess.interruptIsIgnored(), "skipped: SIGINT is ignored here");
    var err = Files.createTempFile(directory, "err", "").toFile();
    var process = command("console", "--port", "0", "--operate").redirectError(err).start();
    try {
      var url =
          new BufferedReader(
                  new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))
              .readLine();
      assertThat(url).as(Files.readString(err.toPath())).startsWith("http://127.0.0.1:");
      var base = url.substring(0, url.indexOf("?token="));
      var request = HttpRequest.newBuilder(URI.create(base + "channel/mails")).build();
      var stranger = HttpClient.newHttpClient();
      assertThat(stranger.send(request, BodyHandlers.ofString()).statusCode()).isEqualTo(401);
      var client = HttpClient.newBuilder().cookieHandler(new CookieManager()).build();
      var entered = HttpRequest.newBuilder(URI.create(url)).build();
      assertThat(client.send(entered, BodyHandlers.ofString()).statusCode()).isEqualTo(303);
      var answer = client.send(request, BodyHandlers.ofString());
      assertThat(answer.statusCode()).isEqualTo(200);
      assertThat(answer.body()).contains("Actions are done as Ada").contains(">Pause…<");
      var style = HttpRequest.newBuilder(URI.create(base + "static/console.css")).build();
      assertThat(HttpClient.newHttpClient().send(style, BodyHandlers.ofString()).statusCode())
          .isEqualTo(200);
      new ProcessBuilder("kill", "-INT", String.valueOf(process.pid())).start().waitFor();
      assertThat(process.waitFor(SOON.toSeconds(), TimeUnit.SECONDS)).isTrue();
      assertThat(process.exitValue()).isEqualTo(130);
      assertThat(Files.readString(err.toPath())).isEmpty();
      new ServerSocket(request.uri().getPort()).close(); // the port is free
    } finally {
      process.destroyForcibly();
    }
  }

  private void awaitConnected(boolean connected) {
    await()
        .atMost(SOON)
        .until(
            () ->
                database.queryLong(
                            "select count(*) from pg_stat_activity where application_name = 'pgonce cli' and datname = current_database()")
                        > 0
                    == connected);
  }
}
