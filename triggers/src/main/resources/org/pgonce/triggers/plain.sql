{conflict}BEGIN
{trial}  INSERT INTO {view} (subscription_id, payload{stamp_column})
  SELECT s.id, {payload}{stamp}
    FROM {rows}{subscriptions} AS s (id){where};
  IF FOUND AND (pg_sequence_last_value({gate}) > 1000000 * extract(epoch FROM clock_timestamp())) IS NOT TRUE THEN
    PERFORM pg_notify({wake_up});
  END IF;
  RETURN NULL;
END
