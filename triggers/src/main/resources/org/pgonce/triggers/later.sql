
BEGIN
  EXECUTE replace({text}, '{placeholder}', current_setting('pgonce.subscriptions'));
  EXECUTE (
    SELECT format({comment}, {definition} || left(encode(sha256(convert_to(p.prosrc, 'UTF8')), 'hex'), 12))
      FROM pg_proc p WHERE p.oid = {name}::regprocedure
  );
END
