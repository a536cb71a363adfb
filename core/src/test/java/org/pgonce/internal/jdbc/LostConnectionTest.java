package org.pgonce.internal.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.SQLException;
import org.junit.jupiter.api.Test;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

@PgTest
class LostConnectionTest {

  /** As the connections of c3p0 and DBCP2 are, which their pools have taken back. */
  private static Connection closedAsPoolsDo(Connection real) throws SQLException {
    real.close();
    return (Connection)
        Proxy.newProxyInstance(
            Connection.class.getClassLoader(),
            new Class<?>[] {Connection.class},
            (proxy, method, arguments) -> {
              if (method.getName().equals("isWrapperFor")) {
                throw new NullPointerException("the pooled connection is gone");
              }
              try {
                return method.invoke(real, arguments);
              } catch (InvocationTargetException e) {
                throw e.getCause();
              }
            });
  }

  @Test
  void h42_oneThatItsPoolHasTakenBackIsGivenUpWithoutAWord(TestDatabase database) throws Exception {
    var lost = closedAsPoolsDo(database.dataSource().getConnection());
    LostConnection.abandon(lost);
    new Borrowed(lost).closeLost();
    assertThat(lost.isClosed()).isTrue();
  }
}
