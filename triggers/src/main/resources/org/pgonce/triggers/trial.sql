  BEGIN
    PERFORM {tried}{from}{where};
  EXCEPTION WHEN transaction_rollback THEN
    RAISE;
  WHEN OTHERS THEN
    PERFORM {store}({primary_key}, error => pgonce.shown_error(SQLSTATE, SQLERRM){version}){from};
    RETURN NULL;
  END;
