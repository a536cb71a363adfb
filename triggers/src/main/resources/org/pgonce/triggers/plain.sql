  INSERT INTO {view} (subscription_id, payload{stamp_column})
  SELECT s.id, {payload}{stamp}
    FROM {rows}{subscriptions} AS s (id){where};
