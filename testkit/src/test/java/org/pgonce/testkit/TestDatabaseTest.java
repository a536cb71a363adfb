package org.pgonce.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import java.sql.SQLException;
import org.junit.jupiter.api.Test;

@PgTest
class TestDatabaseTest {

  @Test
  void everyKindOfDataSourceConnects(TestDatabase database) throws Exception {
    database.execute("CREATE TABLE t AS SELECT 42 AS id");
    for (var source :
        new javax.sql.DataSource[] {
          database.dataSource(), database.pooled(2), database.ngDataSource()
        }) {
      try (var connection = source.getConnection();
          var rows = connection.createStatement().executeQuery("SELECT id FROM t")) {
        rows.next();
        assertThat(rows.getInt(1)).isEqualTo(42);
      }
    }
  }

  @Test
  void theSharedServerCommitsInOrderAndDoesNotWaitForTheDisk(TestDatabase database)
      throws Exception {
    assumeFalse(
        database.server() instanceof ExistingServer, "skipped: an existing server is set as it is");
    assertThat(database.queryString("SHOW fsync")).isEqualTo("off");
    assertThat(database.queryString("SHOW synchronous_commit")).isEqualTo("on");
    assertThat(database.queryLong("SELECT current_setting('max_connections')::int"))
        .isGreaterThanOrEqualTo(200);
  }

  @Test
  void aLoginRoleHasOnlyItsMembershipsAndGoesWithTheDatabase(TestDatabase bystander)
      throws Exception {
    String name;
    try (var database = TestServer.shared().createDatabase()) {
      var reader = database.loginRole("reader", "pg_read_all_data");
      name = reader.user();
      database.execute("CREATE TABLE t (id int)");
      database.execute("GRANT CREATE ON SCHEMA public TO \"%s\"".formatted(name));
      try (var connection = reader.dataSource().getConnection();
          var statement = connection.createStatement()) {
        statement.execute("CREATE TABLE own AS SELECT * FROM t");
        assertThatThrownBy(() -> statement.execute("INSERT INTO t VALUES (1)"))
            .isInstanceOfSatisfying(
                SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("42501"));
      }
    }
    assertThat(bystander.queryLong("SELECT count(*) FROM pg_roles WHERE rolname = '" + name + "'"))
        .isZero();
  }

  @Test
  void aWrongPasswordIsRefused(TestDatabase database) throws Exception {
    var source = database.loginRole("guest").dataSource();
    source.setPassword("wrong");
    assertThatThrownBy(source::getConnection)
        .isInstanceOfSatisfying(
            SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("28P01"));
  }

  @Test
  void whatATestLeavesBehindDoesNotKeepTheDatabase(TestDatabase bystander) throws Exception {
    var database = TestServer.shared().createDatabase();
    var source = database.dataSource();
    source.setApplicationName("left frozen");
    try (var connection = source.getConnection()) {
      database.execute("BEGIN; CREATE TABLE t (id int); PREPARE TRANSACTION 'left;prepared'");
      database.backends().sigstop(database.backends().awaitNamed("left frozen"));
      database.close();
      assertThat(connection.isValid(1)).isFalse();
    }
    assertThat(
            bystander.queryLong(
                "SELECT count(*) FROM pg_database WHERE datname = '" + database.name() + "'"))
        .isZero();
  }
}
