  IF FOUND AND (pg_sequence_last_value({gate}) > 1000000 * extract(epoch FROM clock_timestamp())) IS NOT TRUE THEN
    PERFORM pg_notify({wake_up});
  END IF;
