package org.pgonce.triggers;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.SQLException;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.pgonce.testkit.Login;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import tools.jackson.databind.JsonNode;

/**
 * What was printed in one database and runs in another, where the table belongs to another role: as
 * a developer's database names its roles otherwise than the production's.
 */
@PgTest(PgOnceInstalled.class)
class PrintedOwnerTest {

  private static TriggerChannelBuilder<JsonNode> item(String table) {
    return TriggerChannel.on(table, JsonNode.class).afterInsert().named("item");
  }

  private static Migration printed(TestDatabase database, TriggerChannel<?> channel)
      throws SQLException {
    try (var connection = database.dataSource().getConnection()) {
      return Triggers.migration(connection, channel);
    }
  }

  private static void run(Login login, String sql) throws SQLException {
    try (var connection = login.dataSource().getConnection();
        var statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }

  /** A table without a schema is found by the path of whoever runs it. */
  @ParameterizedTest
  @ValueSource(strings = {"theirs.item", "item"})
  void h36_whatIsPrintedRunsWhereTheTableBelongsToAnotherRole(String table, TestDatabase database)
      throws Exception {
    var installer = database.loginRole("installer", "pgonce_installer");
    database.execute("create schema theirs; create table %s (id int, name text)".formatted(table));
    var item = item(table).build();
    var first = printed(database, item);
    database.execute(
        "alter table %1$s owner to %2$s; grant usage, create on schema theirs, public to %2$s"
            .formatted(table, installer.user()));
    run(installer, first.up());
    assertThat(
            database.queryString(
                "select proowner::regrole::text from pg_proc where proname = 'capture_item'"))
        .isEqualTo(installer.user());
    run(installer, "insert into %s values (1, 'one')".formatted(table));
    assertThat(
            database.queryString(
                "select payload::text from pgonce.notification where subscription_id > 0"))
        .isEqualTo("{\"id\":1,\"name\":\"one\"}");

    var change = printed(database, item(table).columns("id").build());
    assertThat(change.up() + change.down()).doesNotContain(installer.user());
    run(installer, change.up());
    run(installer, change.down());
    assertThat(printed(database, item).isEmpty()).isTrue();
  }
}
