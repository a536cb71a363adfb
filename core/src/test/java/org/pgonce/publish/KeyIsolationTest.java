package org.pgonce.publish;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.pgonce.Channel;
import org.pgonce.Message;
import org.pgonce.PgOnce;
import org.pgonce.PublishOptions;
import org.pgonce.Published;
import org.pgonce.Publisher;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.stage.Stage.Order;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** Delivery keys in a writer's transaction that sees the database as it was when it began. */
@PgTest(PgOnceInstalled.class)
class KeyIsolationTest {

  private static final Channel<Order> KEYED = Channel.of("keyed", Order.class);

  private Stage stage;

  @BeforeEach
  void open(TestDatabase database) throws SQLException {
    stage = new Stage(database);
    PgOnce.using(stage.dataSource).install(KEYED);
  }

  @AfterEach
  void close() {
    stage.close();
  }

  private static Message<Order> keyed(String key) {
    return new Message<>(new Order(1, "item"), PublishOptions.DEFAULT.withDeliveryKey(key));
  }

  /** A key of its snapshot, which was handled and forgotten since: it is free, and taken anew. */
  @ParameterizedTest
  @ValueSource(ints = {Connection.TRANSACTION_REPEATABLE_READ, Connection.TRANSACTION_SERIALIZABLE})
  void s12_aKeyThatWasForgottenAfterTheSnapshotIsFree(int level) throws Exception {
    try (var writer = begun(level)) {
      stage.pgonce().listen(KEYED, (order, tx) -> {}).start();
      awaitForgotten();
      var published =
          Publisher.standard().publishEach(writer, KEYED, List.of(keyed("a"), keyed("b")));
      assertThat(published).extracting(Published::stored).containsExactly(true, true);
      writer.commit();
      stage.awaitNothingWaits();
      awaitForgotten();
    }
  }

  /** The same key again in that transaction finds the one that was taken in it. */
  @ParameterizedTest
  @ValueSource(ints = {Connection.TRANSACTION_REPEATABLE_READ, Connection.TRANSACTION_SERIALIZABLE})
  void s12_aKeyThatIsTakenAnewIsThereForTheSameTransaction(int level) throws Exception {
    try (var writer = begun(level)) {
      var pgonce = stage.pgonce();
      pgonce.listen(KEYED, (order, tx) -> {}).start();
      awaitForgotten();
      pgonce.close();
      var first = Publisher.standard().publishEach(writer, KEYED, List.of(keyed("a"))).get(0);
      var again = Publisher.standard().publishEach(writer, KEYED, List.of(keyed("a"))).get(0);
      assertThat(first.stored()).isTrue();
      assertThat(again).isEqualTo(new Published(first.id(), false));
      writer.commit();
    }
    assertThat(stage.waiting()).isEqualTo(1);
  }

  private void awaitForgotten() throws SQLException {
    stage.awaitSoon(
        () -> stage.database.queryLong("select count(*) from pgonce.delivery_key") == 0);
  }

  /** In a transaction whose snapshot has the key «a», which waits. */
  private Connection begun(int level) throws SQLException {
    try (var connection = stage.dataSource.getConnection()) {
      Publisher.standard().publishEach(connection, KEYED, List.of(keyed("a")));
    }
    var writer = stage.database.dataSource().getConnection();
    writer.setTransactionIsolation(level);
    writer.setAutoCommit(false);
    try (var statement = writer.createStatement()) {
      // Else one that never ends would be found by nobody.
      statement.execute("set local statement_timeout = '10s'");
      statement.execute("select count(*) from effect");
    }
    return writer;
  }
}
