  PERFORM FROM ({sorted}
    SELECT {payload} AS payload, {key} AS key, {order_key} AS order_key, {due_at} AS due_at{place}{from}{where}
  {by_key}OFFSET 0) AS r
   WHERE {store}(ARRAY(SELECT s.id FROM {subscriptions} AS s (id)), r.payload, r.key, r.order_key, r.due_at{version});
