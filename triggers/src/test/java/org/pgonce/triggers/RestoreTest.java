package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;
import static org.pgonce.triggers.DumpScene.ADDED;
import static org.pgonce.triggers.DumpScene.MAIL;
import static org.pgonce.triggers.DumpScene.ONCE;

import java.nio.file.Files;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.pgonce.PgOnce;
import org.pgonce.PgOnceException;
import org.pgonce.testkit.Login;
import org.pgonce.testkit.PackagedServer;
import org.pgonce.testkit.TestDatabase;

/** H72: dumps that are restored without owners, without privileges, or where there are no roles. */
class RestoreTest {

  private static final Duration BOUND = Duration.ofSeconds(30);
  private static final String LOST = "has lost owners or rights";

  private static PackagedServer server;
  private static String dump;

  private enum Advice {
    INSTALL,
    SCRIPT
  }

  @BeforeAll
  static void makeDump() throws Exception {
    server = PackagedServer.start();
    dump = server.file("dump");
    try (var original = server.createDatabase()) {
      DumpScene.set(original);
      var made = server.run("pg_dump", "-Fc", "-f", dump, original.name());
      assertThat(made.status()).describedAs(made.output()).isZero();
    }
  }

  @AfterAll
  static void stopServer() {
    if (server != null) {
      server.close();
    }
  }

  @ParameterizedTest
  @CsvSource({
    "--no-owner,INSTALL",
    "--no-owner,SCRIPT",
    "--no-privileges,INSTALL",
    "--no-privileges,SCRIPT",
    "--no-owner --no-privileges,INSTALL",
    "--no-owner --no-privileges,SCRIPT"
  })
  @Tag("all")
  void h72_whatARestoreHasLostIsSaidAndComesBackAsAdvised(String options, Advice advice)
      throws Exception {
    try (var copy = server.createDatabase()) {
      var arguments = new ArrayList<>(List.of(options.split(" ")));
      arguments.addAll(List.of("-d", copy.name(), dump));
      var restored = server.run("pg_restore", arguments.toArray(String[]::new));
      assertThat(restored.status()).describedAs(restored.output()).isZero();
      var owners = options.contains("--no-owner");
      assertMended(copy, server, advice, owners ? "it belongs to" : "role pgonce_listener may not");
    }
  }

  @ParameterizedTest
  @Tag("all")
  @EnumSource(Advice.class)
  void h72_soItIsAndDoesInAServerWithoutTheRoles(Advice advice) throws Exception {
    try (var other = PackagedServer.start();
        var copy = other.createDatabase()) {
      // It says that the roles are not there, and goes on.
      var restored = other.run("pg_restore", "-d", copy.name(), dump);
      assertThat(restored.output()).contains("role \"pgonce_owner\" does not exist");
      assertMended(copy, other, advice, "it belongs to");
    }
  }

  private static void assertMended(TestDatabase copy, PackagedServer at, Advice advice, String lost)
      throws Exception {
    assertAllAgree(copy, lost);
    follow(copy, at, advice);
    try (var connection = copy.dataSource().getConnection()) {
      assertThat(Triggers.check(connection, ADDED)).isEmpty();
      assertThat(Triggers.plan(connection, ADDED).isEmpty()).isTrue();
    }
    assertThatThrownBy(() -> DumpScene.listen(copy)).hasMessageContaining("is a copy");
    copy.execute("select pgonce.adopt('the old server is gone')");
    assertWorks(copy);
    assertOwned(copy);
  }

  private static void assertAllAgree(TestDatabase copy, String lost) throws Exception {
    try (var connection = copy.dataSource().getConnection()) {
      assertThat(Triggers.check(connection, ADDED))
          .singleElement()
          .asString()
          .contains(LOST, lost, "Call PgOnce.install as a superuser, or run the files of sql/");
      var plan = Triggers.plan(connection, ADDED);
      assertThat(plan.changes())
          .extracting(Plan.Change::summary)
          .containsExactly("give schema pgonce its owners and rights back");
      assertThat(plan.warnings()).singleElement().asString().contains(LOST);
      connection.setAutoCommit(false);
      assertThatThrownBy(() -> Triggers.apply(connection, ADDED)).hasMessageContaining(LOST);
      connection.rollback();
      assertThatThrownBy(() -> Triggers.migration(connection, ADDED)).hasMessageContaining(LOST);
    }
    assertThatThrownBy(() -> DumpScene.listen(copy))
        .isInstanceOf(PgOnceException.class)
        .hasMessageContaining(LOST);
    var nobody = copy.loginRole("nobody");
    assertThatThrownBy(() -> PgOnce.using(nobody.dataSource()).install(ADDED))
        .hasMessageContaining(LOST);
  }

  private static void follow(TestDatabase copy, PackagedServer at, Advice advice) throws Exception {
    if (advice == Advice.INSTALL) {
      PgOnce.using(copy.dataSource()).install(ADDED, MAIL, ONCE);
      return;
    }
    var file = Files.createTempFile("pgonce-script-", ".sql");
    try {
      Files.writeString(file, PgOnce.migration());
      var ran =
          at.run("psql", "-1", "-v", "ON_ERROR_STOP=1", "-d", copy.name(), "-f", file.toString());
      assertThat(ran.status()).describedAs(ran.output()).isZero();
    } finally {
      Files.delete(file);
    }
  }

  /** For roles that have no right but those that they are given. */
  private static void assertWorks(TestDatabase copy) throws Exception {
    var writer = copy.loginRole("writer");
    copy.execute("grant insert on author to \"%s\"".formatted(writer.user()));
    var listener = copy.loginRole("listener", "pgonce_listener");
    copy.execute("grant insert on effect to \"%s\"".formatted(listener.user()));
    execute(writer, "insert into author values (4, 'Dan')");
    try (var pool = listener.pooled(4);
        var pgonce = PgOnce.using(pool)) {
      pgonce.listen(
          ADDED, (added, tx) -> tx.update("insert into effect values (?)", added.payload().name()));
      pgonce.start();
      execute(writer, "insert into author values (5, 'Eve')");
      await()
          .atMost(BOUND)
          .untilAsserted(
              () ->
                  assertThat(
                          copy.queryString(
                              "select string_agg(note, ' ' order by note) from effect"))
                      .isEqualTo("Ann Bob Cid Dan Eve"));
    }
    assertThatThrownBy(() -> execute(writer, "select pgonce.publish('mail', '1')"))
        .hasMessageContaining("permission denied");
  }

  private static void assertOwned(TestDatabase copy) throws Exception {
    assertThat(
            copy.queryString(
                """
                select string_agg(p.oid::regprocedure::text, ', ') from pg_proc p
                 where p.pronamespace in ('pgonce'::regnamespace, 'pgonce_private'::regnamespace) and p.proowner <> 'pgonce_owner'::regrole
                    or p.pronamespace in ('pgonce_private'::regnamespace, 'pgonce_triggers'::regnamespace) and has_function_privilege('public', p.oid, 'EXECUTE')
                    or p.pronamespace = 'pgonce'::regnamespace and has_function_privilege('public', p.oid, 'EXECUTE')
                       and p.proname not in ('current_context', 'current_depth', 'read_context', 'read_depth', 'key_part', 'row_key', 'join_key', 'given_key', 'given_payload', 'given_due', 'require_pairs', 'shown_error', 'needs_notify')
                """))
        .isNull();
    assertThat(
            copy.queryString(
                "select string_agg(c.oid::regclass::text, ', ') from pg_class c where c.relnamespace = 'pgonce'::regnamespace and c.relowner <> 'pgonce_owner'::regrole"))
        .isNull();
  }

  private static void execute(Login login, String sql) throws Exception {
    try (var connection = login.dataSource().getConnection();
        var statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }
}
