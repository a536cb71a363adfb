package org.pgonce.internal.handle;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.pgonce.internal.handle.ClaimedRow.swallow;

import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.pgonce.internal.jdbc.Pipeline;
import org.pgonce.internal.jdbc.SessionState;
import org.pgonce.stage.Headers;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import org.postgresql.jdbc.PreferQueryMode;

/** The statement that settles and the commit, sent along with the release of the savepoint. */
@PgTest
class CommitWithTest {

  /** Deletes the claimed row; divides by zero with a divisor of 0. */
  private record Delete(int divisor) implements Pipeline.Part<Boolean> {

    @Override
    public String sql() {
      return "DELETE FROM public.item WHERE id = 1 / ? RETURNING true";
    }

    @Override
    public void bind(PreparedStatement statement, int first) throws SQLException {
      statement.setInt(first, divisor);
    }

    @Override
    public Boolean read(Statement executed) throws SQLException {
      try (var row = executed.getResultSet()) {
        return row.next() && row.getBoolean(1);
      }
    }
  }

  private static String setting(ClaimedRow row, String name) throws SQLException {
    try (var statement = row.real().createStatement();
        var value = statement.executeQuery("SELECT pg_catalog.current_setting('" + name + "')")) {
      value.next();
      return value.getString(1);
    }
  }

  @ParameterizedTest
  @EnumSource
  void h44_aLocalRoleDoesNotSettle(Source source, TestDatabase database) throws Exception {
    var tenant = database.loginRole("tenant").user();
    database.execute("CREATE TABLE note (id int); GRANT INSERT ON note TO \"" + tenant + '"');
    try (var row = ClaimedRow.in(database, source)) {
      row.handle("SET LOCAL ROLE \"" + tenant + '"');
      row.handle("INSERT INTO note VALUES (1)");

      assertThat(row.guard().commitWith(new Delete(1), null)).isTrue();
      assertThat(database.queryLong("SELECT count(*) FROM item")).isZero();
    }
  }

  @ParameterizedTest
  @EnumSource
  void h44_whatTheHandlerChangedOfTheSessionIsSetBack(Source source, TestDatabase database)
      throws Exception {
    try (var row = ClaimedRow.in(database, source)) {
      var before = setting(row, "search_path");
      row.handle("SELECT pg_catalog.set_config('search_path', 'elsewhere', false)");

      assertThat(row.guard().commitWith(new Delete(1), null)).isTrue();
      assertThat(setting(row, "search_path")).isEqualTo("elsewhere");
      row.guard().restoreSession("0");
      assertThat(setting(row, "search_path")).isEqualTo(before);
    }
  }

  @ParameterizedTest
  @EnumSource
  void h43_theCommitIsThereWhenItReturns(Source source, TestDatabase database) throws Exception {
    try (var row = ClaimedRow.in(database, source)) {
      row.handle("INSERT INTO effect VALUES (1)");

      assertThat(row.guard().commitWith(new Delete(1), null)).isTrue();
      assertThat(row.effects()).isEqualTo(1);
      assertThat(database.queryLong("SELECT count(*) FROM item")).isZero();
    }
  }

  /** pgjdbc sends each command by itself then, and a COMMIT behind a failure would free the row. */
  @Test
  void h43_inSimpleQueryModeTheRowIsHeldBehindASwallowedSqlError(TestDatabase database)
      throws Exception {
    var simple = database.dataSource();
    simple.setPreferQueryMode(PreferQueryMode.SIMPLE);
    try (var row = ClaimedRow.in(database, simple)) {
      row.handle("INSERT INTO effect VALUES (1)");
      swallow(() -> row.handle("INSERT INTO effect VALUES (1)"));

      assertThatThrownBy(() -> row.guard().commitWith(new Delete(1), null))
          .extracting("SQLState")
          .isEqualTo("25P02");
      row.guard().undo();
      assertThat(row.claimableElsewhere()).isZero();
      row.real().commit();
      assertThat(row.effects()).isZero();
    }
  }

  @Test
  void h43_inSimpleQueryModeTheCommitIsThereWhenItReturns(TestDatabase database) throws Exception {
    var simple = database.dataSource();
    simple.setPreferQueryMode(PreferQueryMode.SIMPLE);
    try (var row = ClaimedRow.in(database, simple)) {
      row.handle("INSERT INTO effect VALUES (1)");

      assertThat(row.guard().commitWith(new Delete(1), null)).isTrue();
      assertThat(row.effects()).isEqualTo(1);
    }
  }

  /** A constraint that is checked at the commit fails the attempt, and not only the message. */
  @ParameterizedTest
  @EnumSource
  void h43_aFailureOfTheCommitIsTold(Source source, TestDatabase database) throws Exception {
    try (var row = ClaimedRow.in(database, source)) {
      database.execute(
          "CREATE TABLE checked (id int PRIMARY KEY, of int REFERENCES effect DEFERRABLE INITIALLY DEFERRED)");
      row.handle("INSERT INTO checked VALUES (1, 2)");

      assertThatThrownBy(() -> row.guard().commitWith(new Delete(1), null))
          .extracting("SQLState")
          .isEqualTo("23503");
      row.real().rollback();
      assertThat(database.queryLong("SELECT count(*) FROM item")).isEqualTo(1);
    }
  }

  /** One row locked and deleted by a transaction and its subtransaction would have a MultiXact. */
  @ParameterizedTest
  @EnumSource
  void h47_theSavepointOfAHandlerThatSentNothingIsGoneBeforeTheDeletion(
      Source source, TestDatabase database) throws Exception {
    try (var row = ClaimedRow.in(database, source)) {
      SessionState before;
      try (var statement = row.real().createStatement();
          var session = statement.executeQuery("SELECT " + SessionState.COLUMN)) {
        session.next();
        before = new SessionState(session.getString(1));
        statement.execute("SAVEPOINT pgonce_handler");
      }
      var guard =
          new GuardedConnection(
              row.real(), Headers.PLAIN, before, "a notification", ClaimedRow.PATIENCE);
      guard.seal();
      try (var statement = row.real().createStatement();
          var own =
              statement.executeQuery(
                  "delete from item returning pg_current_xact_id()::xid::text")) {
        own.next();
        assertThat(database.queryString("select xmax::text from item")).isEqualTo(own.getString(1));
      }
      row.real().commit();
    }
  }

  @ParameterizedTest
  @EnumSource
  void h43_swallowedSqlErrorIsAFailureAndNothingIsDeleted(Source source, TestDatabase database)
      throws Exception {
    try (var row = ClaimedRow.in(database, source)) {
      row.handle("INSERT INTO effect VALUES (1)");
      swallow(() -> row.handle("INSERT INTO effect VALUES (1)"));

      assertThatThrownBy(() -> row.guard().commitWith(new Delete(1), null))
          .hasMessageContaining("caught an SQLException and went on")
          .extracting("SQLState")
          .isEqualTo("25P02");
      row.guard().undo();
      assertNothingIsDone(row);
    }
  }

  @ParameterizedTest
  @EnumSource
  void h43_aFailureToSettleIsToldAsItIsAndTakesAllWithIt(Source source, TestDatabase database)
      throws Exception {
    try (var row = ClaimedRow.in(database, source)) {
      row.handle("INSERT INTO effect VALUES (1)");

      assertThatThrownBy(() -> row.guard().commitWith(new Delete(0), null))
          .hasMessageContaining("division by zero")
          .extracting("SQLState")
          .isEqualTo("22012");
      assertThatThrownBy(() -> row.guard().undo())
          .hasMessageContaining("roll the transaction back");
      row.real().rollback();
      assertNothingIsDone(row);
    }
  }

  private static void assertNothingIsDone(ClaimedRow row) throws SQLException {
    row.real().commit();
    assertThat(row.effects()).isZero();
    assertThat(row.database().queryLong("SELECT count(*) FROM item")).isEqualTo(1);
  }
}
