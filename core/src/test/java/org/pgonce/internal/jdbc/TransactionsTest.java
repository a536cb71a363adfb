package org.pgonce.internal.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import javax.sql.DataSource;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.pgonce.testkit.Login;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

@PgTest
class TransactionsTest {

  @Test
  void h50_whatIsCommittedIsDoneThoughItsConnectionCannotBeGivenBack(TestDatabase database)
      throws Exception {
    database.execute("create table item (id int)");
    var transactions = new Transactions(unrestorable(database.dataSource()), Duration.ofSeconds(5));
    var inserted =
        transactions.run(
            connection -> {
              try (var statement = connection.createStatement()) {
                return statement.executeUpdate("insert into item values (1)");
              }
            });
    assertThat(inserted).isOne();
    assertThat(database.queryLong("select count(*) from item")).isOne();
  }

  /**
   * HikariCP rolls nothing back where autocommit is on, and hands out first what came back last.
   */
  @ParameterizedTest
  @ValueSource(strings = {"select 1", "select 1 / 0"})
  void h42_aConnectionThatWasLeftInATransactionIsClosedAndNothingOfItCommitted(
      String last, TestDatabase database) throws Exception {
    Login.assumePgjdbc("pgjdbc-ng does not say whether a transaction is open");
    database.execute("create table item (id int)");
    var pool = database.pooled(1);
    try (var connection = pool.getConnection();
        var statement = connection.createStatement()) {
      statement.execute("begin");
      statement.execute("insert into item values (1)");
      statement.execute(last);
    } catch (SQLException left) {
      // as it is
    }
    var transactions = new Transactions(pool, Duration.ofSeconds(5));
    assertThatThrownBy(() -> transactions.run(connection -> "done"))
        .hasMessageContaining("begun by SQL and never ended");
    var done = transactions.run(connection -> "done");
    assertThat(done).isEqualTo("done");
    assertThat(database.queryLong("select count(*) from item")).isZero();
  }

  /** As pgjdbc-ng throws it where a server that crashes ends the connection just then. */
  private static NullPointerException thrownBy(String type) {
    var failure = new NullPointerException("\"this.connection\" is null");
    failure.setStackTrace(
        new StackTraceElement[] {new StackTraceElement(type, "parseIfNeeded", null, 1)});
    return failure;
  }

  @Test
  void h70_aDriverThatFindsItsConnectionGoneTellsItsEnd(TestDatabase database) {
    var transactions = new Transactions(database.dataSource(), Duration.ofSeconds(5));
    var gone = thrownBy("com.impossibl.postgres.jdbc.PGPreparedStatement");
    assertThatThrownBy(
            () ->
                transactions.make(
                    connection -> {
                      throw gone;
                    }))
        .isInstanceOfSatisfying(
            SQLException.class,
            told -> assertThat(LostConnection.isToldBy(told)).as(told.getMessage()).isTrue())
        .hasCause(gone);
    var mistake = thrownBy("org.pgonce.sweeps.Mapper");
    assertThatThrownBy(
            () ->
                transactions.make(
                    connection -> {
                      throw mistake;
                    }))
        .isSameAs(mistake);
  }

  /** Its connections do not go back to autocommit. */
  private static DataSource unrestorable(DataSource real) {
    return proxy(
        DataSource.class, real, connection -> proxy(Connection.class, connection, same -> same));
  }

  private interface Wrap {
    Object around(Object result);
  }

  private static <T> T proxy(Class<T> type, Object target, Wrap wrap) {
    return type.cast(
        Proxy.newProxyInstance(
            type.getClassLoader(),
            new Class<?>[] {type},
            (proxy, method, arguments) -> {
              if (method.getName().equals("setAutoCommit") && arguments[0].equals(true)) {
                throw new SQLException("it may not go back");
              }
              try {
                var result = method.invoke(target, arguments);
                return result instanceof Connection ? wrap.around(result) : result;
              } catch (InvocationTargetException e) {
                throw e.getCause();
              }
            }));
  }
}
