package org.pgonce.test;

import javax.sql.DataSource;

/** A database that was made for a test, or a class of tests. */
record FreshDatabase(TestServer server, String name) {

  DataSource dataSource() {
    return server.dataSource(name);
  }

  void drop() {
    server.drop(name);
  }
}
