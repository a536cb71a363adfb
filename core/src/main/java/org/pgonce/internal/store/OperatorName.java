package org.pgonce.internal.store;

import java.sql.Connection;
import java.sql.SQLException;
import org.pgonce.internal.jdbc.Statements;

/** The name under which {@code pgonce.operation_log} keeps what a transaction changes. */
public final class OperatorName {

  private static final String SET = "SELECT pg_catalog.set_config('pgonce.operator', ?, true)";

  private OperatorName() {}

  /** Sets the name until the end of the transaction. */
  public static void set(Connection transaction, String name) throws SQLException {
    Statements.execute(transaction, SET, name);
  }
}
