package org.pgonce.triggers.internal.install;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;

/**
 * DDL that needs the lock of a table.
 *
 * @param what for messages
 * @param asOwner whether pgonce_owner runs it, where the connection can act as that
 * @param exclusive whether it also waits for those who only read
 * @param severalTables whether it locks more tables than its target
 */
record TableChange(
    String sql,
    Description what,
    Target target,
    boolean asOwner,
    boolean exclusive,
    boolean severalTables) {

  /**
   * It in words.
   *
   * @param purpose as in: cannot …
   * @param summary in a plan
   * @param diff in a plan
   */
  record Description(String purpose, String summary, List<String> diff) {}

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
    var role = asOwner && OwnerRole.mayDrop(transaction) ? OwnerRole.OF_SCHEMA : null;
    OwnerRole.during(transaction, role, () -> Installer.execute(transaction, sql));
  }

  /**
   * What to say when its lock was not to be had.
   *
   * @param together whether several tables were tried in the same transaction
   */
  String givenUp(Connection transaction, boolean together) throws SQLException {
    return "pgonce cannot %s: table %s is in use by others, and writers must not queue up behind the wait. Nothing was changed. In the way: %s. Wait for the end of these transactions or end them, then try again%s"
        .formatted(
            what.purpose(),
            target.table(),
            Blockers.inWords(
                transaction, target.oid(), exclusive ? Blockers.OF_ALL : Blockers.OF_WRITERS),
            together
                ? "; or change channels one by one, each in a transaction of its own, as PgOnce.install and Triggers.drop on a DataSource do"
                : "");
  }
}
