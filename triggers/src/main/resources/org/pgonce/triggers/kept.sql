
BEGIN
  -- PUBLIC may execute a new function, and so may others by default privileges of its owner.
  EXECUTE (
    SELECT concat('REVOKE ALL ON FUNCTION ', p.oid::regprocedure, ' FROM PUBLIC', string_agg(DISTINCT ', ' || quote_ident(r.rolname), ''))
      FROM pg_proc p LEFT JOIN LATERAL aclexplode(p.proacl) a ON a.grantee <> p.proowner LEFT JOIN pg_roles r ON r.oid = a.grantee
     WHERE p.oid = {function}::regprocedure GROUP BY p.oid
  );
END
