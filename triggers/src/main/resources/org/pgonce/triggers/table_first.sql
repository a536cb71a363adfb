
DECLARE
  watched pg_catalog.regclass;
BEGIN
  FOR watched IN
    SELECT DISTINCT t.tgrelid FROM pg_catalog.pg_trigger AS t JOIN pg_catalog.pg_class AS c ON c.oid OPERATOR(pg_catalog.=) t.tgrelid
     WHERE t.tgfoid OPERATOR(pg_catalog.=) pg_catalog.to_regprocedure({function}) AND NOT t.tgisinternal AND t.tgparentid OPERATOR(pg_catalog.=) 0::pg_catalog.oid
       AND c.relkind OPERATOR(pg_catalog.=) 'p' AND pg_catalog.has_table_privilege(c.oid, 'UPDATE, DELETE, TRUNCATE')
     ORDER BY t.tgrelid
  LOOP
    EXECUTE pg_catalog.format('LOCK TABLE ONLY %s IN ACCESS EXCLUSIVE MODE', watched);
  END LOOP;
END
