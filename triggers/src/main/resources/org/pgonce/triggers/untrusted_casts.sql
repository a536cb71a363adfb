-- As to_json goes: into arrays, domains and composite types, which are never cast themselves. PostgreSQL's own types, with object ids below 16384, are
-- not looked up among the casts. Trusted are superusers, members of pgonce_owner, who can read and forge notifications anyway, and roles that may act as
-- the owner of the functions, whose rights such a function has.
WITH RECURSIVE typed AS (
  SELECT a.atttypid AS id FROM pg_catalog.pg_attribute a
   WHERE a.attrelid = CAST(CAST(? AS bigint) AS oid) AND a.attnum > 0 AND NOT a.attisdropped
  UNION
  SELECT part.id FROM typed d JOIN pg_catalog.pg_type t ON t.oid = d.id
   CROSS JOIN LATERAL (
     SELECT t.typbasetype AS id WHERE t.typtype = 'd'
     UNION ALL
     SELECT t.typelem WHERE t.typsubscript = 'pg_catalog.array_subscript_handler'::pg_catalog.regproc
     UNION ALL
     SELECT a.atttypid FROM pg_catalog.pg_attribute a WHERE t.typtype = 'c' AND a.attrelid = t.typrelid AND a.attnum > 0 AND NOT a.attisdropped) part
)
SELECT pg_catalog.format('type %s of table %s has a cast to json by function %s of role %I: each write runs that function in the writer''s session, where it can leave prepared statements which the writer then runs. Let a superuser, pgonce_owner or role %I own it (ALTER FUNCTION %s OWNER TO pgonce_owner), or drop the cast (DROP CAST (%s AS json)); and let no role own the type that you would not trust with this, as it can make the cast again',
         t.oid::pg_catalog.regtype, w.oid::pg_catalog.regclass, f.oid::pg_catalog.regprocedure, o.rolname, n.rolname, f.oid::pg_catalog.regprocedure, t.oid::pg_catalog.regtype)
  FROM typed d
  JOIN pg_catalog.pg_type t ON t.oid = d.id AND t.typtype NOT IN ('c', 'd')
  JOIN pg_catalog.pg_cast x ON x.castsource = d.id AND x.casttarget = 'pg_catalog.json'::pg_catalog.regtype AND x.castmethod = 'f'
  JOIN pg_catalog.pg_proc f ON f.oid = x.castfunc
  JOIN pg_catalog.pg_roles o ON o.oid = f.proowner
  JOIN pg_catalog.pg_class w ON w.oid = CAST(CAST(? AS bigint) AS oid)
  JOIN pg_catalog.pg_roles n ON n.rolname = coalesce(?, pg_catalog.pg_get_userbyid(w.relowner))
 WHERE t.oid >= 16384 AND NOT o.rolsuper
   AND NOT EXISTS (SELECT FROM pg_catalog.pg_roles r WHERE r.rolname = 'pgonce_owner' AND pg_catalog.pg_has_role(o.oid, r.oid, 'MEMBER'))
   AND NOT pg_catalog.pg_has_role(o.oid, n.oid, 'MEMBER')
 ORDER BY 1
