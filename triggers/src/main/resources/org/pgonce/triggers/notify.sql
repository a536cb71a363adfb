  IF FOUND AND pgonce.needs_notify({gate}) THEN
    PERFORM pg_notify({wake_up});
  END IF;
