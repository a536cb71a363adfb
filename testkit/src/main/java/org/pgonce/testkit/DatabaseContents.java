package org.pgonce.testkit;

import java.sql.SQLException;

/**
 * What is in a test's database from the start. Made once and copied, which takes a third of the
 * time, where the server ends with the tests: one that goes on running gets no database that no
 * test owns. Has a constructor without parameters.
 */
public interface DatabaseContents {

  /** Makes it in an empty database, and leaves no connection open. */
  void make(TestDatabase database) throws SQLException;

  /** Has a copy be like one that was made. */
  void copied(TestDatabase copy) throws SQLException;

  /** An empty database. */
  final class Nothing implements DatabaseContents {

    @Override
    public void make(TestDatabase database) {}

    @Override
    public void copied(TestDatabase copy) {}
  }
}
