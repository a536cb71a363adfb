package org.pgonce.install;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.pgonce.stage.Stage.QUICK;

import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.PublishOptions;
import org.pgonce.Publisher;
import org.pgonce.WakeUps;
import org.pgonce.spi.Event;
import org.pgonce.spi.Observer;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.stage.Stage.Order;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** H75: whatever becomes of housekeeping, notifications are handled, and its failure is said. */
@Tag("versions")
@PgTest(PgOnceInstalled.class)
class HousekeepingTest {

  // Nothing is heard of what is stored: all that is handled, a poll has found.
  private static final ChannelOptions POLLED =
      ChannelOptions.DEFAULT.withWakeUps(WakeUps.NEVER).withKeyMemory(Duration.ofMillis(1));
  private static final Channel<Order> ONE =
      Channel.of("one", Order.class, Mode.EXACTLY_ONCE, POLLED);
  private static final Channel<Order> OTHER =
      Channel.of(
          "other", Order.class, Mode.AT_LEAST_ONCE, POLLED.withKeyMemory(Duration.ofDays(3_650)));

  private static final String PROMISED =
      "alter table pgonce.%1$s drop constraint %1$s_%2$s_check; update pgonce.%1$s set %2$s = interval '%3$s'%4$s";

  private final List<String> troubles = new CopyOnWriteArrayList<>();
  private Stage stage;

  @BeforeEach
  void open(TestDatabase database) throws SQLException {
    stage = new Stage(database);
    PgOnce.using(stage.dataSource).install(ONE, OTHER);
  }

  @AfterEach
  void close() {
    stage.close();
  }

  private PgOnce listen() {
    Observer observer =
        event -> {
          if (event instanceof Event.DatabaseTrouble said) {
            troubles.add(said.reason());
          }
        };
    // The tasks run each 150 poll intervals.
    var pgonce =
        stage.pgonce(PgOnce.builder(stage.dataSource).observer(observer), Duration.ofMillis(20));
    for (var channel : List.of(ONE, OTHER)) {
      pgonce.listen(
          channel,
          QUICK,
          (order, tx) -> {
            if (order.payload().item().equals("fails first") && order.attempt() == 1) {
              throw new IllegalStateException("at its first attempt");
            }
            Stage.effect(order, tx);
          });
    }
    return pgonce.start();
  }

  private void assertAllIsHandled(PgOnce pgonce) throws SQLException {
    stage.database.execute("truncate effect");
    for (var channel : List.of(ONE, OTHER)) {
      try (var connection = stage.dataSource.getConnection()) {
        pgonce.publisher().publish(connection, channel, new Order(1, "new"));
        pgonce.publisher().publish(connection, channel, new Order(2, "fails first"));
        pgonce
            .publisher()
            .publish(
                connection,
                channel,
                new Order(3, "due later"),
                PublishOptions.DEFAULT.withDelay(Duration.ofMillis(700)));
      }
    }
    stage.awaitSoon(() -> stage.effects() == 6);
    for (var channel : List.of(ONE, OTHER)) {
      stage.onCall().pause(channel, "a look");
      try (var connection = stage.dataSource.getConnection()) {
        pgonce.publisher().publish(connection, channel, new Order(4, "paused"));
      }
      stage.onCall().resume(channel, "seen");
    }
    stage.awaitSoon(() -> stage.effects() == 8);
    stage.awaitNothingWaits();
  }

  private void awaitSaid(String task) {
    stage.awaitSoon(
        () -> troubles.stream().anyMatch(said -> said.contains("housekeeping failed, " + task)));
  }

  private void publishKeyed(Channel<Order> channel, String key) throws SQLException {
    try (var connection = stage.dataSource.getConnection()) {
      Publisher.standard()
          .publish(
              connection,
              channel,
              new Order(9, "keyed"),
              PublishOptions.DEFAULT.withDeliveryKey(key));
    }
  }

  // Somebody has dropped the constraint of h75_theTablesHaveTheBoundsToo.
  @Test
  void h75_anAbsurdKeyMemoryOfOneChannelStopsNothing() throws Exception {
    listen();
    stage.database.execute(
        PROMISED.formatted("channel", "key_memory", "100000000 years", " where name = 'other'"));
    awaitSaid("delivery keys");
    publishKeyed(ONE, "k");
    stage.awaitSoon(() -> stage.effects() == 1);
  }

  @Test
  void h75_anAbsurdEntryInTheListOfListenersStopsNothing() throws Exception {
    stage.aLostOneIsTheFirst(ONE);
    stage.database.execute(PROMISED.formatted("listener", "silence", "100000000 years", ""));
    assertAllIsHandled(listen());
    assertThat(troubles).isEmpty();
  }

  @Test
  void h75_aRowThatIsNeverDueStopsNothing() throws Exception {
    stage.database.execute(
        """
        insert into pgonce.scheduled (subscription_id, id, due_at, attempts, created_at, payload)
        select s.id, 1, 'infinity', 0, now(), '{}' from pgonce.subscription s where s.of_channel = 'one'
        """);
    var pgonce = listen();
    try (var connection = stage.dataSource.getConnection()) {
      pgonce.publisher().publish(connection, ONE, new Order(1, "new"));
    }
    stage.awaitSoon(() -> stage.effects() == 1);
    assertThat(troubles).isEmpty();
  }

  @Tag("all")
  @ParameterizedTest
  @CsvSource({
    "dropped,      access exclusive, leftovers of drops",
    "delivery_key, access exclusive, delivery keys",
    "listener,     share,            heartbeat",
  })
  void h75_aLockedTableStopsNothing(String table, String mode, String task) throws Exception {
    var pgonce = listen();
    stage.awaitSoon(() -> stage.database.queryLong("select count(*) from pgonce.listener") == 1);
    try (var locks = stage.database.dataSource().getConnection();
        var statement = locks.createStatement()) {
      locks.setAutoCommit(false);
      statement.execute("lock table pgonce.%s in %s mode".formatted(table, mode));
      awaitSaid(task);
      assertAllIsHandled(pgonce);
      assertThat(troubles).doesNotHaveDuplicates(); // each is said once
    }
  }

  @ParameterizedTest
  @CsvSource({
    "pgonce_private.keep_padding(),                   void,   padding rows",
    "pgonce_private.clear_leftovers(amount integer),  bigint, leftovers of drops",
    "pgonce.forget_keys(amount integer),              bigint, delivery keys",
    "pgonce_private.fit_gates(listened integer[]),    void,   gates of channels",
  })
  @Tag("all")
  void h75_aTaskThatFailsIsSaidAndStopsNothing(String function, String type, String task)
      throws Exception {
    var pgonce = listen();
    assertAllIsHandled(pgonce);
    replace(function, type, "raise exception 'no such luck'");
    stage.database.execute(
        "insert into pgonce.listener (id, instance, subscriptions, listens_by, seen_at, silence) values (gen_random_uuid(), 'gone', '{}', 'polling', now() - interval '1 hour', '1 s')");
    awaitSaid(task);
    assertThat(troubles).singleElement().asString().contains("no such luck");
    assertAllIsHandled(pgonce);
    // The other tasks are done all the same.
    stage.awaitSoon(
        () ->
            stage.database.queryLong("select count(*) from pgonce.listener where instance = 'gone'")
                == 0);
    assertThat(troubles).hasSize(1);
  }

  @Test
  @Tag("all")
  void h75_aTaskThatDoesNotEndIsGivenUpAndStopsNothing() throws Exception {
    replace("pgonce_private.clear_leftovers(amount integer)", "bigint", "perform pg_sleep(3600)");
    var pgonce = listen();
    stage.awaitSoon(
        () ->
            stage.database.queryLong(
                    "select count(*) from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'")
                > 0);
    assertAllIsHandled(pgonce);
    awaitSaid("leftovers of drops");
  }

  private void replace(String function, String type, String body) throws SQLException {
    var defaults = function.contains("clear_leftovers") ? " default 1000" : " default 10000";
    stage.database.execute(
        """
        create or replace function %s returns %s language plpgsql as $$ begin %s; return%s; end $$
        """
            .formatted(
                function.replace("amount integer", "amount integer" + defaults),
                type,
                body,
                type.equals("void") ? "" : " null"));
  }

  @ParameterizedTest
  @CsvSource({
    "key_memory => interval '10000 years', key_memory 10000 years (it is 0 to 3650 days)",
    "key_memory => interval '3650 days 1 ms', key_memory",
    "key_memory => interval '10 years', key_memory 10 years (it is 0 to 3650 days)",
    "history => interval '13 months 10 days', history 1 year 1 mon 10 days (it is 1 minute to 400 days",
    "key_memory => interval '-1 s', key_memory",
    "max_depth => 10001, max_depth 10001 (it is 1 to 10000)",
    "max_rate => 0, max_rate 0 (it is 1 to 1000000",
    "max_per_key => 101, max_per_key 101 (it is 1 to 100",
  })
  void h75_aSettingBeyondItsBoundIsRefusedInSqlAsInJava(String setting, String told)
      throws Exception {
    assertThatThrownBy(
            () ->
                stage.database.execute(
                    "select pgonce.install_channel('orders', 'EXACTLY_ONCE', 'publish', %s)"
                        .formatted(setting)))
        .hasMessageContaining("channel \"orders\" was not installed")
        .hasMessageContaining(told);
  }

  @Test
  void h75_theTablesHaveTheBoundsToo() throws Exception {
    for (var update :
        List.of(
            "update pgonce.channel set key_memory = interval '3651 days'",
            "update pgonce.listener set silence = interval '25 hours'")) {
      stage.aLostOneIsTheFirst(ONE);
      assertThatThrownBy(() -> stage.database.execute(update)).hasMessageContaining("_check");
    }
    stage.database.execute("update pgonce.channel set key_memory = interval '3650 days'");
  }
}
