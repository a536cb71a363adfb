  PERFORM FROM {written} OFFSET 1;
  IF FOUND THEN
    PERFORM {store}(r.payload, r.key, r.order_key, r.due_at{version}) FROM (SELECT * FROM (
    SELECT {payload} AS payload, {key} AS key, {order_key} AS order_key, {due_at} AS due_at, row_number() OVER () AS place{from}{where}
    ) AS k ORDER BY k.key COLLATE "C", k.place) AS r;
  ELSE
    PERFORM {store}({payload}, {key}, {order_key}, {due_at}{version}){from}{where};
  END IF;
