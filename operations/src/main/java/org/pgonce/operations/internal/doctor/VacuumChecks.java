package org.pgonce.operations.internal.doctor;

import static org.pgonce.operations.internal.doctor.Finding.Severity.WARNING;

import java.util.List;

/** What keeps dead rows from being removed: docs/limits.md, old transactions. */
final class VacuumChecks {

  private static final String WHY =
      "Vacuum cannot remove what was handled since. Claims read past it, and get slower.";

  // What it has published is missed by readers of its channel: as pgonce.explain has it.
  private static final int WRITER_SECONDS = 60;

  private VacuumChecks() {}

  /**
   * @param seconds from which age on it is old
   */
  static List<Check> of(int seconds) {
    return List.of(
        Check.of(
            WARNING,
            "OLD_SNAPSHOT",
            """
            SELECT format('server process %s (%s, role %s, %s) is in a transaction since %s%s%s', a.pid, coalesce(nullif(a.application_name, ''), 'no name'), a.usename,
                          a.state, date_trunc('second', a.xact_start),
                          format(', which reaches %s transactions back', greatest(age(a.backend_xmin), age(a.backend_xid))),
                          CASE WHEN w.publishes THEN '; it has published something that is not committed' END),
                   format('Have it commit. If it hangs: SELECT pg_terminate_backend(%s), which undoes all that it has written. idle_in_transaction_session_timeout ends such sessions by itself.', a.pid)
              FROM pg_stat_activity a
             CROSS JOIN LATERAL (
               SELECT EXISTS (SELECT FROM pg_locks l WHERE l.pid = a.pid AND l.granted AND l.locktype = 'relation' AND l.mode = 'RowExclusiveLock'
                                 AND l.relation IN (SELECT c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                                                     WHERE n.nspname = 'pgonce' AND c.relname = 'notification_id')) AS publishes) w
             WHERE a.backend_type = 'client backend' AND a.datname = current_database() AND a.pid <> pg_backend_pid() AND (a.backend_xmin IS NOT NULL OR a.backend_xid IS NOT NULL)
               AND clock_timestamp() - a.xact_start > CASE WHEN w.publishes THEN least(SECONDS, WRITER) ELSE SECONDS END * interval '1 second'
             ORDER BY a.xact_start LIMIT 20
            """
                .replace("SECONDS", String.valueOf(seconds))
                .replace("WRITER", String.valueOf(WRITER_SECONDS)),
            WHY),
        Check.of(
            WARNING,
            "REPLICATION_SLOT",
            """
            SELECT format('replication slot "%s" (%s) %s', s.slot_name, s.slot_type, concat_ws(' and ',
                     CASE WHEN NOT s.active THEN 'is used by nobody' END,
                     CASE WHEN s.xmin IS NOT NULL OR s.catalog_xmin IS NOT NULL THEN format('holds back %s transactions', greatest(age(s.xmin), age(s.catalog_xmin))) END))
              FROM pg_replication_slots s
             WHERE NOT s.active AND s.restart_lsn IS NOT NULL OR age(s.catalog_xmin) > 1000000
             ORDER BY s.slot_name LIMIT 20
            """,
            "It keeps the write-ahead log, until the disk is full, and may keep vacuum from removing what was handled.",
            "Start its consumer, or SELECT pg_drop_replication_slot(name); max_slot_wal_keep_size bounds it."),
        Check.of(
            WARNING,
            "STANDBY_FEEDBACK",
            """
            SELECT format('standby "%s"%s, by server process %s, holds back %s transactions for a query of its own', r.application_name, ' at ' || host(r.client_addr), r.pid,
                          age(coalesce(r.backend_xmin, s.xmin)))
              FROM pg_stat_replication r LEFT JOIN pg_replication_slots s ON s.active_pid = r.pid
             WHERE age(coalesce(r.backend_xmin, s.xmin)) > 1000000 ORDER BY r.pid LIMIT 20
            """,
            WHY,
            "Look on the standby in pg_stat_activity for an old xact_start, and end that session. With hot_standby_feedback = off there the standby cancels such queries instead."),
        Check.of(
            WARNING,
            "PREPARED_TRANSACTION",
            """
            SELECT format('prepared transaction "%s" of role %s in database %s waits since %s', p.gid, p.owner, p.database, date_trunc('second', p.prepared))
              FROM pg_prepared_xacts p WHERE clock_timestamp() - p.prepared > SECONDS * interval '1 second' ORDER BY p.prepared LIMIT 20
            """
                .replace("SECONDS", String.valueOf(seconds)),
            WHY + " It holds its locks as well, over restarts of the server.",
            "COMMIT PREPARED or ROLLBACK PREPARED it."));
  }
}
