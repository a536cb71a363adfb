package org.pgonce.install;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.Handler;
import org.pgonce.KeyOrder;
import org.pgonce.ListenOptions;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.PublishOptions;
import org.pgonce.Publisher;
import org.pgonce.WriterContext;
import org.pgonce.stage.OnCall;
import org.pgonce.stage.Stage;
import org.pgonce.stage.Stage.Order;
import org.pgonce.testkit.LoggedPlans;
import org.pgonce.testkit.PackagedServer;
import org.pgonce.testkit.TestDatabase;

/**
 * H89: a server with LLVM compiles a statement whose plan is expensive. The plans of pgonce's
 * statements never are.
 */
class JitTest {

  private static final ChannelOptions PLAIN = ChannelOptions.DEFAULT;
  private static final ListenOptions FEW_ATTEMPTS =
      Stage.QUICK.withMaxAttempts(2).withLease(Duration.ofMillis(300));

  private static final List<Channel<Order>> CHANNELS =
      List.of(
          channel("exactly", Mode.EXACTLY_ONCE, PLAIN.withKeyMemory(Duration.ofMillis(1))),
          channel("least", Mode.AT_LEAST_ONCE, PLAIN),
          channel("most", Mode.AT_MOST_ONCE, PLAIN),
          channel("broadcast", Mode.BROADCAST, PLAIN),
          channel("ordered", Mode.EXACTLY_ONCE, PLAIN.withOrder(KeyOrder.DEAD_LETTER_PASSES)),
          channel("leased", Mode.AT_LEAST_ONCE, PLAIN.withOrder(KeyOrder.DEAD_LETTER_BLOCKS)),
          channel("limited", Mode.EXACTLY_ONCE, PLAIN.withMaxPerKey(2)),
          channel("limited.leased", Mode.AT_LEAST_ONCE, PLAIN.withMaxPerKey(2)),
          channel("rated", Mode.EXACTLY_ONCE, PLAIN.withMaxRate(100)),
          channel(
              "two",
              Mode.EXACTLY_ONCE,
              PLAIN
                  .withSubscriptions("one", "other")
                  .withSubscription("filtered", Map.of("tenant", "acme"))));

  // What an idle process asks for.
  private static final String POLL =
      "select %s from pg_stat_statements s where s.toplevel and s.query like '%%FROM pgonce.poll(%%'"
          + " and s.dbid = (select d.oid from pg_database d where d.datname = current_database())";

  private static PackagedServer server;

  private static Channel<Order> channel(String name, Mode mode, ChannelOptions options) {
    return Channel.of(name, Order.class, mode, options);
  }

  @BeforeAll
  static void start() throws IOException {
    server = PackagedServer.start(LoggedPlans.SETTINGS);
  }

  @AfterAll
  static void stop() {
    if (server != null) {
      server.close();
    }
  }

  @Test
  @Tag("all")
  void h89_noStatementOfPgonceIsCompiled() throws Exception {
    try (var database = LoggedPlans.database(server);
        var stage = new Stage(database)) {
      database.execute("create extension pg_stat_statements");
      everything(stage);
    }
    var plans = LoggedPlans.of(server);
    assertThat(plans.plans()).hasSizeGreaterThan(1_000);
    for (var text : List.of("FOR UPDATE SKIP LOCKED", "pgonce.dropped")) {
      assertThat(plans.has(text)).as(text).isTrue();
    }
    assertThat(plans.disabled()).as("plans that use what is disabled").isEmpty();
    assertThat(plans.compiled()).as("statements that were compiled").isEmpty();
  }

  /** One that polls often, and keeps house after ten of them; the stage closes its pool. */
  private static PgOnce quick(Stage stage) {
    return PgOnce.builder(stage.dataSource)
        .pollInterval(Duration.ofMillis(100))
        .stopTimeout(Duration.ofSeconds(2))
        .build();
  }

  private static void everything(Stage stage) throws Exception {
    var pgonce = PgOnce.using(stage.dataSource);
    pgonce.install(CHANNELS.toArray(Channel[]::new));
    pgonce.install(CHANNELS.toArray(Channel[]::new));
    var failing = new AtomicBoolean(true);
    try (var listening = quick(stage);
        var beside = quick(stage)) {
      for (var one : List.of(listening, beside)) {
        listen(
            one,
            (order, tx) -> {
              // Nothing that waits for others of its key: they would be blocked.
              if (failing.get() && order.payload().id() % 10 == 0 && order.payload().id() <= 100) {
                throw new IllegalStateException("fails until it is redriven");
              }
              Stage.effect(order, tx);
            });
      }
      publish(stage);
      stage.awaitSoon(() -> stage.waiting() == 0 && stage.deadLetters() > 0);
      operate(stage, failing);
      drop(stage);
      // What a listener does now and then that has nothing to do.
      var polls = polls(stage.database);
      stage.awaitSoon(() -> polls(stage.database) > polls + 25);
    }
  }

  private static void listen(PgOnce pgonce, Handler<Order> handler) {
    for (var channel : CHANNELS) {
      for (var subscription : channel.options().names()) {
        var options = channel.name().equals("exactly") ? FEW_ATTEMPTS.withBatch(5) : FEW_ATTEMPTS;
        pgonce.listen(channel, subscription, options, handler);
      }
    }
    pgonce.start();
  }

  private static long polls(TestDatabase database) throws SQLException {
    return database.queryLong(POLL.formatted("coalesce(sum(s.calls), 0)"));
  }

  private static void publish(Stage stage) throws SQLException {
    var bulk = new ArrayList<Order>();
    for (var id = 1; id <= 40; id++) {
      bulk.add(new Order(id, "item"));
    }
    try (var connection = stage.dataSource.getConnection()) {
      connection.setAutoCommit(false);
      for (var channel : CHANNELS) {
        var publisher = Publisher.standard();
        WriterContext.set(connection, Map.of("tenant", "acme"));
        publisher.publish(connection, channel, new Order(100, "one"));
        publisher.publishAll(connection, channel, bulk);
        connection.commit();
        if (channel.mode() == Mode.BROADCAST) {
          continue;
        }
        for (var id = 101; id < 121; id++) {
          var options =
              PublishOptions.DEFAULT
                  .withDelay(Duration.ofMillis(10L * (id - 100)))
                  .withDeliveryKey("key " + id / 2);
          publisher.publish(
              connection,
              channel,
              new Order(id, "keyed"),
              channel.options().goesByKey() ? options.withOrderKey("key " + id % 3) : options);
        }
        connection.commit();
      }
    }
  }

  private static void operate(Stage stage, AtomicBoolean failing) throws SQLException {
    var operations = stage.onCall().by("Anna");
    var deadLetters = stage.onCall().by("Anna").because("a test");
    for (var channel : CHANNELS) {
      if (channel.mode() != Mode.BROADCAST) {
        operations.pause(channel, "a look");
        try (var connection = stage.dataSource.getConnection()) {
          for (var n = 0; n < 3; n++) {
            Publisher.standard()
                .publish(
                    connection,
                    channel,
                    new Order(7, "paused"),
                    PublishOptions.DEFAULT.withDeliveryKey("paused " + n));
          }
        }
        var waiting = operations.peek(channel, 1);
        operations.cancel(channel, waiting.stream().map(OnCall.Waiting::id).toList(), "never");
        operations.cancelByKey(channel, List.of("paused 1"), "never");
        operations.resume(channel, "seen");
        failing.set(false);
        var dead = deadLetters.deadLetters(channel, 1);
        deadLetters.discard(channel, dead.stream().map(OnCall.DeadLetter::id).toList());
        deadLetters.redrive(channel);
      }
    }
    stage.awaitSoon(() -> stage.waiting() == 0 && stage.deadLetters() == 0);
    for (var view :
        List.of("channel_status", "dead_letter_status", "retry_status", "listener_status")) {
      stage.database.queryLong("select count(*) from (select * from pgonce." + view + ") v");
    }
  }

  private static void drop(Stage stage) throws SQLException {
    // Stored by a writer whose snapshot is from before the drop.
    try (var writer = stage.dataSource.getConnection();
        var statement = writer.createStatement()) {
      writer.setAutoCommit(false);
      statement.execute("set transaction isolation level repeatable read");
      statement.executeQuery("select count(*) from pgonce.channel").close();
      assertThat(stage.onCall().drop(CHANNELS.get(9), "other", "not needed")).isTrue();
      Publisher.standard()
          .publish(
              writer,
              CHANNELS.get(9),
              new Order(1, "late"),
              PublishOptions.DEFAULT.withDeliveryKey("late"));
      writer.commit();
    }
    assertThat(stage.onCall().drop(CHANNELS.get(8), "not needed")).isTrue();
    stage.awaitSoon(() -> stage.waiting() == 0);
  }

  @Test
  @Tag("all")
  void h89_anIdleProcessCostsNoMoreThanOnAServerThatDoesNotCompile() throws Exception {
    var compiling = leastOfAPoll(true);
    var plain = leastOfAPoll(false);
    // In ms. Its least: whatever else the machine does makes none faster.
    assertThat(compiling).as("a poll, and %s ms without JIT", plain).isLessThan(3 * plain + 1);
  }

  private static double leastOfAPoll(boolean jit) throws Exception {
    try (var database = LoggedPlans.database(server)) {
      database.execute(
          "create extension pg_stat_statements; alter database %s set jit = %s"
              .formatted(database.name(), jit ? "on" : "off"));
      return leastOfAPoll(database);
    }
  }

  private static double leastOfAPoll(TestDatabase database) throws Exception {
    try (var stage = new Stage(database)) {
      PgOnce.using(stage.dataSource).install(CHANNELS.toArray(Channel[]::new));
      try (var pgonce = quick(stage)) {
        listen(pgonce, Stage::effect);
        stage.awaitSoon(() -> polls(database) > 5);
      }
    }
    return Double.parseDouble(database.queryString(POLL.formatted("min(s.min_exec_time)")));
  }
}
