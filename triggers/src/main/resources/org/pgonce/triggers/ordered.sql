  INSERT INTO {view} (subscription_id, id, payload, order_key{stamp_column})
  SELECT r.subscription_id, r.id, r.payload, coalesce(r.order_key, concat(chr(1), r.id)){stamp}
    FROM (SELECT s.id AS subscription_id, nextval('pgonce.notification_id') AS id, {payload} AS payload, {order_key} AS order_key
            FROM {rows}{subscriptions} AS s (id){where}{order}) AS r;
