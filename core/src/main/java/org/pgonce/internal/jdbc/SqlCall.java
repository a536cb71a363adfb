package org.pgonce.internal.jdbc;

import java.sql.SQLException;

/** What asks the database, or takes a connection to it. */
@FunctionalInterface
public interface SqlCall<R> {
  R call() throws SQLException;
}
