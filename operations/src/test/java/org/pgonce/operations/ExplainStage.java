package org.pgonce.operations;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.ListenOptions;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.PublishOptions;
import org.pgonce.Publisher;
import org.pgonce.operations.Explanation.Cause;
import org.pgonce.operations.Stage.Order;
import org.pgonce.testkit.TestDatabase;

/** What the tests of causes stand on: a notification, a handler that is held, and the question. */
abstract class ExplainStage {

  /** A listener that is not there: registered, and never heard of again. */
  static final String REGISTER =
      "select pgonce.listener_starts(gen_random_uuid(), 'host-7', (select array_agg(id) from pgonce.subscription where of_channel = '%s'), 'polling', 600000, workers => '{%d}')";

  final CountDownLatch begun = new CountDownLatch(1);
  final CountDownLatch goOn = new CountDownLatch(1);
  Stage stage;
  Operations operations;

  @BeforeEach
  void open(TestDatabase database) throws SQLException {
    stage = new Stage(database);
    operations = Operations.over(stage.dataSource).by("Anna");
  }

  @AfterEach
  void close() {
    goOn.countDown();
    stage.close();
  }

  final long publish(Channel<Order> channel, PublishOptions options) throws SQLException {
    try (var connection = stage.dataSource.getConnection()) {
      return Publisher.standard().publish(connection, channel, new Order(1, "item"), options).id();
    }
  }

  final long publish(Channel<Order> channel) throws SQLException {
    return publish(channel, PublishOptions.DEFAULT);
  }

  final Channel<Order> install(String name, Mode mode, ChannelOptions options) {
    var channel = Channel.of(name, Order.class, mode, options);
    PgOnce.using(stage.dataSource).install(channel);
    return channel;
  }

  /** Its handler writes a row, says {@code begun}, and waits for {@code goOn}. */
  final PgOnce listenAndHold(Channel<Order> channel, ListenOptions options) {
    return stage
        .pgonce()
        .listen(
            channel,
            options,
            (order, tx) -> {
              tx.update("insert into effect values (1, 'by the handler')");
              begun.countDown();
              goOn.await();
            });
  }

  /** The only answer: each says what, and what to do, and shows no payload. */
  final Explanation explain(Channel<?> channel, long id) {
    var answers = operations.explain(channel, id);
    assertThat(answers).hasSize(1);
    var answer = answers.get(0);
    assertThat(answer.id()).isEqualTo(id);
    assertThat(answer.detail()).isNotBlank().doesNotContain("item");
    assertThat(answer.advice()).isNotBlank();
    return answer;
  }

  final void awaitCause(Channel<?> channel, long id, Cause cause) {
    stage.awaitSoon(() -> explain(channel, id).cause() == cause);
  }

  /** In a transaction that stays open. */
  static void hold(Connection connection, String sql) throws SQLException {
    connection.setAutoCommit(false);
    try (var statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }
}
