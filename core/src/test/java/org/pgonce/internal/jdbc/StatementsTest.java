package org.pgonce.internal.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** Statements are closed behind each call, whatever becomes of it. */
@PgTest
class StatementsTest {

  private final List<PreparedStatement> prepared = new ArrayList<>();

  private Connection noting(Connection real) {
    return (Connection)
        Proxy.newProxyInstance(
            getClass().getClassLoader(),
            new Class<?>[] {Connection.class},
            (proxy, method, arguments) -> {
              try {
                var result = method.invoke(real, arguments);
                if (result instanceof PreparedStatement statement) {
                  prepared.add(statement);
                }
                return result;
              } catch (InvocationTargetException e) {
                throw e.getCause();
              }
            });
  }

  @Test
  void aParameterThatCannotBeSetLeavesNoStatementOpen(TestDatabase database) throws Exception {
    try (var real = database.dataSource().getConnection()) {
      var connection = noting(real);
      assertThatThrownBy(() -> Statements.execute(connection, "SELECT ?, ?", 1, new Object()))
          .isInstanceOf(SQLException.class)
          .hasMessageContaining("java.lang.Object");
      assertThat(prepared).hasSize(1);
      assertThat(prepared.get(0).isClosed()).isTrue();
    }
  }
}
