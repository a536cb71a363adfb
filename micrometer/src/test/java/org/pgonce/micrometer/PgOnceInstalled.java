package org.pgonce.micrometer;

import java.sql.SQLException;
import org.pgonce.PgOnce;
import org.pgonce.testkit.DatabaseContents;
import org.pgonce.testkit.TestDatabase;

/** A database with pgonce, and no channel yet. */
final class PgOnceInstalled implements DatabaseContents {

  @Override
  public void make(TestDatabase database) {
    PgOnce.using(database.dataSource()).install();
  }

  /** A copy would be taken for that of a database that is in use. */
  @Override
  public void copied(TestDatabase copy) throws SQLException {
    copy.execute("select pgonce_private.settle_here()");
  }
}
