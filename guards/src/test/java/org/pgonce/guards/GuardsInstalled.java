package org.pgonce.guards;

import org.pgonce.testkit.DatabaseContents;
import org.pgonce.testkit.TestDatabase;

/** A database with guards, and nothing else of pgonce. */
public final class GuardsInstalled implements DatabaseContents {

  @Override
  public void make(TestDatabase database) {
    var unused = Guards.using(database.dataSource()).install();
  }

  @Override
  public void copied(TestDatabase copy) {}
}
