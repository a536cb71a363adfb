package org.pgonce.cli;

import java.sql.SQLException;
import org.pgonce.Channel;
import org.pgonce.PgOnce;
import org.pgonce.testkit.DatabaseContents;
import org.pgonce.testkit.TestDatabase;

/** A database with pgonce, and a channel. */
public final class PgOnceInstalled implements DatabaseContents {

  public static final Channel<String> MAILS = Channel.of("mails", String.class);

  @Override
  public void make(TestDatabase database) {
    PgOnce.using(database.dataSource()).install(MAILS);
  }

  /** A copy would be taken for that of a database that is in use. */
  @Override
  public void copied(TestDatabase copy) throws SQLException {
    copy.execute("select pgonce_private.settle_here()");
  }
}
