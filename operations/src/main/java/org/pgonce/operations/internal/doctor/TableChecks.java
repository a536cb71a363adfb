package org.pgonce.operations.internal.doctor;

import static org.pgonce.operations.internal.doctor.Finding.Severity.ERROR;
import static org.pgonce.operations.internal.doctor.Finding.Severity.WARNING;

import java.util.List;

/** Watched tables, functions' owners, publications, collations: what the catalogs say. */
final class TableChecks {

  static final List<Check> ALL =
      List.of(
          Check.of(
              ERROR,
              "TRIGGER_DISABLED",
              """
              SELECT format('trigger "%s" of table %s %s', t.tgname, t.tgrelid::regclass,
                            CASE t.tgenabled WHEN 'D' THEN 'is disabled' ELSE 'fires only where session_replication_role is replica' END),
                     format('ALTER TABLE %s ENABLE TRIGGER %I, unless it is meant so. How to publish the rows by hand that are missed: pgonce explain %s', t.tgrelid::regclass, t.tgname,
                            substr(p.proname, 9))
                FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid JOIN pg_namespace n ON n.oid = p.pronamespace
               WHERE n.nspname = 'pgonce_triggers' AND t.tgenabled IN ('D', 'R')
                 AND NOT EXISTS (SELECT FROM pg_trigger parent WHERE parent.oid = t.tgparentid AND parent.tgenabled = t.tgenabled)
               ORDER BY 1 LIMIT 100
              """,
              "What is written to the table makes no notification, now or later."),
          Check.of(
              WARNING,
              "REPLICA_ROLE",
              """
              SELECT format('session_replication_role is replica by default for %s', concat_ws(' in ',
                       CASE s.setrole WHEN 0 THEN 'each role' ELSE 'role ' || pg_get_userbyid(s.setrole) END,
                       CASE s.setdatabase WHEN 0 THEN 'each database' ELSE 'database ' || current_database() END)),
                     format('ALTER ROLE %s%s RESET session_replication_role, unless it is meant so.',
                       CASE s.setrole WHEN 0 THEN 'ALL' ELSE quote_ident(pg_get_userbyid(s.setrole)) END,
                       CASE WHEN s.setdatabase <> 0 THEN format(' IN DATABASE %I', current_database()) END)
                FROM pg_db_role_setting s JOIN pg_database d ON d.datname = current_database() AND s.setdatabase IN (0, d.oid)
               WHERE EXISTS (SELECT FROM unnest(s.setconfig) c WHERE lower(c) = 'session_replication_role=replica')
                 AND EXISTS (SELECT FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = 'pgonce_triggers')
               ORDER BY 1 LIMIT 100
              """,
              "What such a session writes to a watched table makes no notification, now or later."),
          // As the start of a listener refuses it; one that runs goes on, and sees no rows.
          Check.of(
              ERROR,
              "ROW_SECURITY",
              """
              SELECT format('row-level security is on for table %s', c.oid::regclass), format('ALTER TABLE %s DISABLE ROW LEVEL SECURITY, NO FORCE ROW LEVEL SECURITY', c.oid::regclass)
                FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
               WHERE n.nspname = 'pgonce' AND c.relkind IN ('r', 'p') AND (c.relrowsecurity OR c.relforcerowsecurity) ORDER BY 1 LIMIT 100
              """,
              "It hides the rows from those who listen: nothing is handled, and no error says so."),
          Check.of(
              ERROR,
              "FUNCTION_OWNER",
              """
              SELECT format('function %s belongs to role %s', p.oid::regprocedure, pg_get_userbyid(p.proowner))
                FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
               WHERE n.nspname IN ('pgonce', 'pgonce_private') AND pg_get_userbyid(p.proowner) <> 'pgonce_owner' ORDER BY 1 LIMIT 100
              """,
              "It runs with that role's rights, and that role can change it.",
              "Look at it, then pgonce migrate apply, or ALTER FUNCTION ... OWNER TO pgonce_owner."),
          Check.of(
              WARNING,
              "TRIGGER_FUNCTION_OWNER",
              """
              SELECT DISTINCT format('function %s belongs to role %s, and table %s to %s', p.oid::regprocedure, pg_get_userbyid(p.proowner), t.tgrelid::regclass, pg_get_userbyid(c.relowner))
                FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid JOIN pg_namespace n ON n.oid = p.pronamespace JOIN pg_class c ON c.oid = t.tgrelid
               WHERE n.nspname = 'pgonce_triggers' AND p.proowner <> c.relowner AND t.tgparentid = 0 ORDER BY 1 LIMIT 100
              """,
              "It runs with that role's rights in each write of the table. So it is after ALTER TABLE ... OWNER TO, and where an installer cannot act as the table's owner.",
              "docs/migrations.md, owners."),
          Check.of(
              WARNING,
              "PUBLICATION",
              """
              SELECT format('publication "%s" publishes %s', p.pubname, string_agg(p.tablename, ', ' ORDER BY p.tablename))
                FROM pg_publication_tables p WHERE p.schemaname = 'pgonce' GROUP BY p.pubname ORDER BY p.pubname LIMIT 100
              """,
              "Each notification is sent to the subscribers twice, when it is stored and when it is deleted; one that has pgonce would handle it again, or stop at its rows.",
              "Publish your own tables by name, without those of schema pgonce."),
          Check.of(
                  WARNING,
                  "COLLATION_VERSION",
                  """
                  SELECT format('database %s was made with version %s of its collation, and the system has %s', d.datname, d.datcollversion, pg_database_collation_actual_version(d.oid))
                    FROM pg_database d
                   WHERE d.datname = current_database() AND d.datcollversion IS NOT NULL AND d.datcollversion IS DISTINCT FROM pg_database_collation_actual_version(d.oid)
                  """,
                  "Indexes over text may miss rows, and let duplicates in. pgonce's own keys are COLLATE \"C\" and safe; your tables' may not be.",
                  "REINDEX DATABASE, then ALTER DATABASE ... REFRESH COLLATION VERSION.")
              .since(150_000));

  private TableChecks() {}
}
