package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;
import static org.pgonce.triggers.DumpScene.ADDED;
import static org.pgonce.triggers.DumpScene.MAIL;
import static org.pgonce.triggers.DumpScene.ONCE;
import static org.pgonce.triggers.DumpScene.WAITING;

import java.nio.file.Files;
import java.time.Duration;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.PgOnce;
import org.pgonce.PgOnceException;
import org.pgonce.testkit.PackagedServer;
import org.pgonce.testkit.TestDatabase;

/** H72: what pg_dump, pg_restore and psql make of a database in which pgonce works. */
class DumpTest {

  private static final Duration BOUND = Duration.ofSeconds(30);

  // As docs/copies.md has it.
  private static final String EMPTY_PGONCE =
      """
      SELECT format('TRUNCATE %s', string_agg(c.oid::regclass::text, ', '))
        FROM pg_class c WHERE c.relnamespace = 'pgonce'::regnamespace AND c.relkind = 'r' \\gexec
      """;

  private static PackagedServer server;
  private TestDatabase original;
  private TestDatabase copy;

  @BeforeAll
  static void startServer() throws Exception {
    server = PackagedServer.start();
  }

  @AfterAll
  static void stopServer() {
    if (server != null) {
      server.close();
    }
  }

  @BeforeEach
  void databases() throws Exception {
    original = server.createDatabase();
    copy = server.createDatabase();
    DumpScene.set(original);
  }

  @AfterEach
  void dropDatabases() {
    copy.close();
    original.close();
  }

  @Test
  void example_aDumpRestoredAsASecondDatabaseIsAdopted() throws Exception {
    dump("-Fc");
    restore();
    assertThatThrownBy(() -> DumpScene.listen(copy)).isInstanceOf(PgOnceException.class);

    copy.execute("set pgonce.operator = 'Anna'; select pgonce.adopt('the old server is gone')");
    try (var listening = DumpScene.listen(copy)) {
      awaitEffects(5);
      assertThat(listening.status().state()).hasToString("RUNNING");
    }
  }

  @Tag("all")
  @Test
  void h72_aDumpRestoredWholeHoldsEverythingAndDeliversNothingUntilItIsAdopted() throws Exception {
    dump("-Fc");
    restore();

    assertThat(copy.queryString(WAITING)).isEqualTo(original.queryString(WAITING));
    try (var connection = copy.dataSource().getConnection()) {
      assertThat(Triggers.check(connection, ADDED)).isEmpty();
    }
    copy.execute("insert into author values (4, 'Dan')");
    assertThat(DumpScene.waiting(copy)).as("the trigger works there").isEqualTo(5);
    PgOnce.using(copy.dataSource()).install(ADDED, MAIL, ONCE);
    assertRefused("its schema pgonce was restored from a dump");
    // The same oid, as the first database of another server may have: known all the same.
    copy.execute(
        "update pgonce.installation set home = (select oid from pg_database where datname = current_database()) || ' x'");
    assertRefused("its schema pgonce was restored from a dump");

    copy.execute("select pgonce.adopt('to test with it')");
    try (var listening = DumpScene.listen(copy)) {
      // Four authors, and of mail what was new and what was on lease.
      awaitEffects(6);
      var epoch = original.queryString("select epoch from pgonce.installation");
      assertThat(copy.queryString("select string_agg(note, ' ' order by note) from effect"))
          .contains("author_inserted:" + epoch + ":1 Ann", "k1 new", "on lease")
          .doesNotContain("dead", "later", "begun");
      await()
          .atMost(BOUND)
          .until(
              () ->
                  copy.queryLong(
                          "select count(*) from pgonce.dead_letter where reason = 'OUTCOME_UNKNOWN'")
                      == 1);
      copy.execute("insert into author values (5, 'Eve')");
      awaitEffects(7);
      assertThat(listening.status().state()).hasToString("RUNNING");
    }
    assertThat(copy.queryString("select note from effect where note like '%Eve'"))
        .matches("author_inserted:[0-9a-f]{8}:10{9}\\d{3} Eve");
    assertThat(
            copy.queryString(
                "select channel || ' ' || reason from pgonce.operation_log where what = 'ADOPT'"))
        .isEqualTo("* to test with it");
    assertThat(original.queryLong("select count(*) from effect")).isZero();
  }

  @Tag("all")
  @Test
  void h72_theOriginalGoesOnAfterItWasDumped() throws Exception {
    dump("-Fc");
    try (var listening = DumpScene.listen(original)) {
      await().atMost(BOUND).until(() -> original.queryLong("select count(*) from effect") == 5);
      assertThat(listening.status().state()).hasToString("RUNNING");
    }
  }

  @Test
  @Tag("all")
  void h72_aDatabaseMadeFromItAsATemplateIsACopy() throws Exception {
    copy.close();
    server.run("createdb", "-T", original.name(), copy.name());
    assertThat(copy.queryString(WAITING)).isEqualTo(original.queryString(WAITING));
    assertRefused("it was made from another database as its template");
    copy.execute("select pgonce.adopt('for the acceptance test')");
    DumpScene.listen(copy).close();
  }

  @Test
  @Tag("all")
  void h72_aDumpRestoredOverItsOwnDatabaseIsACopy() throws Exception {
    dump("-Fc");
    var result =
        server.run(
            "pg_restore", "--clean", "--if-exists", "-d", original.name(), server.file("dump"));
    assertThat(result.status()).describedAs(result.output()).isZero();
    assertThatThrownBy(() -> DumpScene.listen(original))
        .hasMessageContaining("was restored from a dump");
  }

  @Test
  @Tag("all")
  void h72_dataAloneIntoAnInstalledPgonceCollidesAndTheTriggersFire() throws Exception {
    dump("-Fc", "--data-only");
    installInCopy();

    var result = server.run("pg_restore", "-d", copy.name(), server.file("dump"));

    assertThat(result.status()).isNotZero();
    assertThat(result.output())
        .contains("COPY failed for table \"notification\"", "COPY failed for table \"scheduled\"")
        .contains("COPY failed for table \"installation\"", "COPY failed for table \"channel\"");
    assertThat(copy.queryLong("select count(*) from author")).isEqualTo(3);
    // None of those that waited, but one for each row that was loaded.
    assertThat(
            copy.queryString(
                "select string_agg(payload ->> 'name', ' ' order by id) from pgonce.notification where subscription_id > 0"))
        .isEqualTo("Ann Bob Cid");
    assertThat(copy.queryLong("select count(*) from pgonce.scheduled where subscription_id > 0"))
        .isZero();
  }

  /** Why docs/copies.md has schema pgonce left out of such a dump: nobody tells these rows. */
  @Test
  @Tag("all")
  void h72_dataAloneAsInsertsIsMixedWithWhatIsThereAndNoCopy() throws Exception {
    dump("--data-only", "--inserts", "--on-conflict-do-nothing");
    DumpScene.createTable(copy);
    PgOnce.using(copy.dataSource()).install(ONCE).install(MAIL).install(ADDED);

    server.run("psql", "-d", copy.name(), "-f", server.file("dump"));

    assertThat(
            copy.queryString(
                "select string_agg(distinct s.of_channel, ' ') from pgonce.notification n join pgonce.subscription s on s.id = n.subscription_id where n.payload ->> 'name' is not null"))
        .as("with the authors of the original")
        .isEqualTo("author_inserted once");
    assertThat(copy.queryString("select pgonce.copy_of_another()")).isNull();
  }

  @Test
  @Tag("all")
  void h72_dataWithoutPgoncesAndWithTriggersDisabledMakesNoNotification() throws Exception {
    dump("-Fc", "--data-only", "--exclude-schema=pgonce");
    installInCopy();

    restore("--disable-triggers");

    assertThat(copy.queryLong("select count(*) from author")).isEqualTo(3);
    assertThat(DumpScene.waiting(copy)).isZero();
    try (var listening = DumpScene.listen(copy)) {
      copy.execute("insert into author values (4, 'Dan')");
      awaitEffects(1);
      assertThat(listening.status().state()).hasToString("RUNNING");
    }
  }

  @Test
  @Tag("all")
  void h72_theDataOfPgonceGoesIntoAnEmptiedOneAndIsACopyUntilAdopted() throws Exception {
    dump("-Fc", "--data-only");
    installInCopy();
    psql(EMPTY_PGONCE);

    restore("--disable-triggers", "--single-transaction");

    assertThat(copy.queryString(WAITING)).isEqualTo(original.queryString(WAITING));
    // The same oid, as the first database of another server may have: known all the same.
    copy.execute(
        "update pgonce.installation set home = (select oid from pg_database where datname = current_database()) || substr(home, strpos(home, ' '))");
    assertRefused("what its tables of schema pgonce hold was restored from a dump");
    copy.execute("select pgonce.adopt('moved to a new server')");
    try (var listening = DumpScene.listen(copy)) {
      awaitEffects(5);
      assertThat(listening.status().state()).hasToString("RUNNING");
    }
  }

  @Test
  @Tag("all")
  void h72_aDumpWithoutPgonceLacksTheTriggersAndIsInstalledAnew() throws Exception {
    dump("-Fc", "--exclude-schema=pgonce*");

    var result = server.run("pg_restore", "-d", copy.name(), server.file("dump"));

    assertThat(result.output()).contains("schema \"pgonce_triggers\" does not exist");
    assertThat(copy.queryLong("select count(*) from author")).isEqualTo(3);
    PgOnce.using(copy.dataSource()).install(ADDED, MAIL, ONCE);
    copy.execute("insert into author values (4, 'Dan')");
    try (var listening = DumpScene.listen(copy)) {
      awaitEffects(1);
      assertThat(listening.status().state()).hasToString("RUNNING");
    }
  }

  @Test
  @Tag("all")
  void h72_aDumpOfTheSchemaAloneIsANewInstallationAfterInstall() throws Exception {
    dump("-Fc", "--schema-only");
    restore();
    assertThatThrownBy(() -> DumpScene.listen(copy)).isInstanceOf(PgOnceException.class);

    PgOnce.using(copy.dataSource()).install(ADDED, MAIL, ONCE);
    copy.execute("insert into author values (4, 'Dan')");
    try (var listening = DumpScene.listen(copy)) {
      awaitEffects(1);
      assertThat(listening.status().state()).hasToString("RUNNING");
    }
  }

  /** The triggers and their functions are there, and have the ids of the original's channels. */
  @Test
  void h72_whatIsWrittenBeforeTheChannelIsInstalledGoesToNoOtherChannel() throws Exception {
    var waiting = "select coalesce(sum(backlog), 0) from pgonce.channel_status";
    dump("-Fc", "--schema-only");
    restore();
    copy.execute("insert into author values (5, 'Eve')");
    PgOnce.using(copy.dataSource()).install(MAIL, ONCE);
    copy.execute("insert into author values (6, 'Fay')");
    assertThat(copy.queryLong(waiting)).isZero();

    PgOnce.using(copy.dataSource()).install(ADDED);
    copy.execute("insert into author values (7, 'Gus')");
    assertThat(copy.queryLong(waiting)).isOne();
  }

  private void dump(String... options) throws Exception {
    var arguments = new String[options.length + 3];
    System.arraycopy(options, 0, arguments, 0, options.length);
    arguments[options.length] = "-f";
    arguments[options.length + 1] = server.file("dump");
    arguments[options.length + 2] = original.name();
    var result = server.run("pg_dump", arguments);
    assertThat(result.status()).describedAs(result.output()).isZero();
  }

  private void restore(String... options) throws Exception {
    var arguments = new String[options.length + 3];
    System.arraycopy(options, 0, arguments, 0, options.length);
    arguments[options.length] = "-d";
    arguments[options.length + 1] = copy.name();
    arguments[options.length + 2] = server.file("dump");
    var result = server.run("pg_restore", arguments);
    assertThat(result.status()).describedAs(result.output()).isZero();
  }

  private void psql(String script) throws Exception {
    var file = Files.createTempFile("pgonce-script-", ".sql");
    try {
      Files.writeString(file, script);
      var result =
          server.run("psql", "-v", "ON_ERROR_STOP=1", "-d", copy.name(), "-f", file.toString());
      assertThat(result.status()).describedAs(result.output()).isZero();
    } finally {
      Files.delete(file);
    }
  }

  private void installInCopy() throws Exception {
    DumpScene.createTable(copy);
    PgOnce.using(copy.dataSource()).install(ADDED, MAIL, ONCE);
  }

  private void assertRefused(String why) {
    assertThatThrownBy(() -> DumpScene.listen(copy))
        .isInstanceOf(PgOnceException.class)
        .hasMessageContaining("database \"" + copy.name() + "\" is a copy: " + why)
        .hasMessageContaining("SELECT pgonce.adopt('why')");
    assertThatThrownBy(
            () ->
                copy.execute(
                    "select pgonce.listener_starts(gen_random_uuid(), 'by hand', '{1}', 'polling', 1000)"))
        .hasMessageContaining(why);
  }

  private void awaitEffects(int count) {
    await()
        .atMost(BOUND)
        .untilAsserted(
            () -> assertThat(copy.queryLong("select count(*) from effect")).isEqualTo(count));
  }
}
