{conflict}BEGIN
{trial}  IF (
    SELECT bool_or({store}(ARRAY(SELECT s.id FROM {subscriptions} AS s (id)), r.payload, r.key, r.order_key, r.due_at{version}))
      FROM ({sorted}
        SELECT {payload} AS payload, {key} AS key, {order_key} AS order_key, {due_at} AS due_at{place}{from}{where}
      {by_key}) AS r
  ) AND (pg_sequence_last_value({gate}) > 1000000 * extract(epoch FROM clock_timestamp())) IS NOT TRUE THEN
    PERFORM pg_notify({wake_up});
  END IF;
  RETURN NULL;
END
