package org.pgonce.lease;

import static org.assertj.core.api.Assertions.assertThat;
import static org.pgonce.stage.Stage.QUICK;

import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.Publisher;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.stage.Stage.Order;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/**
 * A leased handler that is given up in the middle of a statement, while its process lives: so its
 * session is ended by whoever gives it up, and its locks with it.
 */
@PgTest(PgOnceInstalled.class)
@Tag("drivers")
class LeasedLocksTest {

  private static final Channel<Order> CALLS =
      Channel.of("calls", Order.class, Mode.AT_LEAST_ONCE, ChannelOptions.DEFAULT);
  private static final String FOR_AN_HOUR = "select pg_sleep(3600)";
  private static final String COUNT = "update counter set n = n + 1 where id = 1";

  private Stage stage;

  @BeforeEach
  void open(TestDatabase database) throws SQLException {
    stage = new Stage(database);
    database.execute(
        "create table counter (id int primary key, n int); insert into counter values (1, 0)");
    PgOnce.using(stage.dataSource).install(CALLS);
  }

  @AfterEach
  void close() {
    stage.close();
  }

  private void publish() throws SQLException {
    try (var connection = stage.dataSource.getConnection()) {
      Publisher.standard().publish(connection, CALLS, new Order(1, "item"));
    }
  }

  private long counted() throws SQLException {
    return stage.database.queryLong("select n from counter");
  }

  @ParameterizedTest
  @ValueSource(strings = {"read only", "repeatable read", "serializable"})
  void h42_aLeasedHandlerIsReadCommittedWhateverTheDefault(String setting) throws Exception {
    var isReadOnly = setting.equals("read only");
    stage.database.execute(
        "do $$ begin execute format('alter database %%I set default_transaction_%s', current_database()); end $$"
            .formatted(isReadOnly ? "read_only = on" : "isolation = ''" + setting + "''"));
    stage.database.execute(
        "begin isolation level read committed read write; select pgonce.publish('calls', '{\"id\": 1, \"item\": \"x\"}'); commit");
    var modes = new CopyOnWriteArrayList<String>();
    stage
        .pgonce(stage.database.unpooled())
        .listen(
            CALLS,
            QUICK,
            (call, tx) ->
                modes.addAll(
                    tx.query(
                        "select concat_ws(' ', current_setting('transaction_isolation'), current_setting('transaction_read_only'))",
                        row -> row.getString(1))))
        .start();
    stage.awaitNothingWaits();
    assertThat(modes).containsExactly("read committed off");
  }

  @Test
  @Tag("all")
  void h45_aLeasedHandlerThatOverrunsInAStatementKeepsNoLocks() throws Exception {
    var attempts = new CopyOnWriteArrayList<Integer>();
    stage
        .pgonce()
        .listen(
            CALLS,
            // The next attempt has as long to get the lock.
            QUICK.withHandlerTimeout(Duration.ofSeconds(4)),
            (call, tx) -> {
              attempts.add(call.attempt());
              tx.update(COUNT);
              if (call.attempt() == 1) {
                tx.query(FOR_AN_HOUR, row -> 1);
              }
            })
        .start();
    publish();
    stage.awaitNothingWaits();
    assertThat(stage.deadLetters()).isZero();
    assertThat(attempts).containsExactly(1, 2);
    assertThat(counted()).isEqualTo(1);
    // Its locks go a moment before it does.
    stage.awaitSoon(() -> stage.database.backends().running(FOR_AN_HOUR).isEmpty());
  }

  @Test
  void h85_aLeasedHandlerThatIsStoppedInAStatementKeepsNoLocks() throws Exception {
    var pgonce = stage.pgonce();
    pgonce
        .listen(
            CALLS,
            QUICK,
            (call, tx) -> {
              tx.update(COUNT);
              tx.query(FOR_AN_HOUR, row -> 1);
            })
        .start();
    publish();
    stage.database.backends().awaitRunning(FOR_AN_HOUR);
    assertThat(pgonce.stop(Duration.ofMillis(500))).isFalse();
    stage.awaitSoon(() -> stage.database.backends().running(FOR_AN_HOUR).isEmpty());
    stage.pgonce().listen(CALLS, QUICK, (call, tx) -> tx.update(COUNT)).start();
    stage.awaitNothingWaits();
    assertThat(stage.deadLetters()).isZero();
    assertThat(counted()).isEqualTo(1);
  }
}
