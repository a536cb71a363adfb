package org.pgonce.key;

import static org.pgonce.stage.Stage.QUICK;

import java.sql.SQLException;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.KeyOrder;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.PublishOptions;
import org.pgonce.Publisher;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.stage.Stage.Order;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** Rows without a key: they were stored before their channel had an order or a limit per key. */
@Tag("all")
@PgTest(PgOnceInstalled.class)
class KeylessRowTest {

  // A claim by key looks at the rows of twice 2 s again.
  private static final Duration OUT_OF_SIGHT = Duration.ofSeconds(5);

  private Stage stage;

  @BeforeEach
  void open(TestDatabase database) throws SQLException {
    stage = new Stage(database);
  }

  @AfterEach
  void close() {
    stage.close();
  }

  @ParameterizedTest
  @CsvSource({
    "EXACTLY_ONCE, DEAD_LETTER_BLOCKS, false",
    "EXACTLY_ONCE, DEAD_LETTER_PASSES, true",
    "EXACTLY_ONCE, NONE, false",
    "AT_LEAST_ONCE, NONE, true"
  })
  void h83_aRowOfAWriterThatWasOpenWhenTheChannelGotItsOrderOrLimitIsHandled(
      Mode mode, KeyOrder order, boolean isDelayed) throws Exception {
    var former = Channel.of("steps", Order.class, mode);
    var rules = ChannelOptions.DEFAULT.withOrder(order);
    var byKey =
        Channel.of(
            "steps", Order.class, mode, order == KeyOrder.NONE ? rules.withMaxPerKey(2) : rules);
    var options =
        isDelayed ? PublishOptions.DEFAULT.withDelay(Duration.ofMillis(1)) : PublishOptions.DEFAULT;
    PgOnce.using(stage.dataSource).install(former);
    try (var writer = stage.dataSource.getConnection()) {
      writer.setAutoCommit(false);
      Publisher.standard().publish(writer, former, new Order(1, "late"), options);

      PgOnce.using(stage.dataSource).install(byKey);
      stage.pgonce().listen(byKey, QUICK, Stage::effect).start();
      var end = System.nanoTime() + OUT_OF_SIGHT.toNanos();
      for (var id = 2; System.nanoTime() - end < 0; id++) {
        try (var other = stage.dataSource.getConnection()) {
          Publisher.standard()
              .publish(other, byKey, new Order(id, "soon"), options.withOrderKey("k"));
        }
        var handled = id - 1;
        stage.awaitSoon(() -> stage.effects() == handled);
      }
      writer.commit();
    }
    stage.awaitSoon(
        () -> stage.database.queryLong("select count(*) from effect where id = 1") == 1);
    stage.awaitNothingWaits();
  }
}
