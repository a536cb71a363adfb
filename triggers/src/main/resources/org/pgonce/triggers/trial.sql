  BEGIN
    PERFORM {tried}{from}{where};
  EXCEPTION WHEN OTHERS THEN
    PERFORM {store}(ARRAY(SELECT s.id FROM {subscriptions} AS s (id)), {primary_key}, error => pgonce.shown_error(SQLSTATE, SQLERRM){version}){from};
    RETURN NULL;
  END;
