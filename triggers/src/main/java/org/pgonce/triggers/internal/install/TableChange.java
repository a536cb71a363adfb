package org.pgonce.triggers.internal.install;

import java.sql.Connection;
import java.sql.SQLException;
import org.pgonce.triggers.internal.catalog.InstalledTrigger;

/**
 * DDL that needs the lock of a table.
 *
 * @param what for the message, as in: cannot …
 * @param asOwner whether pgonce_owner runs it
 * @param exclusive whether it also waits for those who only read
 * @param severalTables whether it locks more tables than its target
 */
record TableChange(
    String sql,
    String what,
    Target target,
    boolean asOwner,
    boolean exclusive,
    boolean severalTables) {

  /**
   * The table whose lock is wanted.
   *
   * @param table as shown
   */
  record Target(long oid, String table) {

    static Target of(InstalledTrigger trigger) {
      return new Target(trigger.tableOid(), trigger.table().toString());
    }
  }

  void run(Connection transaction) throws SQLException {
    if (asOwner) {
      OwnerRole.during(transaction, () -> execute(transaction));
    } else {
      execute(transaction);
    }
  }

  private void execute(Connection transaction) throws SQLException {
    try (var statement = transaction.createStatement()) {
      statement.execute(sql);
    }
  }

  /**
   * What to say when its lock was not to be had.
   *
   * @param together whether several tables were tried in the same transaction
   */
  String givenUp(Connection transaction, boolean together) throws SQLException {
    return "pgonce cannot %s: table %s is in use by others, and writers must not queue up behind the wait. Nothing was changed. In the way: %s. Wait for the end of these transactions or end them, then try again%s"
        .formatted(
            what,
            target.table(),
            Blockers.inWords(
                transaction, target.oid(), exclusive ? Blockers.OF_ALL : Blockers.OF_WRITERS),
            together
                ? "; or change channels one by one, each in a transaction of its own, as PgOnce.install and Triggers.drop on a DataSource do"
                : "");
  }
}
