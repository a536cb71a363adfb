-- Beside the rest: the rights that pgonce.let_capture gives, as far as its text needs them. A plan may ask for a right before it looks at relkind, and
-- has_sequence_privilege fails for what is no sequence. A partition, which may belong to another role, has its triggers by the table's right.
SELECT p.oid::bigint, pg_catalog.pg_get_userbyid(p.proowner), p.prosecdef,
       pg_catalog.array_to_string(p.proconfig, E'\n'), p.prosrc,
       coalesce(pg_catalog.obj_description(p.oid, 'pg_proc'), ''),
       NOT EXISTS (SELECT FROM pg_catalog.pg_trigger t
                    WHERE t.tgfoid = p.oid AND t.tgparentid = 0 AND NOT t.tgisinternal AND NOT pg_catalog.has_table_privilege(p.proowner, t.tgrelid, 'TRIGGER')),
       NOT EXISTS (SELECT FROM pg_catalog.pg_class v JOIN pg_catalog.pg_namespace s ON s.oid = v.relnamespace
                    WHERE s.nspname = 'pgonce' AND v.relname = 'into_' || c.channel AND NOT pg_catalog.has_table_privilege(p.proowner, v.oid, 'INSERT'))
       OR EXISTS (SELECT FROM pg_catalog.pg_proc f JOIN pg_catalog.pg_namespace s ON s.oid = f.pronamespace
                   WHERE s.nspname = 'pgonce' AND f.proname = 'store_' || c.channel AND pg_catalog.has_function_privilege(p.proowner, f.oid, 'EXECUTE')),
       (SELECT pg_catalog.string_agg(needed.what, E'\n') FROM (
          SELECT 'USAGE on schema pgonce', pg_catalog.has_schema_privilege(p.proowner, s.oid, 'USAGE'), 'pgonce'
            FROM pg_catalog.pg_namespace s WHERE s.nspname = 'pgonce'
          UNION ALL
          SELECT 'INSERT on view pgonce.' || pg_catalog.quote_ident(v.relname), pg_catalog.has_table_privilege(p.proowner, v.oid, 'INSERT'), v.relname
            FROM pg_catalog.pg_class v JOIN pg_catalog.pg_namespace s ON s.oid = v.relnamespace
           WHERE s.nspname = 'pgonce' AND v.relkind = 'v' AND v.relname = 'into_' || c.channel
          UNION ALL
          SELECT 'SELECT on sequence pgonce.' || pg_catalog.quote_ident(g.relname), CASE g.relkind WHEN 'S' THEN pg_catalog.has_sequence_privilege(p.proowner, g.oid, 'SELECT') END, g.relname
            FROM pg_catalog.pg_class g JOIN pg_catalog.pg_namespace s ON s.oid = g.relnamespace
           WHERE s.nspname = 'pgonce' AND g.relkind = 'S' AND g.relname = 'gate_' || c.channel
          UNION ALL
          SELECT 'USAGE on sequence pgonce.notification_id', CASE i.relkind WHEN 'S' THEN pg_catalog.has_sequence_privilege(p.proowner, i.oid, 'USAGE') END, i.relname
            FROM pg_catalog.pg_class i JOIN pg_catalog.pg_namespace s ON s.oid = i.relnamespace
           WHERE s.nspname = 'pgonce' AND i.relkind = 'S' AND i.relname = 'notification_id'
          UNION ALL
          SELECT 'EXECUTE on function pgonce.' || pg_catalog.quote_ident(f.proname), pg_catalog.has_function_privilege(p.proowner, f.oid, 'EXECUTE'), f.proname
            FROM pg_catalog.pg_proc f JOIN pg_catalog.pg_namespace s ON s.oid = f.pronamespace
           WHERE s.nspname = 'pgonce' AND f.proname = 'store_' || c.channel) AS needed (what, given, name)
         WHERE NOT needed.given AND pg_catalog.strpos(p.prosrc, needed.name) > 0),
       (SELECT pg_catalog.string_agg(DISTINCT CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE pg_catalog.pg_get_userbyid(a.grantee) END, E'\n')
          FROM pg_catalog.aclexplode(coalesce(p.proacl, pg_catalog.acldefault('f', p.proowner))) a
         WHERE a.grantee <> p.proowner AND a.privilege_type = 'EXECUTE')
  FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace CROSS JOIN (SELECT CAST(? AS pg_catalog.text)) AS c (channel)
 WHERE n.nspname = 'pgonce_triggers' AND p.proname = 'capture_' || c.channel AND p.pronargs = 0
