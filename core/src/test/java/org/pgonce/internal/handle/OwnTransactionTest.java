package org.pgonce.internal.handle;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.io.InputStream;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import javax.sql.DataSource;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.Publisher;
import org.pgonce.internal.concurrent.Threads;
import org.pgonce.internal.context.ListenerContext;
import org.pgonce.internal.jdbc.PoolSettings;
import org.pgonce.spi.Observer;
import org.pgonce.spi.PayloadCodec;
import org.pgonce.stage.Headers;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** The transaction of a broadcast's handler, when the handler is cut off. */
@PgTest(PgOnceInstalled.class)
@Tag("drivers")
class OwnTransactionTest {

  private static final Duration LONGEST = Duration.ofSeconds(30);

  private static ListenerContext context(DataSource pool, Threads threads) {
    return new ListenerContext(
        pool,
        new PoolSettings(),
        PayloadCodec.standard(),
        Publisher.standard(),
        Observer.NONE,
        List.of(),
        threads,
        "test");
  }

  @Test
  void h45_theNextOneToTakeTheConnectionIsNotCutOffInItsPlace(TestDatabase database)
      throws Exception {
    try (var pool = database.pooled(1);
        var threads = new Threads()) {
      var context = context(pool, threads);
      for (var round = 0; round < 20; round++) {
        try (var cutOff = new OwnTransaction(context, "a test", Headers.PLAIN, LONGEST, null)) {
          cutOff.connection().createStatement().execute("select 1");
          cutOff.cutOff();
        }
        try (var strangers = pool.getConnection()) {
          strangers.createStatement().execute("select pg_sleep(0.005)");
        }
      }
      assertThat(pool.getHikariPoolMXBean().getActiveConnections()).isZero();
    }
  }

  /** The pool has no connection to give, or its session fails: the handler goes on without. */
  @Test
  void h43_aHandlerThatGoesOnWithoutItsTransactionHasFailed(TestDatabase database)
      throws Exception {
    var one = new HikariConfig();
    one.setDataSource(database.unpooled());
    one.setMaximumPoolSize(1);
    one.setConnectionTimeout(250);
    try (var pool = new HikariDataSource(one);
        var threads = new Threads()) {
      var context = context(pool, threads);
      try (var transaction = new OwnTransaction(context, "a test", Headers.PLAIN, LONGEST, null)) {
        try (var taken = pool.getConnection()) {
          assertThat(taken.isValid(1)).isTrue();
          assertThatThrownBy(transaction::connection).isInstanceOf(SQLException.class);
        }
        assertThatThrownBy(transaction::connection).hasMessageContaining("could not begin");
        assertThatThrownBy(transaction::commit).hasMessageContaining("could not begin");
        assertThatThrownBy(() -> transaction.commitWith(own -> true))
            .hasMessageContaining("could not begin");
      }
      assertThat(pool.getHikariPoolMXBean().getActiveConnections()).isZero();
    }
  }

  @Test
  void h44_whatItsHandlerChangedOfTheSessionIsSetBack(TestDatabase database) throws Exception {
    try (var pool = database.pooled(1);
        var threads = new Threads()) {
      var context = context(pool, threads);
      try (var used = new OwnTransaction(context, "a test", Headers.PLAIN, LONGEST, null)) {
        used.connection()
            .createStatement()
            .execute(
                "select set_config('search_path', 'rude', false),"
                    + " set_config('idle_in_transaction_session_timeout', '12345', false)");
        used.commit();
      }
      try (var next = pool.getConnection();
          var row =
              next.createStatement()
                  .executeQuery(
                      "select current_setting('search_path'), current_setting('idle_in_transaction_session_timeout')")) {
        row.next();
        assertThat(row.getString(1)).doesNotContain("rude");
        assertThat(row.getString(2)).isEqualTo("0");
      }
    }
  }

  @Test
  void h45_aHandlerThatWasCutOffGetsNoConnectionAndCommitsNothing(TestDatabase database)
      throws Exception {
    database.execute("create table effect (n int)");
    try (var pool = database.pooled(1);
        var threads = new Threads()) {
      var context = context(pool, threads);
      try (var unused = new OwnTransaction(context, "a test", Headers.PLAIN, LONGEST, null)) {
        unused.cutOff();
        assertThatThrownBy(unused::connection)
            .isInstanceOf(SQLException.class)
            .hasMessageContaining("cut off");
        assertThatThrownBy(unused::commit).isInstanceOf(SQLException.class);
      }
      try (var used = new OwnTransaction(context, "a test", Headers.PLAIN, LONGEST, null)) {
        used.connection().createStatement().execute("insert into effect values (1)");
        used.cutOff();
        assertThatThrownBy(used::commit).hasMessageContaining("cut off");
      }
      assertThat(database.queryLong("select count(*) from effect")).isZero();
    }
  }

  @Test
  @Tag("all")
  void h45_aCallThatAnotherThreadLeavesBehindKeepsNoConnection(TestDatabase database)
      throws Exception {
    try (var pool = database.pooled(1);
        var threads = new Threads()) {
      var used = new OwnTransaction(context(pool, threads), "a test", Headers.PLAIN, LONGEST, null);
      var connection = used.connection();
      var reading = new CountDownLatch(1);
      var goesOn = new CountDownLatch(1);
      // What no end of the connection ends.
      var stream =
          new InputStream() {
            @Override
            public int read() {
              reading.countDown();
              try {
                goesOn.await();
              } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
              }
              return -1;
            }

            @Override
            public int read(byte[] into, int from, int length) {
              return read();
            }
          };
      var calling =
          CompletableFuture.runAsync(
              () -> {
                try (var statement = connection.prepareStatement("select ?::bytea")) {
                  statement.setBinaryStream(1, stream, 8);
                  statement.execute();
                } catch (SQLException e) {
                  throw new IllegalStateException(e);
                }
              });
      reading.await();
      used.close();
      assertThat(pool.getHikariPoolMXBean().getActiveConnections()).isZero();
      goesOn.countDown();
      assertThatThrownBy(calling::join).isNotNull();
    }
  }
}
