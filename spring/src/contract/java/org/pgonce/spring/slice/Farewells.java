package org.pgonce.spring.slice;

import org.pgonce.spring.slice.Channels.Left;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.stereotype.Component;

/** Its listener is its parent's. */
@Component
class Farewells extends Leaving {

  private final JdbcClient jdbc;

  Farewells(JdbcClient jdbc) {
    this.jdbc = jdbc;
  }

  @Override
  void part(Left user) {
    jdbc.sql("delete from author where name = ?").param(user.name()).update();
  }
}
