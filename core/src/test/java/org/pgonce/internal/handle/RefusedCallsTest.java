package org.pgonce.internal.handle;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.pgonce.internal.handle.ClaimedRow.swallow;

import com.zaxxer.hikari.pool.ProxyConnection;
import java.sql.Connection;
import java.sql.SQLClientInfoException;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Properties;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.pgonce.stage.Headers;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import org.postgresql.core.BaseConnection;

/** What a handler may not do, by method and by SQL, on a real connection. */
@PgTest
class RefusedCallsTest {

  private interface Call {
    void on(Connection connection) throws SQLException;
  }

  private static final Map<String, Call> ENDING = new LinkedHashMap<>();
  private static final Map<String, Call> LASTING = new LinkedHashMap<>();

  static {
    ENDING.put("commit()", Connection::commit);
    ENDING.put("rollback()", Connection::rollback);
    ENDING.put("abort()", c -> c.abort(Runnable::run));
    ENDING.put("setAutoCommit(true)", c -> c.setAutoCommit(true));
    ENDING.put("COMMIT", c -> statement(c).execute("COMMIT"));
    ENDING.put("END", c -> statement(c).executeUpdate("select 1; end"));
    ENDING.put("ROLLBACK", c -> statement(c).executeQuery("/* x */ rollback"));
    ENDING.put("ABORT", c -> c.prepareStatement("abort").execute());
    ENDING.put("PREPARE TRANSACTION", c -> c.prepareCall("prepare transaction 'x'"));
    ENDING.put("COMMIT ", c -> statement(c).addBatch("COMMIT"));
    ENDING.put("ROLLBACK ", c -> statement(c).executeLargeUpdate("rollback work"));
    ENDING.put("END ", c -> statement(c).execute("end", 1));

    LASTING.put("setReadOnly(true)", c -> c.setReadOnly(true));
    LASTING.put("setTransactionIsolation(8)", c -> c.setTransactionIsolation(8));
    LASTING.put("setSchema()", c -> c.setSchema("public"));
    LASTING.put("setCatalog()", c -> c.setCatalog("x"));
    LASTING.put(
        "setHoldability(",
        c -> {
          c.setHoldability(1);
          c.setHoldability(2); // one of the two is the present one
        });
    LASTING.put("setNetworkTimeout()", c -> c.setNetworkTimeout(Runnable::run, 1));
    LASTING.put("setTypeMap()", c -> c.setTypeMap(new HashMap<>()));
    LASTING.put("setClientInfo()", c -> c.setClientInfo("ApplicationName", "x"));
    LASTING.put("setClientInfo() ", c -> c.setClientInfo(new Properties()));
    LASTING.put("SET", c -> statement(c).execute("set role postgres"));
    LASTING.put("RESET", c -> statement(c).execute("RESET ALL"));
    LASTING.put("DISCARD", c -> statement(c).execute("DISCARD ALL"));
    LASTING.put("LISTEN", c -> statement(c).execute("LISTEN x"));
    LASTING.put("UNLISTEN", c -> statement(c).execute("UNLISTEN *"));
    LASTING.put("DEALLOCATE", c -> statement(c).execute("DEALLOCATE ALL"));
    LASTING.put("unwrap(" + BaseConnection.class.getName(), c -> c.unwrap(BaseConnection.class));
    LASTING.put("unwrap(" + ProxyConnection.class.getName(), c -> c.unwrap(ProxyConnection.class));
  }

  private static Statement statement(Connection connection) throws SQLException {
    return connection.createStatement();
  }

  @ParameterizedTest
  @EnumSource
  void h44_aHandlerThatTriesToEndTheTransactionFailsEvenIfItSwallowsTheRefusal(
      Source source, TestDatabase database) throws Exception {
    try (var row = ClaimedRow.in(database, source)) {
      for (var refused : ENDING.entrySet()) {
        var guard =
            new GuardedConnection(
                row.real(), Headers.PLAIN, null, "channel \"item\", id 1", ClaimedRow.PATIENCE);
        guard.connection().createStatement().execute("INSERT INTO effect VALUES (1)");
        assertRefused(refused.getKey(), refused.getValue(), guard.connection());
        assertThatThrownBy(guard::seal)
            .as(refused.getKey())
            .hasMessageContaining("is refused")
            .extracting("SQLState")
            .isEqualTo("25000");
        guard.undo();
        assertThat(row.claimableElsewhere()).as(refused.getKey()).isZero();
      }
      row.deleteAndCommit();
      assertThat(row.effects()).isZero();
    }
  }

  @ParameterizedTest
  @EnumSource
  void h44_whatOutlivesTheTransactionIsRefusedAndLeavesItUsable(
      Source source, TestDatabase database) throws Exception {
    try (var row = ClaimedRow.in(database, source)) {
      for (var refused : LASTING.entrySet()) {
        assertRefused(refused.getKey(), refused.getValue(), row.handlers());
      }
      row.handle("INSERT INTO effect VALUES (1)");
      row.guard().seal();
      row.deleteAndCommit();
      assertThat(row.effects()).isEqualTo(1);
    }
  }

  private static void assertRefused(String what, Call call, Connection connection) {
    assertThatThrownBy(() -> call.on(connection))
        .as(what)
        .isInstanceOf(SQLException.class)
        .hasMessageStartingWith(what.strip())
        .hasMessageContaining("is refused in the handler of channel \"item\", id 1: ")
        .hasMessageContaining(" Instead: ")
        .extracting("SQLState")
        .isEqualTo("25000");
  }

  @ParameterizedTest
  @EnumSource
  void h44_closeDoesNothing(Source source, TestDatabase database) throws Exception {
    try (var row = ClaimedRow.in(database, source)) {
      try (var connection = row.handlers();
          var statement = connection.createStatement()) {
        statement.execute("INSERT INTO effect VALUES (1)");
      }
      assertThat(row.handlers().isClosed()).isFalse();
      row.handle("INSERT INTO effect VALUES (2)");
      row.guard().seal();
      row.deleteAndCommit();
      assertThat(row.effects()).isEqualTo(2);
    }
  }

  @ParameterizedTest
  @EnumSource
  void settingsThatAreAsTheyShouldBeMayBeSet(Source source, TestDatabase database)
      throws Exception {
    try (var row = ClaimedRow.in(database, source)) {
      var connection = row.handlers();
      connection.setAutoCommit(false);
      connection.setReadOnly(false);
      connection.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
      assertThat(connection.getAutoCommit()).isFalse();
      assertThat(connection.isReadOnly()).isFalse();
      assertThat(connection.getTransactionIsolation())
          .isEqualTo(Connection.TRANSACTION_READ_COMMITTED);
      assertThat(connection.isValid(5)).isTrue();
    }
  }

  @ParameterizedTest
  @EnumSource
  void clientInfoIsRefusedByTheExceptionThatItsMethodDeclares(Source source, TestDatabase database)
      throws Exception {
    try (var row = ClaimedRow.in(database, source)) {
      assertThatThrownBy(() -> row.handlers().setClientInfo("ApplicationName", "x"))
          .isInstanceOf(SQLClientInfoException.class);
    }
  }

  @ParameterizedTest
  @EnumSource
  void setLocalIsAllowedAndGoneAfterwards(Source source, TestDatabase database) throws Exception {
    try (var row = ClaimedRow.in(database, source)) {
      row.handle("SET LOCAL lock_timeout = '7s'");
      row.handle("SET CONSTRAINTS ALL DEFERRED");
      row.guard().seal();
      row.deleteAndCommit();
      try (var timeout = statement(row.real()).executeQuery("SHOW lock_timeout")) {
        timeout.next();
        assertThat(timeout.getString(1)).isEqualTo("0");
      }
    }
  }

  /** A transaction cannot be nested, and its modes end with the handler's savepoint. */
  @ParameterizedTest
  @EnumSource
  void h44_whatTheServerKeepsWithinTheSavepointDoesNotKeepPgonceFromSettling(
      Source source, TestDatabase database) throws Exception {
    try (var row = ClaimedRow.in(database, source)) {
      row.handle("BEGIN");
      row.handle("INSERT INTO effect VALUES (1)");
      row.handle("SET LOCAL transaction_read_only = on");
      row.guard().seal();
      row.deleteAndCommit();
      assertThat(row.effects()).isEqualTo(1);
    }
    database.execute("DROP TABLE item, effect");
    try (var row = ClaimedRow.in(database, source)) {
      swallow(() -> row.handle("START TRANSACTION ISOLATION LEVEL SERIALIZABLE"));
      assertThatThrownBy(() -> row.guard().seal()).extracting("SQLState").isEqualTo("25P02");
    }
  }

  @ParameterizedTest
  @EnumSource
  void h44_aProcedureCannotCommitEither(Source source, TestDatabase database) throws Exception {
    try (var row = ClaimedRow.in(database, source)) {
      database.execute("CREATE PROCEDURE p() LANGUAGE plpgsql AS 'BEGIN COMMIT; END'");
      swallow(() -> row.handle("CALL p()"));
      assertThatThrownBy(() -> row.guard().seal()).extracting("SQLState").isEqualTo("25P02");
    }
  }
}
