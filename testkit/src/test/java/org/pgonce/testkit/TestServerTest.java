package org.pgonce.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class TestServerTest {

  @Test
  void committedDataSurvivesAKilledPostmaster() throws Exception {
    try (var server = TestServer.start();
        var database = server.createDatabase()) {
      database.execute("CREATE TABLE t (id int)");
      database.execute("INSERT INTO t VALUES (1)");
      assertThat(database.queryString("SHOW fsync")).isEqualTo("on");
      server.killPostmaster();
      server.restart();
      assertThat(database.queryLong("SELECT count(*) FROM t")).isEqualTo(1);
    }
  }

  @Test
  void committedDataSurvivesAnImmediateStop() throws Exception {
    try (var server = TestServer.start();
        var database = server.createDatabase()) {
      database.execute("CREATE TABLE t (id int)");
      database.execute("INSERT INTO t VALUES (1)");
      server.stopImmediately();
      server.restart();
      assertThat(database.queryLong("SELECT count(*) FROM t")).isEqualTo(1);
    }
  }
}
