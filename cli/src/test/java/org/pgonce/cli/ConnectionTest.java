package org.pgonce.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.pgonce.testkit.Login;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** Where the database is, and what of a password is seen: nothing. */
@PgTest(PgOnceInstalled.class)
class ConnectionTest {

  private static final String SECRET = "hunter2-s3cret";

  private TestDatabase database;
  private Login login;
  private Cli cli;

  @BeforeEach
  void open(TestDatabase fresh) throws Exception {
    database = fresh;
    login = fresh.loginRole("looks", "pgonce_monitor");
    cli = new Cli(login);
  }

  private String url() {
    return "postgresql://%s:%d/%s".formatted(login.host(), login.port(), login.database());
  }

  @Test
  void theUrlWinsOverVariables() {
    cli.environment.put("PGDATABASE", "nowhere");
    cli.environment.put("PGONCE_URL", "postgresql://localhost:1/nowhere");
    cli.run("status", "--url", url()).ends(0);
    cli.run("status", "--url", "jdbc:" + url()).ends(0);
    cli.environment.put("PGONCE_URL", url());
    cli.run("status").ends(0);
    cli.environment.remove("PGPASSWORD");
    cli.environment.put(
        "PGONCE_URL", url().replace("//", "//" + login.user() + ":" + login.password() + "@"));
    cli.environment.remove("PGUSER");
    cli.run("status").ends(0);
  }

  @Test
  void h77_variablesNameADatabaseToTheLetter() {
    var name = "My, \"shop\" 50%25 + a/b?c#d&e='ü'";
    cli.environment.put("PGDATABASE", name);
    assertThat(cli.run("status").ends(1).err())
        .contains("database \"" + name + "\" does not exist");
  }

  @Test
  void aPasswordIsAskedFor() {
    cli.environment.remove("PGPASSWORD");
    assertThat(cli.run("doctor", "--password").ends(1).err()).contains("no terminal to ask");
    var asked = new int[1];
    cli.askPassword =
        () -> {
          asked[0]++;
          return login.password().toCharArray();
        };
    cli.run("status", "--password").ends(0);
    assertThat(asked[0]).isEqualTo(1);
    cli.run("doctor", "--password");
    assertThat(asked[0]).isEqualTo(2);
    cli.askPassword = () -> null; // Ctrl-D
    assertThat(cli.run("status", "--password").ends(1).err())
        .startsWith("pgonce: no password was given")
        .contains("PGPASSWORD");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "status --password=" + SECRET,
        "status --url postgresql://u:" + SECRET + "@localhost/db",
        "status --url jdbc:postgresql://localhost/db?password=" + SECRET,
        "status --url postgresql://u:" + SECRET + "@local host/db",
        "status --url http://u:" + SECRET + "@localhost/db",
        "status mails --password " + SECRET,
        "status --password " + SECRET,
        "status --password -- " + SECRET,
        "status --url postgresql://u:" + SECRET + "@my_db/db",
        "status --url postgresql://u:" + SECRET + "@h1,h2:5432"
      })
  void noPasswordIsTakenAsAnArgumentOrShown(String arguments) {
    var run = cli.run(arguments.split(" (?!host)"));
    assertThat(run.status()).isIn(1, 2);
    assertThat(run.out() + run.err()).doesNotContain(SECRET);
  }

  @Test
  void aPasswordInAnArgumentIsRefused() {
    var url = url().replace("//", "//" + login.user() + ":" + login.password() + "@");
    assertThat(cli.run("status", "--url", url).ends(2).err()).contains("holds a password");
    url = "jdbc:" + url() + "?user=" + login.user() + "&password=" + login.password();
    assertThat(cli.run("status", "--url", url).ends(2).err()).contains("holds a password");
  }

  /** As scripts tell it from what has failed. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "status --url foo",
        "status --every 0",
        "status --statement-timeout soon",
        "console --port 99999",
        "dead mails --from foo",
        "dead mails --reason FOO",
        "dead mails --limit 0",
        "dead mails one",
        "redrive mails --because x",
        "grants ann --to foo",
        "record a.b.c.d"
      })
  void argumentsThatCannotBeReadEndWithTwo(String arguments) {
    assertThat(cli.run(arguments.split(" ")).ends(2).err()).isNotEmpty();
  }

  /** As scripts make it where a variable is not set. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "?user=%1$s&password=",
        "?password=&user=%1$s",
        "?password=&user=%1$s&sslmode=disable"
      })
  void anEmptyPasswordInAnArgumentIsNone(String parameters) {
    cli.run("status", "--url", url() + parameters.formatted(login.user())).ends(0);
    var empty = url().replace("//", "//" + login.user() + ":@");
    cli.run("status", "--url", empty).ends(0);
    cli.environment.remove("PGPASSWORD");
    cli.environment.put("PGONCE_URL", empty);
    assertThat(cli.run("status").ends(1).err()).contains("no password was provided");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "postgresql://u:" + SECRET + "@localhost:1/db",
        "postgresql://u:" + SECRET + "@[::/db",
        "jdbc:postgresql://localhost:x/db?password=" + SECRET,
        "jdbc:postgresql://localhost:1/db?password=" + SECRET
      })
  void noErrorShowsThePasswordOfThePgonceUrl(String url) {
    cli.environment.remove("PGPASSWORD");
    cli.environment.put("PGONCE_URL", url);
    var run = cli.run("status").ends(1);
    assertThat(run.out() + run.err()).doesNotContain(SECRET);
  }

  @Test
  void aWrongPasswordIsNotShown() {
    cli.environment.put("PGPASSWORD", SECRET);
    assertThat(cli.run("status").ends(1).err()).contains("28P01").doesNotContain(SECRET);
  }

  @Test
  void aServerThatIsNotThereIsSaidSo() {
    assertThat(cli.run("status", "--url", "postgresql://localhost:1/db").ends(1).err())
        .contains("Is the address right");
  }

  @Tag("all")
  @Test
  void everyWaitIsBounded() throws Exception {
    var admin = new Cli(database.login());
    Cli.bury(database, 1, "REJECTED", "no");
    try (var other = database.dataSource().getConnection();
        var statement = other.createStatement()) {
      other.setAutoCommit(false);
      statement.execute("lock table pgonce.dead_letter");
      var change = new String[] {"discard", "mails", "1", "--because", "x"};
      var bounded = new String[] {"--lock-timeout", "1", "--statement-timeout", "20"};
      assertThat(admin.run(both(change, bounded)).ends(1).err()).contains("--lock-timeout");
      bounded = new String[] {"--lock-timeout", "20", "--statement-timeout", "1"};
      assertThat(admin.run(both(change, bounded)).ends(1).err()).contains("--statement-timeout");
      other.rollback();
    }
    assertThat(admin.run("status", "--lock-timeout", "0").ends(2).err()).contains("between 1s and");
    assertThat(admin.run("status", "--lock-timeout", "1m", "--statement-timeout", "2h").status())
        .isZero();
    assertThat(admin.run("status", "--lock-timeout", "soon").ends(2).err())
        .contains("'soon' is no duration: write 90s, 5m");
  }

  private static String[] both(String[] first, String[] second) {
    var both = Arrays.copyOf(first, first.length + second.length);
    System.arraycopy(second, 0, both, first.length, second.length);
    return both;
  }

  @Test
  void aConnectionThatFailsSaysWhereItWasTried() {
    assertThat(cli.run("status", "--url", "postgresql://nowhere.invalid/orders").ends(1).err())
        .contains("(08001) at nowhere.invalid:5432/orders.")
        .endsWith("does the server run?" + System.lineSeparator());
    assertThat(cli.run("status", "--url", url() + "_gone").ends(1).err())
        .contains(
            "(3D000) at %s:%d/%s_gone".formatted(login.host(), login.port(), login.database()));
    var hosts = "nowhere.invalid:1,nowhere.invalid:2";
    assertThat(cli.run("status", "--url", "postgresql://" + hosts + "/orders").ends(1).err())
        .contains(" at " + hosts + "/orders.");
  }

  @Test
  void aServerThatHasNoConnectionLeftSaysWhereAndWhatToDo() throws Exception {
    var full = database.loginRole("full", "pgonce_monitor");
    database.execute("alter role \"%s\" connection limit 0".formatted(full.user()));
    assertThat(new Cli(full).run("status").ends(1).err())
        .contains("(53300) at %s:%d/%s.".formatted(full.host(), full.port(), full.database()))
        .contains("max_connections");
  }
}
