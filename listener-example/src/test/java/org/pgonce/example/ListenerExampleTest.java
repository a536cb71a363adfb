package org.pgonce.example;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.net.ConnectException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.sql.SQLException;
import java.time.Duration;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.example.run.DatabaseAddress;
import org.pgonce.example.run.ExitStatus;
import org.pgonce.example.run.Sql;
import org.pgonce.testkit.Login;
import org.pgonce.testkit.TestServer;

/** The main run of the example, in its short form, and on what server it may run. */
class ListenerExampleTest {

  private static final String OWN_DATABASES =
      "select count(*) from pg_database where datname like 'pgonce\\_example\\_%'";

  private static DatabaseAddress server() {
    var server = TestServer.shared();
    return new DatabaseAddress(server.jdbcUrl(), server.user(), server.password());
  }

  @Test
  void s01_everyAuthorGetsOnePostThoughListenersAreKilled() throws Exception {
    try (var run =
        ExampleRun.startOnSharedServer(
            "--rows", "600", "--writers", "2", "--processes", "3", "--kills", "3")) {
      assertThat(ExampleRun.figures(run.awaitStatus(ExitStatus.KEPT)))
          .containsEntry("authors", 600L)
          .containsEntry("posts", 600L)
          .containsEntry("lost", 0L)
          .containsEntry("duplicates", 0L)
          .containsEntry("kills", 3L);
    }
  }

  @Tag("all")
  @Test
  void s01_aDoubledPostIsFoundAndTheRunIsBroken() throws Exception {
    try (var run =
        ExampleRun.startOnSharedServer(
            // So slowly that the trigger is there before the last ones, however slow this thread
            // is.
            "--rows", "100", "--rate", "20", "--processes", "1", "--kills", "0", "--seed", "1")) {
      var database = run.awaitLine("database ").replaceAll("^database +|,.*", "");
      Sql.execute(
          server().database(database),
          """
          create function twice() returns trigger language plpgsql as $$
          begin
            -- The run ends with the hundredth post, whosever it is: so this one is the last.
            while (select count(*) from post) < 100 loop
              perform pg_sleep(0.02);
            end loop;
            insert into post (author_id, content, written_by) values (new.author_id, 'again', new.written_by);
            return null;
          end $$;
          create trigger twice after insert on post for each row when (new.author_id = 100 and new.content <> 'again')
            execute function twice()
          """);
      assertThat(ExampleRun.figures(run.awaitStatus(ExitStatus.BROKEN)))
          .containsEntry("duplicates", 1L)
          .containsEntry("lost", 0L);
    }
  }

  @Test
  @Tag("all")
  void theRunCanBeWatchedInABrowserUntilItEnds() throws Exception {
    try (var run =
        ExampleRun.startOnSharedServer(
            "--console", "--rows", "40", "--rate", "20", "--processes", "1", "--kills", "0")) {
      var line = run.awaitLine("console      http://127.0.0.1:");
      var page = URI.create(line.substring(line.indexOf("http")));
      assertThat(get(page)).contains("author_inserted").contains("For reading only.");
      run.awaitStatus(ExitStatus.KEPT);
      assertThatThrownBy(() -> get(page)).isInstanceOf(ConnectException.class);
    }
  }

  @Test
  @Tag("all")
  void aPortThatIsTakenIsNamed() throws Exception {
    try (var taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        var run =
            ExampleRun.startOnSharedServer(
                "--console", String.valueOf(taken.getLocalPort()), "--processes", "1")) {
      assertThat(run.awaitStatus(ExitStatus.CANNOT_RUN))
          .anyMatch(line -> line.contains("cannot listen at port " + taken.getLocalPort()));
    }
  }

  private static String get(URI page) throws Exception {
    var request = HttpRequest.newBuilder(page).timeout(Duration.ofSeconds(30)).build();
    return HttpClient.newHttpClient().send(request, BodyHandlers.ofString()).body();
  }

  @Test
  @Tag("all")
  void anOwnServerIsLeftAsItWas() throws Exception {
    var roles = Sql.number(server(), "select count(*) from pg_roles");
    try (var run =
        ExampleRun.startOnSharedServer("--rows", "10", "--processes", "1", "--kills", "0")) {
      run.awaitStatus(ExitStatus.KEPT);
    }
    awaitNoOwnDatabase();
    assertThat(Sql.number(server(), "select count(*) from pg_roles")).isEqualTo(roles);
  }

  @Test
  @Tag("all")
  void aRoleThatMayMakeDatabasesAndRolesIsEnough() throws Exception {
    try (var database = TestServer.shared().createDatabase()) {
      Login login = database.loginRole("owner");
      database.execute("ALTER ROLE \"" + login.user() + "\" CREATEDB CREATEROLE");
      if (Sql.number(server(), "select count(*) from pg_roles where rolname = 'pgonce_owner'")
          > 0) {
        database.execute("GRANT pgonce_owner TO \"%s\"".formatted(login.user()));
      }
      try (var run =
          ExampleRun.start(
              "--rows",
              "10",
              "--processes",
              "1",
              "--kills",
              "0",
              "--user",
              login.user(),
              "--url",
              login.jdbcUrl() + "?password=" + login.password())) {
        run.awaitStatus(ExitStatus.KEPT);
      }
    }
  }

  static void awaitNoOwnDatabase() {
    Awaitility.await()
        .atMost(Duration.ofSeconds(20))
        .ignoreExceptionsInstanceOf(SQLException.class)
        .until(() -> Sql.number(server(), OWN_DATABASES) == 0);
  }
}
