package org.pgonce.guards;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.sql.SQLException;
import java.sql.Statement;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.pgonce.PgOnce;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** H74: what is removed is the guards'; what depends on it elsewhere keeps it. */
@Tag("versions")
@PgTest(GuardsInstalled.class)
class UninstallTest {

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "create view report as select * from pgonce_guards.guard_status | view public.report depends on view pgonce_guards.guard_status",
        "create function read(pgonce_guards.guard) returns int language sql as 'select 1' | function public.read(pgonce_guards.guard) depends on",
        "create table copied (g pgonce_guards.guard) | column g of table public.copied depends on",
        "create sequence pgonce_guards.of_users | sequence pgonce_guards.of_users",
      })
  void h74_whatDependsOnItElsewhereIsNotDroppedInSilence(
      String sql, String named, TestDatabase database) throws Exception {
    database.execute(sql);
    assertThatThrownBy(() -> database.execute(InstallTest.uninstallScript()))
        .hasMessageContaining(named);
    assertThat(
            Guards.using(database.dataSource())
                .once(Guard.of("g", String.class, String.class), "k", "r", () -> "works")
                .orElseThrow())
        .isEqualTo("works");
  }

  @Test
  void h74_whatUsersOwnByItsRolesElsewhereIsKeptAndSaid(TestDatabase database) throws Exception {
    database.execute("create table kept (id int); grant select on kept to pgonce_guard");
    try (var connection = database.dataSource().getConnection();
        var statement = connection.createStatement()) {
      statement.execute(InstallTest.uninstallScript());
      assertThat(said(statement).replace("public.", ""))
          .contains("role pgonce_guard is kept", "privileges for table kept");
    }
    assertThat(database.queryString("select to_regnamespace('pgonce_guards')")).isNull();
    assertThat(database.queryString("select has_table_privilege('pgonce_guard', 'kept', 'SELECT')"))
        .isEqualTo("t");
    database.execute(InstallTest.uninstallScript()); // once more does no harm
  }

  @Test
  void h74_besideChannelsWhatItsRolesHaveHereIsNotListed(TestDatabase database) throws Exception {
    PgOnce.using(database.dataSource()).install();
    try (var connection = database.dataSource().getConnection();
        var statement = connection.createStatement()) {
      statement.execute(InstallTest.uninstallScript());
      assertThat(said(statement))
          .contains("role pgonce_owner is kept, as schema pgonce of this database needs it")
          .doesNotContain("privileges for", "owner of");
    }
  }

  private static String said(Statement statement) throws SQLException {
    var said = new StringBuilder();
    for (var warning = statement.getWarnings();
        warning != null;
        warning = warning.getNextWarning()) {
      said.append(warning.getMessage()).append('\n');
    }
    return said.toString();
  }
}
