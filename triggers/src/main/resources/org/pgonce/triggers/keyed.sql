  PERFORM {store}({payload}, {key}, {order_key}, {due_at}{version}){from}{where}{order};
