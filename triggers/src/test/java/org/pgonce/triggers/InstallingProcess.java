package org.pgonce.triggers;

import org.pgonce.PgOnce;
import org.pgonce.testkit.ParentWatch;
import org.postgresql.ds.PGSimpleDataSource;

/** Waits at a barrier, installs a channel, and ends. Arguments: URL, user, password of a test. */
final class InstallingProcess {

  record Author(long id, String name) {}

  static final TriggerChannel<Author> ADDED =
      TriggerChannel.on("author", Author.class).afterInsert().build();

  /** Who has run this in an open transaction holds all processes back. */
  static final String CLOSE_BARRIER = "select pg_advisory_xact_lock(42)";

  private static final String PASS_BARRIER = "select pg_advisory_lock_shared(42)";

  private InstallingProcess() {}

  public static void main(String[] arguments) throws Exception {
    ParentWatch.exitWhenParentDies();
    var dataSource = new PGSimpleDataSource();
    dataSource.setUrl(arguments[0]);
    dataSource.setUser(arguments[1]);
    dataSource.setPassword(arguments[2]);
    dataSource.setApplicationName("installing");
    try (var connection = dataSource.getConnection();
        var statement = connection.createStatement()) {
      System.out.println("ready");
      statement.execute(PASS_BARRIER);
    }
    PgOnce.using(dataSource).install(ADDED);
  }
}
