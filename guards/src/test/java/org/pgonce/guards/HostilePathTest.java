package org.pgonce.guards;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.pgonce.testkit.Login;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import org.postgresql.ds.PGSimpleDataSource;

/**
 * H37: a superuser installs, works and uninstalls while an ordinary role has functions, operators
 * and types in public, which comes first in the path. None of them is called, none is bound.
 */
@Tag("versions")
@PgTest
class HostilePathTest {

  private static final String HOSTILE_PATH = "public,pg_catalog";

  private static final List<String> FUNCTIONS =
      List.of(
          "pg_has_role(name, text, text)",
          "has_schema_privilege(oid, oid, text)",
          "current_setting(text)",
          "set_config(text, text, boolean)",
          "to_regclass(text)",
          "to_regnamespace(text)",
          "obj_description(oid, text)",
          "substring(text, text)",
          "pg_advisory_xact_lock(bigint)",
          "length(text)",
          "btrim(text)",
          "decode(text, text)",
          "encode(bytea, text)",
          "clock_timestamp()",
          "pg_get_userbyid(oid)");

  private static final List<String> OPERATORS =
      List.of(
          "= name, text",
          "= name, name",
          "= text, text",
          "= oid, oid",
          "= uuid, uuid",
          "= bytea, bytea",
          "<> name, text",
          "<> text, text",
          "<> oid, oid",
          "|| text, text",
          "~ text, text",
          ">= integer, integer",
          ">= bigint, integer",
          ">= interval, interval",
          "<= timestamptz, timestamptz",
          "+ timestamptz, interval",
          "- timestamptz, timestamptz",
          "* numeric, numeric",
          "* bigint, interval");

  private static final List<String> TYPES =
      List.of("text", "name", "oid", "uuid", "bytea", "bool", "timestamptz", "void");

  private static final String BOUND =
      """
      select pg_catalog.string_agg(distinct o.type || ' ' || o.identity || ' to ' || r.identity, ', ')
        from (select * from pg_catalog.pg_depend where classid <> 0 offset 0) d
       cross join lateral pg_catalog.pg_identify_object(d.classid, d.objid, d.objsubid) o
       cross join lateral pg_catalog.pg_identify_object_as_address(d.classid, d.objid, d.objsubid) a
       cross join lateral pg_catalog.pg_identify_object(d.refclassid, d.refobjid, d.refobjsubid) r
       where a.object_names[1] ~ '^pgonce_guards(\\.|$)' and r.schema = 'public'
      """;

  private TestDatabase database;
  private Login mallory;

  @BeforeEach
  void setTraps(TestDatabase database) throws SQLException {
    this.database = database;
    mallory = database.loginRole("mallory");
    database.execute("grant create, usage on schema public to \"%s\"".formatted(mallory.user()));
    try (var connection = safely().getConnection();
        var statement = connection.createStatement()) {
      statement.execute("set session authorization \"%s\"".formatted(mallory.user()));
      statement.execute("create table public.loot (what text); grant insert on loot to public");
      for (var function : FUNCTIONS) {
        trap(statement, "public." + function, function);
      }
      var n = 0;
      for (var operator : OPERATORS) {
        var symbol = operator.substring(0, operator.indexOf(' '));
        var types = operator.substring(symbol.length() + 1).split(", ", -1);
        var name = "public.trap_" + n++;
        trap(statement, name + "(" + types[0] + ", " + types[1] + ")", operator);
        statement.execute(
            "create operator public.%s (function = %s, leftarg = %s, rightarg = %s)"
                .formatted(symbol, name, types[0], types[1]));
      }
    }
  }

  private static void trap(Statement statement, String signature, String what) throws SQLException {
    statement.execute(
        """
        create function %s returns %s language plpgsql as $$
        begin
          insert into public.loot values ('%s');
          return null;
        end $$
        """
            .formatted(signature, what.startsWith("||") ? "text" : "boolean", what));
  }

  private PGSimpleDataSource safely() {
    var source = database.dataSource();
    source.setOptions("-c search_path=pg_catalog,public");
    return source;
  }

  private PGSimpleDataSource exposed() {
    var source = database.dataSource();
    source.setOptions("-c search_path=" + HOSTILE_PATH);
    return source;
  }

  private String ask(String sql) throws SQLException {
    try (var connection = safely().getConnection();
        var statement = connection.createStatement();
        var row = statement.executeQuery(sql)) {
      row.next();
      return row.getString(1);
    }
  }

  private void run(String script) throws SQLException {
    try (var connection = exposed().getConnection();
        var statement = connection.createStatement()) {
      statement.execute(script);
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void h37_nothingOfAnotherRoleIsCalledOrBound(boolean withTypes) throws Exception {
    if (withTypes) {
      try (var connection = safely().getConnection();
          var statement = connection.createStatement()) {
        statement.execute("set session authorization \"%s\"".formatted(mallory.user()));
        for (var type : TYPES) {
          statement.execute("create type public.%s as (trap integer)".formatted(type));
        }
      }
    }
    Guards.using(exposed()).install().install();
    run(Guards.migration());
    var guards = Guards.using(exposed());
    var guard = Guard.of("payment", String.class, String.class);
    assertThat(guards.once(guard, "k", "r", () -> "done").orElseThrow()).isEqualTo("done");
    assertThat(guards.find(guard.key("k"))).isPresent();
    var sequence = Guard.of("fulfilment", String.class, String.class);
    guards.run(sequence, "k", "r", s -> s.once("a", String.class, () -> "b")).orElseThrow();
    guards.run(sequence, "l", "r", s -> s.repeatable("a", String.class, () -> "b")).orElseThrow();
    try (var transaction = exposed().getConnection()) {
      transaction.setAutoCommit(false);
      guards.inTransaction(transaction, guard, "t", "r", () -> "done").orElseThrow();
      transaction.commit();
    }
    for (var key : List.of("probed", "settled")) {
      guards.once(
          guard,
          key,
          "r",
          () -> {
            throw new IOException("reset");
          });
    }
    assertThat(guards.open("payment", 10)).hasSize(2);
    guards.probe(guard.key("probed"), String.class, () -> GuardAnswer.happened("found"));
    guards.settle(
        guard.key("settled"), String.class, GuardAnswer.happened("found"), "ada", "on paper");
    assertThat(guards.open(10)).isEmpty();
    assertThat(guards.purge(10)).isZero();
    assertThat(ask(BOUND)).as("what is bound").isNull();
    run(InstallTest.uninstallScript());
    assertThat(ask("select pg_catalog.string_agg(distinct what, ', ') from public.loot"))
        .as("what was called")
        .isNull();
  }

  @Test
  void h37_nothingIsInstalledIntoASchemaOfAnotherRole() throws Exception {
    database.execute("create schema pgonce_guards authorization \"%s\"".formatted(mallory.user()));
    assertThatThrownBy(() -> Guards.using(database.dataSource()).install())
        .hasMessageContaining("schema pgonce_guards of database")
        .hasMessageContaining("belongs to role \"%s\"".formatted(mallory.user()));
  }
}
