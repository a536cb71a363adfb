package org.pgonce.install;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.sql.SQLException;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.Channel;
import org.pgonce.PgOnce;
import org.pgonce.PgOnceException;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** Which rights an installation needs, and how it says that they are missing. */
@PgTest
@Tag("drivers")
class InstallRightsTest {

  private static final Channel<String> CHANNEL = Channel.of("orders", String.class);

  @Test
  void sql_aRoleThatMayCreateRolesAndSchemasInstallsWithoutBeingSuperuser(TestDatabase database)
      throws Exception {
    var migrator = database.loginRole("migrator");
    database.execute(
        "alter role \"%s\" createrole; grant create on database %s to \"%s\""
            .formatted(migrator.user(), database.name(), migrator.user()));
    // On a server where the roles are there already, whoever made them lets the migrator act as the
    // owner.
    database.execute(
        "do $$ begin create role pgonce_owner nologin; exception when duplicate_object then null; end $$");
    database.execute("grant pgonce_owner to \"" + migrator.user() + "\"" + " with admin option");
    PgOnce.using(migrator.unpooled()).install(CHANNEL);
    assertThat(
            database.queryString(
                "select nspowner::regrole::text from pg_namespace where nspname = 'pgonce'"))
        .isEqualTo("pgonce_owner");
    assertThat(
            database.queryLong(
                "select count(*) from pg_roles where rolname = 'pgonce_owner' and rolcanlogin"))
        .isZero();
  }

  @Test
  void sql_whoMayNotInstallIsToldWhatToGrant(TestDatabase database) throws Exception {
    for (var role : List.of("owner", "installer", "publisher", "listener", "admin", "monitor")) {
      database.execute(
          "do $$ begin create role pgonce_%s nologin; exception when duplicate_object then null; end $$"
              .formatted(role));
    }
    var nobody = database.loginRole("nobody");
    var quoted = "\"" + nobody.user() + "\"";

    assertThatThrownBy(() -> PgOnce.using(nobody.unpooled()).install(CHANNEL))
        .isInstanceOf(PgOnceException.class)
        .hasMessageContaining("cannot install [orders], nothing was changed")
        .hasMessageContaining("role %s may not act as role pgonce_owner".formatted(quoted))
        .hasMessageContaining("GRANT pgonce_owner TO " + nobody.user())
        .hasMessageContaining("(SQLState 42501)");

    database.execute("grant pgonce_owner to " + quoted);
    assertThatThrownBy(() -> PgOnce.using(nobody.unpooled()).install(CHANNEL))
        .isInstanceOf(PgOnceException.class)
        .hasMessageContaining("may not create schemas")
        .hasMessageContaining(
            "GRANT CREATE ON DATABASE %s TO %s".formatted(database.name(), nobody.user()));

    database.execute("grant create on database %s to %s".formatted(database.name(), quoted));
    PgOnce.using(nobody.unpooled()).install(CHANNEL);

    // A new release of the schema makes no schemas.
    database.execute("revoke create on database %s from %s".formatted(database.name(), quoted));
    database.execute("update pgonce.schema_version set version = 0");
    PgOnce.using(nobody.unpooled()).install(CHANNEL);
  }

  @Test
  void sql_whoIsAMemberAndInheritsNothingIsToldWhatToGrant(TestDatabase database) throws Exception {
    PgOnce.using(database.unpooled()).install(); // the roles
    var login = database.loginRole("deployer");
    database.execute(
        "alter role %1$s noinherit; grant pgonce_owner to %1$s".formatted(login.user()));
    try (var connection = login.unpooled().getConnection();
        var statement = connection.createStatement()) {
      var refused =
          assertThatThrownBy(() -> statement.execute(PgOnce.migration()))
              .isInstanceOf(SQLException.class)
              .actual();
      database.execute(
          refused.getMessage().replaceAll("(?s).* run \"(.*)\", then install.*", "$1"));
      statement.execute(PgOnce.migration());
    }
  }

  /** As where a migration has installed, and the service's login was forgotten. */
  @Test
  void sql_whoMayNotUseAnInstalledSchemaIsToldWhatToGrant(TestDatabase database) throws Exception {
    PgOnce.using(database.unpooled()).install(CHANNEL);
    var nobody = database.loginRole("nobody");
    assertThatThrownBy(() -> PgOnce.using(nobody.unpooled()).install(CHANNEL))
        .isInstanceOf(PgOnceException.class)
        .hasMessageContaining("cannot install, nothing was changed")
        .hasMessageContaining("GRANT pgonce_installer TO " + nobody.user())
        .hasMessageContaining("pgonce.install=validate");
  }
}
