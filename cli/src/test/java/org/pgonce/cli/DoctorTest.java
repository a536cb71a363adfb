package org.pgonce.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.regex.Pattern;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.testkit.PgBouncer;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import tools.jackson.databind.JsonNode;

/** Each finding that can be staged in a database of its own; a test is named after its finding. */
@PgTest(PgOnceInstalled.class)
@Tag("versions")
class DoctorTest {

  private TestDatabase database;
  private Cli cli;

  @BeforeEach
  void open(TestDatabase fresh) {
    database = fresh;
    cli = new Cli(fresh.login());
  }

  private JsonNode finding(String name, String... more) {
    return DoctorFindings.one(cli, name, more);
  }

  /** What to do about a cause is told in one place. */
  private void leadsTo(String cause, String name) {
    var advice = finding(name).get("advice").asString();
    var command = Pattern.compile("pgonce (explain \\w+( \\d+)?)$").matcher(advice);
    assertThat(command.find()).as(advice).isTrue();
    assertThat(cli.run(command.group(1).split(" ")).ends(3).out()).contains(" " + cause + "\n");
  }

  private void isAbsent(String name) {
    assertThat(DoctorFindings.names(cli)).doesNotContain(name);
  }

  /** Of a table, with a trigger as the module triggers names it. */
  private void watch(String table) throws SQLException {
    database.execute(
        """
        create table %1$s (id bigint);
        select pgonce.install_channel('%1$s', 'EXACTLY_ONCE', 'trigger on %1$s');
        create function pgonce_triggers.capture_%1$s() returns trigger language plpgsql as 'begin return null; end';
        """
            .formatted(table));
  }

  private void attach(String table) throws SQLException {
    database.execute(
        "create trigger pgonce_%1$s after insert on %1$s for each row execute function pgonce_triggers.capture_%1$s()"
            .formatted(table));
  }

  @Test
  void pooler() throws Exception {
    isAbsent("POOLER_PER_TRANSACTION");
    try (var bouncer = PgBouncer.start(database, "transaction")) {
      cli.environment.putAll(Cli.variables(bouncer.login(database)));
      assertThat(finding("POOLER_PER_TRANSACTION").get("severity").asString()).isEqualTo("WARNING");
    }
    try (var bouncer = PgBouncer.start(database, "session")) {
      cli.environment.putAll(Cli.variables(bouncer.login(database)));
      assertThat(finding("POOLER").get("severity").asString()).isEqualTo("INFO");
    }
  }

  @Test
  @Tag("all")
  void poolerNotExamined() throws Exception {
    try (var bouncer = PgBouncer.start(database, "transaction\ndefault_pool_size = 1")) {
      cli.environment.putAll(Cli.variables(bouncer.login(database)));
      // It waits for a session for 5 s.
      var all = DoctorFindings.all(cli);
      assertThat(DoctorFindings.one(all, "POOLER_NOT_EXAMINED").get("severity").asString())
          .isEqualTo("INFO");
      assertThat(DoctorFindings.names(all)).contains("NO_LISTENER_YET");
    }
  }

  @Test
  void aDirectAddressTakesNoSecondConnection() throws Exception {
    var login = database.loginRole("looks", "pgonce_monitor");
    database.execute("alter role %s connection limit 1".formatted(login.user()));
    cli = new Cli(login);
    assertThat(DoctorFindings.names(cli))
        .contains("NO_LISTENER_YET")
        .doesNotContain("POOLER_NOT_EXAMINED", "NOT_EXAMINED");
  }

  /** A role with CREATE on a schema of the path must not get the rights of the person on call. */
  @Test
  void h37_nothingOfARoleThatMayCreateInSchemaPublicIsCalled() throws Exception {
    database.execute("grant create on schema public to public; create table author (id bigint)");
    try (var stranger = database.loginRole("stranger").dataSource().getConnection();
        var statement = stranger.createStatement()) {
      statement.execute(
          """
          create function public.run(varchar, varchar) returns text language plpgsql as $$ begin raise exception 'run by %', current_user; end $$;
          create operator public.|| (leftarg = varchar, rightarg = varchar, function = public.run);
          create function public.run(numeric, integer) returns numeric language plpgsql as $$ begin raise exception 'run by %', current_user; end $$;
          create operator public.* (leftarg = numeric, rightarg = integer, function = public.run);
          create function public.run(name, varchar) returns boolean language plpgsql as $$ begin raise exception 'run by %', current_user; end $$;
          create operator public.= (leftarg = name, rightarg = varchar, function = public.run);
          """);
    }
    isAbsent("NOT_EXAMINED");
    assertThat(
            cli.run("grants", "nobody", "--to", "install", "--table", "author,public.x")
                .ends(0)
                .out())
        .isEqualTo(
            """
            -- role nobody is not there
            GRANT pgonce_installer TO nobody;
            GRANT TRIGGER ON TABLE author TO nobody;
            -- table public.x is not there
            GRANT TRIGGER ON TABLE public.x TO nobody;
            """);
    assertThat(cli.run("record", "author").ends(0).out()).contains("record Author(");
  }

  @Test
  void notExamined() throws Exception {
    isAbsent("NOT_EXAMINED");
    database.execute("alter view pgonce.channel_gauges rename column backlog to waiting");
    assertThat(finding("NOT_EXAMINED").get("what").asString())
        .contains("NO_LISTENER")
        .contains("42703");
    database.execute("drop function pgonce.copy_of_another() cascade");
    assertThat(DoctorFindings.all(cli).toString()).contains("COPY_NOT_ADOPTED").contains("42883");
    assertThat(DoctorFindings.names(cli)).contains("FUNCTION_DRIFT");
  }

  /** By the bound of a statement, a minute by default. The others are looked for all the same. */
  @Tag("all")
  @Test
  void aLookThatHangsEndsWithAMessage() throws Exception {
    failOne();
    try (var holder = database.dataSource().getConnection();
        var statement = holder.createStatement()) {
      holder.setAutoCommit(false);
      statement.execute("lock table pgonce.listener in access exclusive mode");
      var begin = System.nanoTime();
      assertThat(
              cli.run("doctor", "--statement-timeout", "1", "--lock-timeout", "1m").ends(3).out())
          .contains("NO_LISTENER was not examined: canceling statement due to statement timeout")
          .contains("Give it longer: --statement-timeout")
          .contains("HANDLER_FAILS");
      assertThat(Duration.ofNanos(System.nanoTime() - begin)).isLessThan(Duration.ofSeconds(50));
      holder.rollback();
    }
  }

  @Test
  void sessionsNotShown() throws Exception {
    isAbsent("SESSIONS_NOT_SHOWN");
    var login = database.loginRole("looks", "pgonce_monitor");
    cli = new Cli(login);
    assertThat(finding("SESSIONS_NOT_SHOWN").get("severity").asString()).isEqualTo("INFO");
    database.execute("grant pg_read_all_stats to " + login.user());
    isAbsent("SESSIONS_NOT_SHOWN");
  }

  @Test
  void readOnly() throws Exception {
    isAbsent("READ_ONLY");
    database.execute(
        "alter database %s set default_transaction_read_only = on".formatted(database.name()));
    finding("READ_ONLY");
  }

  @Test
  void synchronousCommitOff() throws Exception {
    isAbsent("SYNCHRONOUS_COMMIT_OFF");
    database.execute("alter database %s set synchronous_commit = off".formatted(database.name()));
    assertThat(DoctorFindings.all(cli).toString())
        .contains("this login has synchronous_commit = off")
        .contains("sessions in database " + database.name());
  }

  @Test
  void oldSnapshot() throws Exception {
    isAbsent("OLD_SNAPSHOT");
    try (var other = database.dataSource().getConnection();
        var statement = other.createStatement()) {
      other.setAutoCommit(false);
      statement.execute("set transaction isolation level repeatable read");
      statement.execute("select count(*) from pgonce.channel");
      try (var row = statement.executeQuery("select pg_backend_pid()")) {
        row.next();
        assertThat(finding("OLD_SNAPSHOT", "--old", "0").get("advice").asString())
            .contains("pg_terminate_backend(" + row.getInt(1) + ")");
      }
      other.rollback();
    }
  }

  @Test
  void oldSnapshotOfAWriterSaysWhatItHoldsAndHowFarItReaches() throws Exception {
    try (var other = database.dataSource().getConnection();
        var statement = other.createStatement()) {
      other.setAutoCommit(false);
      statement.execute("select pgonce.publish('mails', '1')");
      assertThat(finding("OLD_SNAPSHOT", "--old", "0").get("what").asString())
          .containsPattern(" is in a transaction since 2\\d{3}-")
          .containsPattern("which reaches \\d+ transactions back; it has published something");
      other.rollback();
    }
  }

  @Test
  void oldIsADurationAsOthersAre() throws Exception {
    try (var other = database.dataSource().getConnection();
        var statement = other.createStatement()) {
      other.setAutoCommit(false);
      statement.execute("create temporary table t ()");
      finding("OLD_SNAPSHOT", "--old", "0s");
      for (var old : List.of("1h", "2 d", "5m", "3600")) {
        assertThat(DoctorFindings.all(cli, "--old", old).toString()).doesNotContain("OLD_SNAPSHOT");
      }
      other.rollback();
    }
    assertThat(cli.run("doctor", "--old=-1").ends(2).err()).contains("no duration");
    assertThat(cli.run("doctor", "--old", "4000d").ends(2).err()).contains("between 0s and 3650d");
  }

  /** It holds nothing back here, and its pid would be of somebody else's work. */
  @Test
  void oldSnapshotOfAnotherDatabaseIsNoFinding() throws Exception {
    var login = database.login();
    try (var other =
            DriverManager.getConnection(
                "jdbc:postgresql://%s:%d/postgres".formatted(login.host(), login.port()),
                login.user(),
                login.password());
        var statement = other.createStatement()) {
      other.setAutoCommit(false);
      statement.execute("set local application_name = 'elsewhere'");
      statement.execute("create temporary table t ()");
      assertThat(DoctorFindings.all(cli, "--old", "0").toString()).doesNotContain("elsewhere");
      other.rollback();
    }
  }

  @Test
  void itSaysWhatItDoesNotLookAt() {
    assertThat(cli.run("doctor").out()).endsWith("why something waits is in: pgonce explain\n");
  }

  @Test
  void deadLetters() throws Exception {
    isAbsent("DEAD_LETTERS");
    Cli.bury(database, 2, "REJECTED", "no");
    assertThat(finding("DEAD_LETTERS").get("what").asString()).endsWith(": 2 dead letters");
    assertThat(finding("DEAD_LETTERS").get("advice").asString())
        .startsWith("pgonce dead mails --group ")
        .contains("; pgonce explain mails ID");
  }

  @Test
  void handlerFails() throws Exception {
    isAbsent("HANDLER_FAILS");
    failOne();
    assertThat(finding("HANDLER_FAILS").get("what").asString())
        .contains("1 have failed")
        .endsWith("421 busy");
    database.execute("update pgonce.scheduled set due_at = now() + interval '1 h', attempts = 2");
    leadsTo("RETRYING", "HANDLER_FAILS");
  }

  @Test
  void whatCausesOthersStandsFirst() throws Exception {
    Cli.bury(database, 1, "REJECTED", "no");
    failOne();
    database.execute("select pgonce.pause('mails', 'x')");
    assertThat(DoctorFindings.names(cli))
        .containsSubsequence("PAUSED", "NO_LISTENER", "HANDLER_FAILS", "DEAD_LETTERS");
  }

  private void failOne() throws SQLException {
    database.execute(
        "insert into pgonce.scheduled (subscription_id, id, due_at, attempts, created_at, last_error, payload)"
            + " select s.id, 1, now(), 1, now(), '421 busy', '1' from pgonce.subscription s");
  }

  @Tag("all")
  @Test
  void lockWait() throws Exception {
    isAbsent("LOCK_WAIT");
    database.execute("create table effect (id bigint)");
    Cli.publish(database, "1");
    try (var holder = database.dataSource().getConnection();
        var handler = database.dataSource().getConnection();
        var holds = holder.createStatement();
        var works = handler.createStatement()) {
      holder.setAutoCommit(false);
      handler.setAutoCommit(false);
      holds.execute("lock table effect");
      works.execute("select from pgonce.notification where subscription_id > 0 for update");
      var waits =
          CompletableFuture.runAsync(
              () -> {
                try {
                  works.execute("insert into effect values (1)");
                } catch (SQLException e) {
                  throw new IllegalStateException(e);
                }
              });
      await()
          .atMost(Duration.ofSeconds(30))
          .until(() -> DoctorFindings.names(cli).contains("LOCK_WAIT"));
      // It makes attempts fail.
      failOne();
      assertThat(DoctorFindings.names(cli)).containsSubsequence("LOCK_WAIT", "HANDLER_FAILS");
      assertThat(finding("LOCK_WAIT").get("what").asString())
          .contains("for a lock on table public.effect, held by server process ");
      leadsTo("LOCK_WAIT", "LOCK_WAIT");
      holder.rollback();
      waits.join();
      handler.rollback();
    }
  }

  @Test
  void paused() throws Exception {
    isAbsent("PAUSED");
    database.execute("select pgonce.pause('mails', 'the mail server moves')");
    assertThat(finding("PAUSED").get("what").asString()).endsWith(": the mail server moves");
    Cli.publish(database, "1");
    leadsTo("PAUSED", "PAUSED");
  }

  @Test
  void rateTooLow() throws Exception {
    isAbsent("RATE_TOO_LOW");
    database.execute(
        "select pgonce.install_channel('slow', 'EXACTLY_ONCE', 'published', max_rate => 1);"
            + " select count(pgonce.publish('slow', '1')) from generate_series(1, 300);"
            // Failed, and due again: a rate holds these back too.
            + " insert into pgonce.scheduled (subscription_id, id, due_at, attempts, created_at, payload) select s.id, n, now(), 1, now(), '1' from pgonce.subscription s, generate_series(1000, 1399) n where s.of_channel = 'slow'");
    assertThat(finding("RATE_TOO_LOW").get("what").asString())
        .contains("700 wait, and 1 a second may begin, which takes 00:11:40");
    database.execute(
        """
        select pgonce.listener_starts(gen_random_uuid(), 'web-1', (select array_agg(id) from pgonce.subscription where of_channel = 'slow'), 'polling', 600000, workers => '{4}');
        insert into pgonce.rate_limit select id, clock_timestamp() + interval '1 hour' from pgonce.subscription where of_channel = 'slow'
        """);
    leadsTo("THROTTLED", "RATE_TOO_LOW");
  }

  @Test
  void replicationSlot() throws Exception {
    var slot = "slot_" + database.name();
    database.execute("select pg_create_physical_replication_slot('" + slot + "', true)");
    try {
      assertThat(DoctorFindings.all(cli).toString()).contains(slot).contains("is used by nobody");
    } finally {
      database.execute("select pg_drop_replication_slot('" + slot + "')");
    }
  }

  @Test
  void triggerDisabled() throws Exception {
    watch("author");
    attach("author");
    isAbsent("TRIGGER_DISABLED");
    database.execute("alter table author disable trigger pgonce_author");
    assertThat(finding("TRIGGER_DISABLED").get("what").asString())
        .isEqualTo("trigger \"pgonce_author\" of table public.author is disabled");
    assertThat(finding("TRIGGER_DISABLED").get("advice").asString())
        .startsWith("ALTER TABLE public.author ENABLE TRIGGER pgonce_author, ");
    leadsTo("NOT_STORED", "TRIGGER_DISABLED");
    database.execute("alter table author enable replica trigger pgonce_author");
    assertThat(finding("TRIGGER_DISABLED").get("what").asString()).contains("replica");
  }

  @Test
  void noTrigger() throws Exception {
    isAbsent("NO_TRIGGER");
    watch("author");
    assertThat(finding("NO_TRIGGER").get("what").asString()).contains("channel author");
    leadsTo("NOT_STORED", "NO_TRIGGER");
    attach("author");
    isAbsent("NO_TRIGGER");
    database.execute("alter table author rename to author_old");
    isAbsent("NO_TRIGGER");
    database.execute("create table author (id bigint)");
    assertThat(finding("NO_TRIGGER").get("what").asString())
        .endsWith(", and its trigger is on table public.author_old, not on public.author");
    leadsTo("NOT_STORED", "NO_TRIGGER");
  }

  @Test
  void functionOwner() throws Exception {
    isAbsent("FUNCTION_OWNER");
    database.execute("alter function pgonce.adopt(text) owner to current_user");
    assertThat(finding("FUNCTION_OWNER").get("what").asString()).contains("pgonce.adopt(text)");
  }

  @Test
  void triggerFunctionOwner() throws Exception {
    watch("author");
    attach("author");
    isAbsent("TRIGGER_FUNCTION_OWNER");
    var other = database.loginRole("other");
    database.execute("alter table author owner to " + other.user());
    assertThat(finding("TRIGGER_FUNCTION_OWNER").get("what").asString()).contains(other.user());
  }

  @Test
  void functionDrift() throws Exception {
    isAbsent("FUNCTION_DRIFT");
    database.execute(
        "do $$ begin execute replace(pg_get_functiondef('pgonce.adopt(text)'::regprocedure), 'btrim(reason)', 'reason'); end $$");
    assertThat(finding("FUNCTION_DRIFT").get("what").asString()).contains("pgonce.adopt has");
    database.execute("drop function pgonce.adopt(text)");
    assertThat(finding("FUNCTION_DRIFT").get("what").asString())
        .contains("pgonce.adopt is missing");
  }

  @Test
  void publication() throws Exception {
    isAbsent("PUBLICATION");
    database.execute("create publication everything for all tables");
    assertThat(finding("PUBLICATION").get("what").asString())
        .contains("\"everything\"")
        .contains("notification");
  }

  @Test
  void collationVersion() throws Exception {
    isAbsent("COLLATION_VERSION");
    if (database.queryLong("select current_setting('server_version_num')::integer") >= 150_000) {
      database.execute(
          "update pg_database set datcollversion = '1.old' where datname = current_database()");
      assertThat(finding("COLLATION_VERSION").get("what").asString()).contains("1.old");
    }
  }

  @Test
  void noListener() throws Exception {
    assertThat(finding("NO_LISTENER_YET").get("severity").asString()).isEqualTo("INFO");
    Cli.publish(database, "1");
    assertThat(finding("NO_LISTENER").get("what").asString()).contains("channel mails");
    leadsTo("NO_LISTENER", "NO_LISTENER");
    database.execute("select pgonce.install_channel('news', 'BROADCAST', 'published')");
    assertThat(finding("NO_LISTENER_YET").toString()).contains("is a BROADCAST", "is lost while");
  }

  @Test
  void outdatedListener() throws Exception {
    isAbsent("OUTDATED_LISTENER");
    database.execute(
        """
        insert into pgonce.listener (id, instance, subscriptions, workers, outdated, listens_by, role, silence)
        select gen_random_uuid(), 'web-1', array[s.id], '{4}', '{"key memory"}', 'polling', 'r', interval '1 hour' from pgonce.subscription s
        """);
    assertThat(finding("OUTDATED_LISTENER").get("what").asString())
        .contains("web-1")
        .contains("key memory");
  }

  @Test
  void copyNotAdopted() throws Exception {
    isAbsent("COPY_NOT_ADOPTED");
    database.execute("update pgonce.installation set home = ''");
    assertThat(finding("COPY_NOT_ADOPTED").get("advice").asString()).contains("pgonce adopt");
  }

  @Test
  void schema() throws Exception {
    isAbsent("SCHEMA");
    database.execute("update pgonce.schema_version set version = 0");
    assertThat(finding("SCHEMA").get("what").asString()).contains("version 0, and");
    database.execute("drop schema pgonce, pgonce_private, pgonce_triggers cascade");
    assertThat(finding("SCHEMA").get("what").asString()).contains("is not installed");
  }

  @Test
  void rights() throws Exception {
    isAbsent("RIGHTS");
    cli = new Cli(database.loginRole("nobody"));
    assertThat(DoctorFindings.all(cli).toString()).contains("pgonce_monitor to it", "look prints");
    cli = new Cli(database.loginRole("publishes", "pgonce_publisher"));
    assertThat(finding("RIGHTS").get("what").asString()).contains("[pgonce_publisher]");
  }
}
