package org.pgonce.cli;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** The schema by command line, and what a DBA grants. */
@PgTest
class MigrateTest {

  private static long schemas(TestDatabase database) throws Exception {
    return database.queryLong("select count(*) from pg_namespace where nspname like 'pgonce%'");
  }

  @Test
  void theSchemaComesAndGoes(TestDatabase database) throws Exception {
    var cli = new Cli(database.login());
    assertThat(cli.run("migrate", "check").ends(3).out()).contains("is not installed");
    assertThat(cli.run("status").ends(1).err()).contains("pgonce migrate check");
    assertThat(cli.run("migrate", "apply", "--dry-run").ends(0).out()).contains("not a dry run");
    assertThat(schemas(database)).isZero();
    cli.run("migrate", "apply").ends(0);
    assertThat(cli.run("migrate", "apply").ends(0).out()).isEqualTo("there is nothing to do\n");
    assertThat(cli.run("migrate", "check", "-o", "json").ends(0).json().get("problems")).isEmpty();
    database.execute("select pgonce.install_channel('mails', 'EXACTLY_ONCE', 'published')");
    Cli.publish(database, "1");
    assertThat(cli.run("migrate", "down", "--database", database.name()).ends(1).err())
        .contains("1 waiting");
    cli.run("cancel", "mails", "1", "--because", "x").ends(0);
    assertThat(cli.run("migrate", "down", "--database", "other").ends(1).err())
        .contains("names another one");
    assertThat(cli.run("migrate", "down", "--database", "a$$; select 'b").ends(1).err())
        .contains("names another one");
    cli.run("migrate", "down", "--database", database.name(), "--dry-run").ends(0);
    assertThat(schemas(database)).isEqualTo(3);
    cli.run("migrate", "down", "--database", database.name()).ends(0);
    assertThat(schemas(database)).isZero();
    assertThat(cli.run("migrate", "down", "--database", database.name()).ends(0).out())
        .isEqualTo("there is nothing to do\n");
  }

  @Test
  void aLaterSchemaIsLeftAlone(TestDatabase database) throws Exception {
    var cli = new Cli(database.login());
    cli.run("migrate", "apply").ends(0);
    database.execute("update pgonce.schema_version set version = 1000");
    assertThat(cli.run("migrate", "check").ends(3).out()).contains("version 1000");
    assertThat(cli.run("migrate", "apply").ends(1).err()).contains("of that release");
    assertThat(cli.run("migrate", "down", "--database", database.name()).ends(1).err())
        .contains("of that release");
  }

  @Test
  void theSchemaIsPrintedWithoutADatabase(TestDatabase database) throws Exception {
    var cli = new Cli(database.login());
    cli.environment.clear();
    var printed = cli.run("migrate", "print").ends(0).out();
    assertThat(printed).startsWith("-- pgonce, the database half");
    database.execute(printed);
    assertThat(cli.run("migrate", "print", "--down").ends(0).out()).contains("DROP SCHEMA");
    assertThat(cli.run("migrate", "print", "--for", "liquibase").ends(0).out())
        .startsWith("--liquibase formatted sql");
    assertThat(cli.run("migrate", "print", "--for", "liquibase", "--down").ends(2).err())
        .contains("has its rollback in it");
  }

  @Test
  void whatIsGrantedIsWhatIsMissing(TestDatabase database) throws Exception {
    var cli = new Cli(database.login());
    cli.run("migrate", "apply").ends(0);
    database.execute("create table author (id bigint)");
    var role = database.loginRole("Needs \"all\"");
    var grants =
        new String[] {
          "grants",
          role.user(),
          "--to",
          "listen,publish,operate,look,install,migrate",
          "--table",
          "author"
        };
    var sql = cli.run(grants).ends(0).out();
    assertThat(sql).contains("GRANT pgonce_listener TO \"Needs \"\"all\"\"").contains("CREATE ON");
    assertThat(sql.lines()).hasSize(9);
    database.execute(sql);
    assertThat(cli.run(grants).ends(0).out()).isEqualTo("-- nothing is missing\n");
    new Cli(role).run("status").ends(0);
    assertThat(cli.run("grants", role.user(), "--to", "look", "--table", "author").ends(2).err())
        .contains("--to install");
    assertThat(cli.run("grants", "no\nbody", "--to", "install", "--table", "nope").ends(0).out())
        .startsWith("-- role no\\nbody is not there\n")
        .contains("-- table nope is not there\nGRANT TRIGGER ON TABLE nope");
  }
}
