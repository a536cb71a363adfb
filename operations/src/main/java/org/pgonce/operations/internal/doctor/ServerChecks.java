package org.pgonce.operations.internal.doctor;

import static org.pgonce.operations.internal.doctor.Finding.Severity.ERROR;
import static org.pgonce.operations.internal.doctor.Finding.Severity.INFO;
import static org.pgonce.operations.internal.doctor.Finding.Severity.WARNING;

import java.util.List;

/** The server: its role, its settings, its room. */
final class ServerChecks {

  static final List<Check> ALL =
      List.of(
          Check.of(
              INFO,
              "SESSIONS_NOT_SHOWN",
              "SELECT format('role %s is not shown what the sessions of other roles do', current_user) WHERE NOT pg_has_role('pg_read_all_stats', 'USAGE')",
              "Their old transactions, which hold vacuum back, are not found.",
              "GRANT pg_read_all_stats to it, where that is wanted."),
          Check.of(
              ERROR,
              "STANDBY",
              "SELECT 'the server is a standby' WHERE pg_is_in_recovery()",
              "It takes no writes and no LISTEN: nothing can be published, handled or changed here.",
              "Give the address of the primary; with several hosts in the URL, targetServerType=primary."),
          Check.of(
              ERROR,
              "READ_ONLY",
              "SELECT 'transactions of this login are read-only by default' WHERE current_setting('default_transaction_read_only')::boolean AND NOT pg_is_in_recovery()",
              "Publishing and handling write.",
              "ALTER ROLE or ALTER DATABASE ... RESET default_transaction_read_only, or the server's configuration."),
          Check.of(
              ERROR,
              "FSYNC_OFF",
              "SELECT 'fsync is off' WHERE NOT current_setting('fsync')::boolean",
              "A crash of the machine can lose or damage what was committed: no promise of pgonce holds then.",
              "fsync = on in the server's configuration, then pg_ctl reload."),
          Check.of(
              ERROR,
              "FULL_PAGE_WRITES_OFF",
              "SELECT 'full_page_writes is off' WHERE NOT current_setting('full_page_writes')::boolean AND current_setting('fsync')::boolean",
              "A crash of the machine can damage pages, unless its file system writes them whole.",
              "full_page_writes = on in the server's configuration, then pg_ctl reload."),
          Check.of(
              WARNING,
              "SYNCHRONOUS_COMMIT_OFF",
              """
              SELECT w.whose || ' synchronous_commit = off' FROM (
                SELECT 'this login has' AS whose WHERE current_setting('synchronous_commit') = 'off'
                UNION ALL
                SELECT format('sessions%s%s have', ' of role ' || r.rolname, ' in database ' || d.datname)
                  FROM pg_db_role_setting s LEFT JOIN pg_roles r ON r.oid = s.setrole LEFT JOIN pg_database d ON d.oid = s.setdatabase
                 WHERE 'synchronous_commit=off' = ANY (s.setconfig) AND s.setdatabase IN (0, (SELECT c.oid FROM pg_database c WHERE c.datname = current_database()))
              ) w
              """,
              "A crash of the server can lose commits of the last moments: what was handled is handled again, what was published is gone.",
              "Leave it on for publishers and handlers: docs/guarantees.md, the session of a handler."),
          Check.of(
              INFO,
              "WAL_LEVEL_MINIMAL",
              "SELECT 'wal_level is minimal' WHERE current_setting('wal_level') = 'minimal'",
              "No standby and no restore to a point in time: what the machine loses is lost.",
              "wal_level = replica, and a restart of the server, where that is not wanted."),
          Check.of(
              WARNING,
              "AUTOVACUUM_OFF",
              "SELECT 'autovacuum is off' WHERE NOT current_setting('autovacuum')::boolean",
              "Each notification leaves a dead row: claims get slower and slower.",
              "autovacuum = on in the server's configuration, then pg_ctl reload."),
          Check.of(
              WARNING,
              "NOTIFY_QUEUE",
              "SELECT format('the queue of NOTIFY is %s%% full', round((100 * pg_notification_queue_usage())::numeric, 1)) WHERE NOT pg_is_in_recovery() AND pg_notification_queue_usage() > 0.1",
              "Where it is full, each commit that notifies fails, in all databases of the server. A session that has listened and stays in a transaction holds it.",
              "End that session by pg_terminate_backend. From 50% on the server's log has its pid: The server process with PID ... is among those with the oldest transactions. Before, look in pg_stat_activity for an old xact_start; a handler at work may be older, and does not listen."),
          Check.of(
              WARNING,
              "CONNECTIONS",
              """
              SELECT format('%s of %s connections are in use', c.used, c.most)
                FROM (SELECT sum(d.numbackends) AS used, current_setting('max_connections')::integer AS most FROM pg_stat_database d) c
               WHERE c.used >= 0.8 * c.most
              """,
              "Listeners that start, and pools that grow, are refused.",
              "Smaller pools, fewer processes, a pooler for others than LISTEN, or more max_connections."));

  private ServerChecks() {}
}
