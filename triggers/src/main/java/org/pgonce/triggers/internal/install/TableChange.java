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
   * What to say when it was given up: a lock was not to be had, or the server took too long.
   *
   * @param together whether several tables were tried in the same transaction
   */
  String givenUp(Connection transaction, boolean together) throws SQLException {
    var blockers =
        Blockers.inWords(
            transaction, target.oid(), exclusive ? Blockers.OF_ALL : Blockers.OF_WRITERS);
    var why =
        blockers.isEmpty()
            ? "it was not done with table %s in the time for which writers may have to wait. Nothing was changed. %s, or the server is too slow now. Try again"
                .formatted(
                    target.table(),
                    severalTables
                        ? "Nobody is in the way there: another table that goes with it is in use"
                        : "Nobody is in the way any more: those who were have ended")
            : "table %s is in use by others, and writers must not queue up behind the wait. Nothing was changed. In the way: %s. Wait for the end of these transactions or end them, then try again"
                .formatted(target.table(), blockers);
    return "pgonce cannot %s: %s%s"
        .formatted(
            what.purpose(),
            why,
            together
                ? "; or change channels one by one, each in a transaction of its own, as PgOnce.install and Triggers.drop on a DataSource do"
                : "");
  }
}
