package org.pgonce.internal.handle;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.pgonce.internal.handle.ClaimedRow.swallow;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Wrapper;
import java.time.Duration;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.awaitility.Awaitility;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import org.postgresql.PGStatement;

/** A handler that leaks its connection reaches nothing through it. */
@PgTest
class RevokedGuardTest {

  @ParameterizedTest
  @EnumSource
  void h44_whateverTheHandlerStillHoldsThrows(Source source, TestDatabase database)
      throws Exception {
    try (var row = ClaimedRow.in(database, source)) {
      var connection = row.handlers();
      var statement = connection.createStatement();
      statement.setFetchSize(2);
      var rows = statement.executeQuery("SELECT i, ARRAY[i] FROM generate_series(1, 9) i");
      rows.next();
      var array = rows.getArray(2);
      var columns = rows.getMetaData();
      var prepared = connection.prepareStatement("SELECT ?::int");
      prepared.setInt(1, 1);
      var metaData = connection.getMetaData();
      var savepoint = connection.setSavepoint("own");

      row.guard().revoke();

      assertEnded(connection::createStatement);
      assertEnded(() -> connection.prepareStatement("SELECT 1"));
      assertEnded(connection::getMetaData);
      assertEnded(connection::getWarnings);
      assertEnded(() -> connection.rollback(savepoint));
      assertEnded(connection::commit);
      assertEnded(() -> statement.execute("DELETE FROM item"));
      assertEnded(statement::getConnection);
      assertEnded(statement::cancel);
      assertEnded(prepared::executeQuery);
      assertEnded(() -> prepared.setInt(1, 2));
      assertEnded(rows::next);
      assertEnded(rows::getStatement);
      assertEnded(array::getResultSet);
      assertEnded(() -> columns.getColumnName(1));
      assertEnded(() -> metaData.getTables(null, null, "item", null));
      assertEnded(metaData::getConnection);

      rows.close();
      prepared.close();
      statement.close();
      connection.close();
      array.free();
      assertThat(connection.isClosed()).isTrue();
      assertThat(statement.isClosed()).isTrue();
      assertThat(rows.isClosed()).isTrue();
      row.deleteAndCommit();
    }
  }

  private static void assertEnded(ThrowingCallable call) {
    assertThatThrownBy(call)
        .isInstanceOf(SQLException.class)
        .hasMessageContaining("the handler of channel \"item\", id 1 has ended")
        .extracting("SQLState")
        .isEqualTo("08003");
  }

  @ParameterizedTest
  @EnumSource
  void h44_everyWayBackLeadsToTheGuard(Source source, TestDatabase database) throws Exception {
    try (var row = ClaimedRow.in(database, source)) {
      var connection = row.handlers();
      try (var statement = connection.createStatement();
          var prepared = connection.prepareStatement("SELECT ARRAY[1]");
          var call = connection.prepareCall("SELECT 1");
          var rows = prepared.executeQuery();
          var tables = connection.getMetaData().getTables(null, null, "item", null)) {
        assertThat(statement.getConnection()).isSameAs(connection);
        assertThat(prepared.getConnection()).isSameAs(connection);
        assertThat(call.getConnection()).isSameAs(connection);
        assertThat(connection.getMetaData().getConnection()).isSameAs(connection);
        assertThat(rows.getStatement()).isSameAs(prepared);
        assertThat(prepared.getResultSet()).isNotNull();
        assertThat(prepared.getResultSet().getStatement()).isSameAs(prepared);
        if (tables.getStatement() != null) {
          assertThat(tables.getStatement().getConnection()).isSameAs(connection);
        }
        rows.next();
        ResultSet elements = rows.getArray(1).getResultSet();
        if (elements.getStatement() != null) {
          assertThat(elements.getStatement().getConnection()).isSameAs(connection);
        }
        for (Wrapper wrapper : new Wrapper[] {connection, prepared, rows}) {
          for (Class<?> type : wrapper.getClass().getInterfaces()) {
            assertThat(wrapper.isWrapperFor(type)).isTrue();
            assertThat((Object) wrapper.unwrap(type)).isSameAs(wrapper);
          }
          assertThat(wrapper.isWrapperFor(String.class)).isFalse();
          swallow(() -> wrapper.unwrap(String.class));
        }
        assertThat(connection).isEqualTo(statement.getConnection()).isNotEqualTo(row.real());
        assertThat(connection).hasSameHashCodeAs(statement.getConnection());
        assertThat(connection.toString()).startsWith("guarded ");
        if (source != Source.PGJDBC_NG) {
          prepared.unwrap(PGStatement.class).setPrepareThreshold(1);
        }
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void arraysGoThroughTheGuardBothWays(Source source, TestDatabase database) throws Exception {
    try (var row = ClaimedRow.in(database, source);
        var prepared =
            row.handlers().prepareStatement("INSERT INTO effect SELECT unnest(?::int[])")) {
      prepared.setArray(1, row.handlers().createArrayOf("int4", new Integer[] {1, 2}));
      assertThat(prepared.executeUpdate()).isEqualTo(2);
    }
  }

  @ParameterizedTest
  @EnumSource
  void h44_aCallStillUnderWayIsWaitedFor(Source source, TestDatabase database) throws Exception {
    try (var row = ClaimedRow.in(database, source)) {
      var other = HandlerThread.running(() -> row.handle("SELECT pg_sleep(0.2)"));
      database.backends().awaitRunning("pg_sleep(0.2)");
      row.guard().seal();
      assertThat(other.failure()).isNull();
      row.deleteAndCommit();
    }
  }

  @ParameterizedTest
  @EnumSource
  void h44_aCallThatWaitsForItsTurnWhenTheHandlerEndsDoesNotGetThrough(
      Source source, TestDatabase database) throws Exception {
    try (var row = ClaimedRow.in(database, source)) {
      // Made before: else it would be createStatement() that waits, and the check after it that
      // holds.
      var statement = row.handlers().createStatement();
      try (var gate = database.dataSource().getConnection()) {
        gate.createStatement().execute("SELECT pg_advisory_lock(1)");
        var first = HandlerThread.running(() -> row.handle("SELECT pg_advisory_xact_lock(1)"));
        database.backends().awaitRunning("pg_advisory_xact_lock(1)");
        var second =
            HandlerThread.running(() -> statement.execute("INSERT INTO effect VALUES (1)"));
        Awaitility.await("the second call to wait").until(second::isWaiting);
        // The first returns when the handler has ended, and not before.
        var sealing = HandlerThread.running(() -> row.guard().seal());
        Awaitility.await("the end to wait").until(sealing::isWaiting);
        gate.createStatement().execute("SELECT pg_advisory_unlock(1)");
        assertThat(sealing.failure()).isNull();
        assertThat(first.failure()).isNull();
        assertThat(second.failure()).hasMessageContaining("has ended");
      }
      row.deleteAndCommit();
      assertThat(row.effects()).isZero();
    }
  }

  @ParameterizedTest
  @EnumSource
  void h44_aCallThatDoesNotReturnCondemnsTheConnection(Source source, TestDatabase database)
      throws Exception {
    var row = ClaimedRow.in(database, source.of(database), Duration.ofMillis(400));
    row.handle("INSERT INTO effect VALUES (1)");
    var other = HandlerThread.running(() -> row.handle("SELECT pg_sleep(30)"));
    database.backends().awaitRunning("pg_sleep(30)");
    assertThatThrownBy(() -> row.guard().seal())
        .hasMessageContaining("was still using the connection 400 ms after")
        .extracting("SQLState")
        .isEqualTo("08003");
    assertThat(other.failure()).isInstanceOf(SQLException.class);
    // The server notices when it next writes to the socket, or is told by the driver's cancel.
    database.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(30)'");
    Awaitility.await("the claim to be free")
        .atMost(Duration.ofSeconds(10))
        .until(() -> row.claimableElsewhere() == 1);
    assertThat(row.effects()).isZero();
    row.real().close();
  }
}
