package org.pgonce.internal.handle;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.pgonce.internal.handle.ClaimedRow.swallow;

import java.sql.SQLException;
import java.sql.Wrapper;
import java.time.Duration;
import java.util.List;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.awaitility.Awaitility;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.pgonce.internal.jdbc.Borrowed;
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
      var rows = statement.executeQuery("SELECT i FROM generate_series(1, 9) i");
      rows.next();
      var prepared = connection.prepareStatement("SELECT ?::int");
      prepared.setInt(1, 1);
      var metaData = connection.getMetaData();
      var tables = metaData.getTables(null, null, "item", null);
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
      assertEnded(() -> metaData.getTables(null, null, "item", null));
      assertEnded(metaData::getConnection);
      // Closed along with the statements that the handler left open.
      for (var left : List.of(rows, tables)) {
        assertThat(left.isClosed()).isTrue();
        assertThatThrownBy(left::next).isInstanceOf(SQLException.class);
      }

      rows.close();
      prepared.close();
      statement.close();
      connection.close();
      assertThat(connection.isClosed()).isTrue();
      assertThat(statement.isClosed()).isTrue();
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
          var prepared = connection.prepareStatement("SELECT 1");
          var call = connection.prepareCall("SELECT 1")) {
        assertThat(statement.getConnection()).isSameAs(connection);
        assertThat(prepared.getConnection()).isSameAs(connection);
        assertThat(call.getConnection()).isSameAs(connection);
        assertThat(connection.getMetaData().getConnection()).isSameAs(connection);
        for (Wrapper wrapper : new Wrapper[] {connection, prepared, connection.getMetaData()}) {
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
        swallow(() -> prepared.unwrap(PGStatement.class));
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void arraysXmlStreamsAndLargeObjectsAreTheDrivers(Source source, TestDatabase database)
      throws Exception {
    database.execute("SELECT lo_from_bytea(4711, 'large object')");
    try (var row = ClaimedRow.in(database, source)) {
      try (var insert =
              row.handlers().prepareStatement("INSERT INTO effect SELECT unnest(?::int[])");
          var select =
              row.handlers()
                  .prepareStatement(
                      "SELECT xmlserialize(CONTENT ? AS text), 'abc'::bytea, ARRAY[1, 2], 4711::oid")) {
        insert.setArray(1, row.handlers().createArrayOf("int4", new Integer[] {1, 2}));
        assertThat(insert.executeUpdate()).isEqualTo(2);
        var xml = row.handlers().createSQLXML();
        xml.setString("<a/>");
        select.setSQLXML(1, xml);
        try (var rows = select.executeQuery()) {
          rows.next();
          assertThat(rows.getString(1)).isEqualTo("<a/>");
          assertThat(rows.getBinaryStream(2).readAllBytes()).containsExactly('a', 'b', 'c');
          assertThat(rows.getArray(3).getResultSet().next()).isTrue();
          var blob = rows.getBlob(4);
          try (var in = blob.getBinaryStream()) {
            assertThat(in.read()).isEqualTo('l');
          }
          blob.setBytes(1, new byte[] {'L'});
        }
      }
      row.guard().seal();
      row.deleteAndCommit();
      assertThat(row.effects()).isEqualTo(2);
    }
    assertThat(database.queryString("SELECT convert_from(lo_get(4711), 'SQL_ASCII')"))
        .isEqualTo("Large object");
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
    new Borrowed(row.real()).closeLost(); // as the owner does
  }
}
