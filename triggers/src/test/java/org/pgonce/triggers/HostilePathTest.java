package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.pgonce.PgOnce;
import org.pgonce.internal.store.Schema;
import org.pgonce.records.Records;
import org.pgonce.testkit.Login;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import org.postgresql.ds.PGSimpleDataSource;
import tools.jackson.databind.JsonNode;

/**
 * H37: a superuser installs, looks and uninstalls while an ordinary role has functions, operators
 * and types in public, which comes first in the path. None of them is called, none is bound.
 */
@Tag("versions")
@PgTest
class HostilePathTest {

  private static final String HOSTILE_PATH = "public,pg_catalog";

  /** With SQL of its own, and a table that is named without its schema. */
  private static final TriggerChannel<JsonNode> ADDED =
      TriggerChannel.on("author", JsonNode.class)
          .afterInsert()
          .afterUpdate()
          .onlyIfChanged("name")
          .when("new.name = 'Ann' or new.name || '' <> 'Bob'")
          .deliveryKeySql("new.name || new.id")
          .form(TriggerForm.ROW)
          .named("added")
          .build();

  /** The same without what is printed with a look at the table only. */
  private static final TriggerChannel<JsonNode> PLAIN =
      TriggerChannel.on("author", JsonNode.class)
          .afterInsert()
          .afterUpdate()
          .onlyIfChanged("name")
          .named("added")
          .build();

  private static final TriggerChannel<JsonNode> DELETED =
      TriggerChannel.on("author", JsonNode.class).afterDelete().named("deleted").build();

  // Of the better match: of the very types of an argument, or first in the path.
  private static final List<String> FUNCTIONS =
      List.of(
          "pg_has_role(name, text, text)",
          "pg_has_role(name, text)",
          "num_nulls(timestamptz, text, text)",
          "current_setting(text)",
          "set_config(text, text, boolean)",
          "to_regclass(text)",
          "to_regnamespace(text)",
          "pg_advisory_xact_lock(bigint)",
          "length(text)",
          "left(text, integer)",
          "lower(text)",
          "coalesce_all(text)",
          "nextval(regclass)",
          "clock_timestamp()",
          "gen_random_uuid()",
          "pg_get_userbyid(oid)");

  private static final List<String> OPERATORS =
      List.of(
          "= name, text",
          "= name, varchar",
          "= name, name",
          "= text, text",
          "= text, varchar",
          "= oid, oid",
          "= \"char\", \"char\"",
          "= integer, integer",
          "<> name, text",
          "<> name, name",
          "<> text, text",
          "<> oid, oid",
          "|| text, text",
          "|| name, text",
          "~ text, text",
          "> integer, integer",
          ">= integer, integer",
          "<= integer, integer",
          ">= interval, interval",
          "* double precision, interval",
          "* bigint, interval");

  private static final List<String> TYPES =
      List.of(
          "text",
          "json",
          "jsonb",
          "name",
          "oid",
          "uuid",
          "xid",
          "regclass",
          "timestamptz",
          "trigger",
          "void",
          "bytea",
          "record");

  private static final String BOUND =
      """
      select pg_catalog.string_agg(distinct o.type || ' ' || o.identity || ' to ' || r.identity, ', ')
        from (select * from pg_catalog.pg_depend where classid <> 0 offset 0) d
       cross join lateral pg_catalog.pg_identify_object(d.classid, d.objid, d.objsubid) o
       cross join lateral pg_catalog.pg_identify_object_as_address(d.classid, d.objid, d.objsubid) a
       cross join lateral pg_catalog.pg_identify_object(d.refclassid, d.refobjid, d.refobjsubid) r
       where a.object_names[1] ~ '^pgonce(\\.|$)' and r.schema = 'public'
      """;

  private TestDatabase database;
  private Login mallory;

  @BeforeEach
  void setTraps(TestDatabase database) throws SQLException {
    this.database = database;
    database.execute("create table author (id bigint primary key, name text)");
    mallory = database.loginRole("mallory");
    database.execute("grant create, usage on schema public to \"%s\"".formatted(mallory.user()));
    var source = mallory.dataSource();
    source.setOptions("-c search_path=pg_catalog");
    try (var connection = source.getConnection();
        var statement = connection.createStatement()) {
      statement.execute(
          "create table public.loot (who text, what text); grant insert on public.loot to public");
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
    var returns = what.startsWith("||") ? "text" : "boolean";
    statement.execute(
        """
        create function %s returns %s language plpgsql as $$
        begin
          insert into public.loot values (current_user, '%s');
          return null;
        end $$
        """
            .formatted(signature, returns, what.replace("'", "''")));
  }

  private PGSimpleDataSource superuser() {
    var source = database.dataSource();
    source.setOptions("-c search_path=" + HOSTILE_PATH);
    return source;
  }

  enum Way {
    SCRIPT {
      @Override
      void install(PGSimpleDataSource source) throws SQLException {
        run(source, PgOnce.migration(PLAIN, DELETED));
      }

      @Override
      void uninstall(PGSimpleDataSource source) throws SQLException {
        run(source, Schema.uninstallScript());
      }
    },
    JAVA {
      @Override
      void install(PGSimpleDataSource source) {
        PgOnce.using(source).install(ADDED, DELETED);
      }

      @Override
      void uninstall(PGSimpleDataSource source) throws SQLException {
        Triggers.drop(source, ADDED, DELETED);
        run(source, Schema.uninstallScript());
      }
    },
    APPLIED {
      @Override
      void install(PGSimpleDataSource source) throws SQLException {
        PgOnce.using(source).install();
        try (var transaction = source.getConnection()) {
          transaction.setAutoCommit(false);
          Triggers.apply(transaction, ADDED, DELETED);
          assertPath(transaction);
          transaction.commit();
        }
      }

      @Override
      void uninstall(PGSimpleDataSource source) throws SQLException {
        try (var transaction = source.getConnection()) {
          transaction.setAutoCommit(false);
          Triggers.drop(transaction, ADDED, DELETED);
          assertPath(transaction);
          transaction.commit();
        }
        run(source, Schema.uninstallScript());
      }
    },
    PRINTED {
      @Override
      void install(PGSimpleDataSource source) throws SQLException {
        run(source, Migration.ofSchema().up());
        run(source, Migration.of(PLAIN, DELETED).up());
      }

      @Override
      void uninstall(PGSimpleDataSource source) throws SQLException {
        run(source, Migration.of(PLAIN, DELETED).down());
        run(source, Migration.ofSchema().down());
      }
    },
    PRINTED_FOR_THE_DATABASE {
      @Override
      void install(PGSimpleDataSource source) throws SQLException {
        run(source, Migration.ofSchema().up());
        var first =
            TriggerChannel.on("author", JsonNode.class).afterInsert().named("added").build();
        try (var connection = source.getConnection()) {
          run(source, Triggers.migration(connection, first, DELETED).up());
          var changed = Triggers.migration(connection, ADDED, DELETED);
          run(source, changed.up());
          run(source, changed.down());
          run(source, Triggers.migration(connection, ADDED, DELETED).up());
        }
      }

      @Override
      void uninstall(PGSimpleDataSource source) throws SQLException {
        run(source, Migration.ofSchema().down());
      }
    };

    TriggerChannel<JsonNode> added() {
      return this == SCRIPT || this == PRINTED ? PLAIN : ADDED;
    }

    abstract void install(PGSimpleDataSource source) throws SQLException;

    abstract void uninstall(PGSimpleDataSource source) throws SQLException;

    /** In a session that goes on with its own path. */
    static void run(PGSimpleDataSource source, String sql) throws SQLException {
      try (var connection = source.getConnection();
          var statement = connection.createStatement()) {
        statement.execute(sql);
        assertPath(connection);
      }
    }
  }

  private static void assertPath(Connection connection) throws SQLException {
    try (var statement = connection.createStatement();
        var row = statement.executeQuery("show search_path")) {
      row.next();
      assertThat(row.getString(1)).isEqualTo(HOSTILE_PATH);
    }
  }

  @Tag("all")
  @ParameterizedTest
  @EnumSource(Way.class)
  void h37_noFunctionOrOperatorOfAnotherRoleIsCalledOrBoundWhereASuperuserInstalls(Way way)
      throws Exception {
    installLookAndUninstall(way);
  }

  @ParameterizedTest
  @Tag("all")
  @EnumSource(Way.class)
  void h37_norIsATypeTakenForOneOfPostgreSqls(Way way) throws Exception {
    for (var type : TYPES) {
      execute(mallory.dataSource(), "create type public.%s as (trap integer)".formatted(type));
    }
    installLookAndUninstall(way);
  }

  private void installLookAndUninstall(Way way) throws SQLException {
    way.install(superuser());
    assertUntouched("the installation");
    try (var connection = superuser().getConnection()) {
      assertThat(Triggers.check(connection, way.added(), DELETED)).isEmpty();
      assertThat(Triggers.plan(connection, way.added(), DELETED)).hasToString("nothing to do\n");
      assertThat(Triggers.migration(connection, way.added(), DELETED).isEmpty()).isTrue();
      assertThat(Triggers.orphans(connection, way.added(), DELETED)).isEmpty();
      assertThat(Records.print(connection, "author")).contains("record Author(");
      assertThat(Records.fit(connection, "author", JsonNode.class)).isNotNull();
      assertPath(connection);
    }
    assertUntouched("the looking");
    captures();
    way.uninstall(superuser());
    assertUntouched("the way back");
    assertThat(question("select to_regnamespace('pgonce')::pg_catalog.text")).isNull();
  }

  /** What is installed works, in a session with another path. */
  private void captures() throws SQLException {
    ask("insert into public.author values (1, 'Ann')");
    ask("delete from public.author");
    assertThat(
            question(
                "select pg_catalog.string_agg(c.name, ' ' order by n.id) from pgonce.notification n join pgonce.subscription s on s.id = n.subscription_id join pgonce.channel c on c.id = s.channel_id"))
        .isEqualTo("added deleted");
    ask("delete from pgonce.notification where subscription_id > 0");
  }

  @Test
  void h37_nothingIsInstalledIntoASchemaOfAnotherRole() throws Exception {
    database.execute("create schema pgonce authorization \"%s\"".formatted(mallory.user()));
    assertThatThrownBy(() -> PgOnce.using(database.dataSource()).install())
        .hasMessageContaining("schema pgonce of database")
        .hasMessageContaining("belongs to role \"%s\"".formatted(mallory.user()));
  }

  private void assertUntouched(String by) throws SQLException {
    assertThat(question("select pg_catalog.string_agg(distinct what, ', ') from public.loot"))
        .as("what was called by %s", by)
        .isNull();
    assertThat(question(BOUND)).as("what is bound after %s", by).isNull();
  }

  private String question(String sql) throws SQLException {
    try (var connection = safe().getConnection();
        var statement = connection.createStatement();
        var row = statement.executeQuery(sql)) {
      row.next();
      return row.getString(1);
    }
  }

  private void ask(String sql) throws SQLException {
    execute(safe(), sql);
  }

  private static void execute(PGSimpleDataSource source, String sql) throws SQLException {
    try (var connection = source.getConnection();
        var statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }

  private PGSimpleDataSource safe() {
    var source = database.dataSource();
    source.setOptions("-c search_path=pg_catalog");
    return source;
  }
}
