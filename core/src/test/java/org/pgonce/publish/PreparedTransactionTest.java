package org.pgonce.publish;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.Message;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.PublishOptions;
import org.pgonce.Publisher;
import org.pgonce.WakeUps;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.stage.Stage.Order;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import org.postgresql.PGConnection;

/**
 * PREPARE TRANSACTION, which PostgreSQL refuses to a transaction that has notified: with {@link
 * WakeUps#NEVER} no form of publishing notifies.
 */
@Tag("versions")
@PgTest(PgOnceInstalled.class)
class PreparedTransactionTest {

  private static final Channel<Order> QUIET =
      Channel.of(
          "quiet",
          Order.class,
          Mode.EXACTLY_ONCE,
          ChannelOptions.DEFAULT.withWakeUps(WakeUps.NEVER));

  // Long enough that it is stored as not due yet, on a busy machine too.
  private static final Duration SOON = Duration.ofSeconds(1);

  private Stage stage;

  @BeforeEach
  void open(TestDatabase database) throws SQLException {
    stage = new Stage(database);
    PgOnce.using(stage.dataSource).install(QUIET);
  }

  @AfterEach
  void close() {
    stage.close();
  }

  /** A form of publishing the orders 1 to {@code count}. */
  private record Form(String name, int count, Publishing publishing) {
    @Override
    public String toString() {
      return name;
    }
  }

  private interface Publishing {
    void in(Connection transaction) throws SQLException;
  }

  private static Form one(String name, PublishOptions options) {
    return new Form(
        name, 1, it -> Publisher.standard().publish(it, QUIET, new Order(1, "x"), options));
  }

  private static Form sql(String sql) {
    return new Form(
        sql,
        1,
        it -> {
          try (var statement = it.createStatement()) {
            statement.execute(sql);
          }
        });
  }

  private static Form each() {
    return new Form(
        "publishEach",
        3,
        it ->
            Publisher.standard()
                .publishEach(
                    it,
                    QUIET,
                    List.of(
                        new Message<>(new Order(1, "x")),
                        new Message<>(new Order(2, "x"), PublishOptions.DEFAULT.withDelay(SOON)),
                        new Message<>(
                            new Order(3, "x"), PublishOptions.DEFAULT.withDeliveryKey("k")))));
  }

  static Stream<Form> forms() {
    var options = PublishOptions.DEFAULT;
    return Stream.of(
        new Form("publish", 1, it -> Publisher.standard().publish(it, QUIET, new Order(1, "x"))),
        new Form(
            "publishAll",
            2,
            it ->
                Publisher.standard()
                    .publishAll(it, QUIET, List.of(new Order(1, "x"), new Order(2, "x")))),
        one("with a delay", options.withDelay(SOON)),
        one("with a due time", options.withDueAt(Instant.now().plusSeconds(3))),
        one("with a delivery key", options.withDeliveryKey("k")),
        one("with a key and a delay", options.withDeliveryKey("k").withDelay(SOON)),
        each(),
        sql("select pgonce.publish('quiet', '{\"id\": 1, \"item\": \"x\"}')"),
        sql("select pgonce.publish('quiet', '{\"id\": 1, \"item\": \"x\"}', delay => '1 second')"));
  }

  @ParameterizedTest
  @Tag("all")
  @MethodSource("forms")
  void h11_ofAChannelThatNeverWakesEveryFormOfPublishingCanBePrepared(Form form) throws Exception {
    try (var hearing = stage.database.dataSource().getConnection();
        var listen = hearing.createStatement();
        var writer = stage.database.dataSource().getConnection();
        var statement = writer.createStatement()) {
      listen.execute("listen pgonce_quiet");
      stage.pgonce().listen(QUIET, Stage::effect).start();
      writer.setAutoCommit(false);
      form.publishing.in(writer);
      statement.execute("prepare transaction 'published'");
      writer.setAutoCommit(true);
      statement.execute("commit prepared 'published'");
      assertThat(hearing.unwrap(PGConnection.class).getNotifications(100)).isEmpty();
      // By the poll alone.
      stage.awaitNothingWaits();
      assertThat(stage.eachOnce(form.count)).isTrue();
    }
  }
}
