package org.pgonce.internal.deliver;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.pgonce.internal.deliver.GuardedConnectionTest.swallow;

import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** The statement that settles, sent along with the release of the handler's savepoint. */
@PgTest
class SealWithTest {

  /** Deletes the claimed row; divides by zero with a divisor of 0. */
  private record Delete(int divisor) implements LastStatement<Boolean> {

    @Override
    public String sql() {
      return "DELETE FROM public.item WHERE id = 1 / ? RETURNING true";
    }

    @Override
    public void bind(PreparedStatement statement) throws SQLException {
      statement.setInt(1, divisor);
    }

    @Override
    public Boolean read(ResultSet row) throws SQLException {
      return row.next() && row.getBoolean(1);
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

      assertThat(row.guard().sealWith(new Delete(1))).isTrue();
      row.real().commit();
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

      assertThat(row.guard().sealWith(new Delete(1))).isTrue();
      row.real().commit();
      assertThat(setting(row, "search_path")).isEqualTo("elsewhere");
      row.guard().restoreSession(null);
      assertThat(setting(row, "search_path")).isEqualTo(before);
    }
  }

  @ParameterizedTest
  @EnumSource
  void h43_swallowedSqlErrorIsAFailureAndNothingIsDeleted(Source source, TestDatabase database)
      throws Exception {
    try (var row = ClaimedRow.in(database, source)) {
      row.handle("INSERT INTO effect VALUES (1)");
      swallow(() -> row.handle("INSERT INTO effect VALUES (1)"));

      assertThatThrownBy(() -> row.guard().sealWith(new Delete(1)))
          .hasMessageContaining("caught an SQLException and went on")
          .extracting("SQLState")
          .isEqualTo("25P02");
      row.guard().undo();
      row.real().commit();
      assertThat(row.effects()).isZero();
      assertThat(database.queryLong("SELECT count(*) FROM item")).isEqualTo(1);
    }
  }

  @ParameterizedTest
  @EnumSource
  void h43_aFailureToSettleIsToldAsItIsAndTakesAllWithIt(Source source, TestDatabase database)
      throws Exception {
    try (var row = ClaimedRow.in(database, source)) {
      row.handle("INSERT INTO effect VALUES (1)");

      assertThatThrownBy(() -> row.guard().sealWith(new Delete(0)))
          .hasMessageContaining("division by zero")
          .extracting("SQLState")
          .isEqualTo("22012");
      assertThatThrownBy(() -> row.guard().undo())
          .hasMessageContaining("roll the transaction back");
      row.real().rollback();
      assertThat(row.effects()).isZero();
      assertThat(database.queryLong("SELECT count(*) FROM item")).isEqualTo(1);
    }
  }
}
