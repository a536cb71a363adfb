package org.pgonce.triggers.internal.install;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
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

  // The modes that SHARE ROW EXCLUSIVE conflicts with; ACCESS EXCLUSIVE conflicts with all.
  private static final String BLOCKERS =
      """
      SELECT coalesce(
               pg_catalog.concat_ws(', ', 'backend ' || b.pid, 'role ' || a.usename, 'application ' || nullif(a.application_name, ''),
                 CASE WHEN a.backend_type <> 'client backend' THEN a.backend_type END, a.state,
                 'in a transaction for ' || pg_catalog.round(extract(epoch FROM pg_catalog.clock_timestamp() - a.xact_start)) || ' s'),
               'a prepared transaction')
        FROM (SELECT DISTINCT l.pid FROM pg_catalog.pg_locks l
               WHERE l.locktype = 'relation' AND l.granted AND l.pid IS DISTINCT FROM pg_catalog.pg_backend_pid()
                 AND l.database = (SELECT d.oid FROM pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database())
                 AND l.relation = CAST(CAST(? AS bigint) AS oid)
                 AND (CAST(? AS boolean) OR l.mode NOT IN ('AccessShareLock', 'RowShareLock'))) b
        LEFT JOIN pg_catalog.pg_stat_activity a ON a.pid = b.pid
       ORDER BY a.xact_start LIMIT 10
      """;

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
            blockers(transaction),
            together
                ? "; or change channels one by one, each in a transaction of its own, as PgOnce.install and Triggers.drop on a DataSource do"
                : "");
  }

  private String blockers(Connection transaction) throws SQLException {
    try (var statement = transaction.prepareStatement(BLOCKERS)) {
      statement.setLong(1, target.oid());
      statement.setBoolean(2, exclusive);
      var blockers = new ArrayList<String>();
      try (var row = statement.executeQuery()) {
        while (row.next()) {
          blockers.add(row.getString(1));
        }
      }
      return blockers.isEmpty() ? "nobody any more" : String.join("; ", blockers);
    }
  }
}
