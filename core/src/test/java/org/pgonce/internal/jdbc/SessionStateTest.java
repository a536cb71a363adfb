package org.pgonce.internal.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.sql.Connection;
import java.sql.SQLException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.pgonce.internal.handle.ClaimedRow;
import org.pgonce.internal.handle.Source;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** What a function does to the session for good is found when settling, and set back. */
@PgTest
class SessionStateTest {

  @ParameterizedTest
  @EnumSource
  void h44_searchPathAndRoleSetByAFunctionAreSetBack(Source source, TestDatabase database)
      throws Exception {
    var other = database.loginRole("other").user();
    database.execute(
        """
        CREATE FUNCTION rude() RETURNS void LANGUAGE plpgsql AS $$
        BEGIN
          PERFORM set_config('search_path', '"rude One", pg_catalog', false);
          SET statement_timeout = '5min';
          SET TIME ZONE 'Asia/Tokyo';
          SET ROLE "%s";
        END
        $$;
        """
            .formatted(other));
    try (var row = ClaimedRow.in(database, source)) {
      var before = read(row.real());
      row.handle("SELECT rude()");
      row.guard().seal();
      assertThat(read(row.real())).isNotEqualTo(before);
      row.real().commit();
      before.restore(row.real(), "0");
      row.real().rollback();
      assertThat(read(row.real())).isEqualTo(before);
    }
  }

  @ParameterizedTest
  @EnumSource
  void h44_undoneTheyAreSetBackByTheServer(Source source, TestDatabase database) throws Exception {
    try (var row = ClaimedRow.in(database, source)) {
      var before = read(row.real());
      row.handle("SELECT set_config('search_path', 'rude', false)");
      row.guard().undo();
      row.real().commit(); // what was set for the handler's transaction is gone with it
      assertThat(read(row.real())).isEqualTo(before);
    }
  }

  @ParameterizedTest
  @EnumSource
  void whatWasSetLocalIsNotTouched(Source source, TestDatabase database) throws Exception {
    try (var row = ClaimedRow.in(database, source)) {
      var before = read(row.real());
      row.handle("SET LOCAL search_path = x");
      row.guard().seal();
      assertThat(read(row.real())).isNotEqualTo(before);
      row.real().commit();
      assertThat(read(row.real())).isEqualTo(before);
      row.real().commit();
      before.restore(row.real(), "0");
      assertThat(read(row.real())).isEqualTo(before);
    }
  }

  /** Each name of the column is restored: they stand in two statements, which could part. */
  @Test
  void everySettingIsSetBack(TestDatabase database) throws Exception {
    var other = database.loginRole("other").user();
    try (var connection = database.dataSource().getConnection()) {
      connection.setAutoCommit(false);
      var before = read(connection);
      for (String name : SessionState.NAMES) {
        if (name.equals("transaction_timeout")
            && connection.getMetaData().getDatabaseMajorVersion() < 17) {
          continue;
        }
        try (var set = connection.prepareStatement("SELECT set_config(?, ?, false)")) {
          set.setString(1, name);
          set.setString(2, anotherValue(name, other));
          set.execute();
        }
        assertThat(read(connection)).as(name).isNotEqualTo(before);
        connection.commit();
        before.restore(connection, "0");
        assertThat(read(connection)).as(name).isEqualTo(before);
        connection.commit();
      }
    }
  }

  private static String anotherValue(String name, String otherRole) {
    return switch (name) {
      case "session_authorization", "role" -> otherRole;
      case "search_path" -> "a, \"B\"";
      case "default_transaction_isolation" -> "serializable";
      case "default_transaction_read_only", "default_transaction_deferrable" -> "on";
      case "session_replication_role" -> "replica";
      case "TimeZone" -> "Asia/Tokyo";
      case "DateStyle" -> "ISO, DMY";
      case "IntervalStyle" -> "iso_8601";
      case "bytea_output" -> "escape";
      case "extra_float_digits" -> "0";
      case "row_security", "synchronous_commit", "standard_conforming_strings" -> "off";
      default -> "54321";
    };
  }

  @ParameterizedTest
  @EnumSource
  void whatCannotBeSetBackIsSaid(Source source, TestDatabase database) throws Exception {
    try (var row = ClaimedRow.in(database, source)) {
      var impossible =
          new SessionState("nobody_by_this_name" + "\u001fx".repeat(SessionState.NAMES.size() - 1));
      assertThatThrownBy(() -> impossible.restore(row.real(), "0"))
          .isInstanceOf(SQLException.class);
    }
  }

  /** Names and values would not be those of one another. */
  @Test
  void h44_aValueWithTheSeparatorIsNotTakenForTwo(TestDatabase database) throws Exception {
    try (var connection = database.dataSource().getConnection()) {
      connection.setAutoCommit(false);
      try (var statement = connection.createStatement()) {
        statement.execute("SELECT set_config('search_path', '\"a\u001fb\"', false)");
        connection.commit();
      }
      var before = read(connection);
      assertThatThrownBy(() -> before.restore(connection, "0"))
          .isInstanceOf(SQLException.class)
          .hasMessageContaining("search_path")
          .hasMessageContaining("U+001F");
      assertThat(read(connection)).isEqualTo(before);
    }
  }

  private static SessionState read(Connection connection) throws SQLException {
    try (var statement = connection.createStatement();
        var row = statement.executeQuery("SELECT " + SessionState.COLUMN)) {
      row.next();
      return new SessionState(row.getString(1));
    }
  }
}
