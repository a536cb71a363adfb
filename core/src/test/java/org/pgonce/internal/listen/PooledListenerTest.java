package org.pgonce.internal.listen;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariDataSource;
import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.Channel;
import org.pgonce.PgOnce;
import org.pgonce.Publisher;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.testkit.PgBouncer;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** A whole listener whose data source leads to a transaction-mode PgBouncer. */
@PgTest(PgOnceInstalled.class)
class PooledListenerTest {

  private static final Channel<Integer> NUMBERS = Channel.of("numbers", Integer.class);

  @Test
  @Tag("all")
  void h61_behindATransactionModePoolerTheListenerSaysSoAndWorksByPolling(TestDatabase database)
      throws Exception {
    database.execute("create table effect (id int primary key)");
    PgOnce.using(database.dataSource()).install(NUMBERS);
    try (var pooler = PgBouncer.start(database, "transaction");
        var dataSource = new HikariDataSource()) {
      var login = pooler.login(database);
      // Prepared statements do not survive such a pooler (before its version 1.21).
      dataSource.setJdbcUrl(login.jdbcUrl() + "?prepareThreshold=0");
      dataSource.setUsername(login.user());
      dataSource.setPassword(login.password());
      try (var pgonce = PgOnce.using(dataSource)) {
        pgonce.listen(
            NUMBERS, (number, tx) -> tx.update("insert into effect values (?)", number.payload()));
        pgonce.start();
        assertThat(pgonce.status().listensBy()).isEqualTo("polling");
        assertThat(pgonce.status().listenFailure()).contains("transaction-mode pooler");
        try (var connection = dataSource.getConnection()) {
          for (var number = 1; number <= 20; number++) {
            Publisher.standard().publish(connection, NUMBERS, number);
          }
        }
        await()
            .atMost(Duration.ofSeconds(20))
            .until(() -> database.queryLong("select count(*) from effect") == 20);
      }
    }
  }
}
