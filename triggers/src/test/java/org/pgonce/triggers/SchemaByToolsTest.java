package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.pgonce.Channel;
import org.pgonce.PgOnce;
import org.pgonce.internal.store.Schema;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** The schema pgonce as migration tools install it, beside migrations of the user's. */
@Tag("versions")
@PgTest
class SchemaByToolsTest {

  private static final String INIT = "create table orders (id bigint primary key);\n";

  private static final String CHANGELOG =
      """
      <?xml version="1.0" encoding="UTF-8"?>
      <databaseChangeLog xmlns="http://www.liquibase.org/xml/ns/dbchangelog" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="http://www.liquibase.org/xml/ns/dbchangelog http://www.liquibase.org/xml/ns/dbchangelog/dbchangelog-latest.xsd">
        <include file="init.sql"/>
        <include file="org/pgonce/sql/changelog.xml"/>
      </databaseChangeLog>
      """;

  private static void assertInstalled(TestDatabase database) throws Exception {
    assertThat(database.queryLong("select max(version) from pgonce.schema_version"))
        .isEqualTo(Schema.latest());
    // Finds the schema done, so it needs no right to install it.
    var login = database.loginRole("service", "pgonce_admin", "pgonce_listener");
    var channel = Channel.of("mail", String.class);
    PgOnce.using(login.unpooled()).install(channel);
    try (var connection = login.unpooled().getConnection()) {
      PgOnce.using(login.unpooled()).publisher().publish(connection, channel, "hello");
    }
    assertThat(database.queryLong("select backlog from pgonce.channel_status")).isEqualTo(1);
  }

  @Test
  void theChangelogOfTheJarRunsAllFilesOfTheSchemaInTheirOrder() throws Exception {
    try (var files = Files.list(Path.of("../sql"))) {
      var all = files.map(file -> file.getFileName().toString()).filter(it -> it.endsWith(".sql"));
      assertThat(all.filter(file -> !file.equals("uninstall.sql")))
          .containsExactlyInAnyOrderElementsOf(Schema.FILES);
    }
    assertThat(Schema.FILES)
        .startsWith("roles.sql", "tables.sql")
        .endsWith("grants.sql", "install_end.sql");
  }

  @Test
  @Tag("all")
  void liquibaseIncludesTheChangelogOfTheJarAndRollsItBack(
      @TempDir Path directory, TestDatabase database) throws Exception {
    var scene = MigrationScene.of(database, directory);
    scene.write("init.sql", "--liquibase formatted sql\n--changeset anna:1\n" + INIT);
    scene.write("all.xml", CHANGELOG);
    scene.update("all.xml");
    var state = scene.state();
    scene.update("all.xml");
    assertThat(scene.state()).isEqualTo(state);
    assertThat(database.queryLong("select count(*) from databasechangelog")).isEqualTo(2);
    assertInstalled(database);

    // A later version of a file. By another name: Liquibase remembers that it has found the first
    // one up to date.
    database.execute(
        "update databasechangelog set md5sum = '9:' || md5('before') where author = 'pgonce'");
    scene.write("later.xml", CHANGELOG);
    scene.update("later.xml");
    assertThat(
            database.queryString("select exectype from databasechangelog where author = 'pgonce'"))
        .isEqualTo("RERAN");

    assertThatThrownBy(() -> scene.rollBackLast("later.xml")).hasMessageContaining("still holds");
    database.execute("select pgonce.drop_channel('mail')");
    scene.rollBackLast("later.xml");
    assertThat(database.queryString("select to_regnamespace('pgonce')::text")).isNull();
    assertThat(database.queryString("select to_regclass('orders')::text")).isNotNull();
  }

  @Tag("all")
  @Test
  void flywayRunsARepeatableMigrationBesideTheFirstOfTheUsers(
      @TempDir Path directory, TestDatabase database) throws Exception {
    var scene = MigrationScene.of(database, directory);
    scene.write("V1__init.sql", INIT);
    scene.write("R__pgonce.sql", PgOnce.migration());
    assertThat(scene.flyway()).isEqualTo(2);
    assertThat(scene.flyway()).isZero();
    scene.write("R__pgonce.sql", PgOnce.migration() + "\n-- a later version\n");
    assertThat(scene.flyway()).isEqualTo(1);
    assertInstalled(database);
  }

  /** Flyway runs versioned migrations before repeatable ones. */
  @Test
  void flywayRunsAVersionOfTheUsersWhereLaterOnesInstallChannels(
      @TempDir Path directory, TestDatabase database) throws Exception {
    var scene = MigrationScene.of(database, directory);
    scene.write("V1__init.sql", INIT);
    scene.write(Migration.ofSchema().flyway("2", "pgonce"));
    scene.write(Migration.of(Channel.of("mail", String.class)).flyway("3", "mail channel"));
    assertThat(scene.flyway()).isEqualTo(3);
    assertInstalled(database);
  }
}
