  BEGIN
    PERFORM {tried}{from}{where};
  EXCEPTION WHEN OTHERS THEN
    PERFORM {store}({primary_key}, error => pgonce.shown_error(SQLSTATE, SQLERRM){version}){from};
    RETURN NULL;
  END;
