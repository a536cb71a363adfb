package org.pgonce.cost;

import static org.assertj.core.api.Assertions.assertThat;
import static org.pgonce.stage.Stage.QUICK;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.pgonce.Message;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.PublishOptions;
import org.pgonce.spi.ListenAddress;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.stage.Stage.Order;
import org.pgonce.testkit.Login;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TappedSource;
import org.pgonce.testkit.TappedSource.Tap;
import org.pgonce.testkit.TestDatabase;
import org.postgresql.core.BaseConnection;
import org.postgresql.core.TransactionState;

/**
 * What a notification costs while nothing goes wrong: what pgonce asks of the database between one
 * handler and the next, to the statement.
 */
@PgTest(PgOnceInstalled.class)
public class CostTest {

  private static final int FIRST = 20;
  private static final int COUNTED = 100;

  // One deletion of 17 looks at what lies behind it; and where a look at the whole takes long, as
  // on
  // a busy machine, it is a claim of its own.
  private static final int CLAIMS_ALONE = COUNTED / 4;
  private static final int PUBLISHED = FIRST + COUNTED + 20;

  private TestDatabase database;
  private Stage stage;

  @BeforeAll
  static void needsMessagesOfSeveralCommands() {
    Login.assumePgjdbc("pgjdbc-ng sends one command at a time, which costs more");
  }

  @BeforeEach
  public void open(TestDatabase database) throws SQLException {
    this.database = database;
    this.stage = new Stage(database);
  }

  @AfterEach
  public void close() {
    stage.close();
  }

  /** Per notification; the handler's own statement is not counted. */
  private record Cost(long roundTrips, long commits) {

    private static Cost of(List<String> asked) {
      // One and the same, whether it looks for what lies behind or not.
      var times =
          asked.stream()
              .collect(
                  Collectors.groupingBy(
                      sql -> sql.contains("DELETE FROM pgonce.") ? "deletion" : sql,
                      Collectors.counting()));
      if (asked.stream().anyMatch(CostTest::claimsBehindItsCommit)) {
        times.values().removeIf(n -> n <= CLAIMS_ALONE);
      }
      // Else something else than the notifications was counted with them.
      assertThat(times)
          .as("how often each was asked")
          .allSatisfy((sql, n) -> assertThat(n % COUNTED).isZero());
      var commits = asked.stream().filter(sql -> sql.contains("COMMIT")).count();
      var own = asked.stream().filter(sql -> !sql.contains("insert into effect")).count();
      return new Cost(own / COUNTED, commits / COUNTED);
    }

    @Override
    public String toString() {
      return roundTrips + " | " + commits;
    }
  }

  private static boolean claimsBehindItsCommit(String sql) {
    return sql.contains("COMMIT; BEGIN ");
  }

  @Test
  public void h47_steadyStatePaysNothing() throws Exception {
    var asked = asked(Mode.EXACTLY_ONCE, false, order -> PublishOptions.DEFAULT);
    // Deletion, commit and the next claim: that a claim counts deaths is read off the row that it
    // reads anyway.
    assertThat(Cost.of(asked)).isEqualTo(new Cost(1, 1));
    assertThat(asked.stream().filter(CostTest::claimsBehindItsCommit))
        .hasSizeGreaterThanOrEqualTo(COUNTED - CLAIMS_ALONE);
    assertThat(asked.stream().filter(sql -> sql.contains("FOR UPDATE SKIP LOCKED")))
        .hasSize(COUNTED);
    assertThat(asked.stream().filter(sql -> sql.contains("DELETE FROM pgonce."))).hasSize(COUNTED);
  }

  @Test
  void s12_aDeliveryKeyCostsNoMessage() throws Exception {
    var asked =
        asked(
            Mode.EXACTLY_ONCE,
            false,
            order -> PublishOptions.DEFAULT.withDeliveryKey("order " + order.id()));
    assertThat(Cost.of(asked)).isEqualTo(new Cost(1, 1));
    assertThat(asked.stream().filter(sql -> sql.contains("keys_done"))).hasSize(COUNTED);
  }

  @Test
  public void steadyCostOfEachMode() throws Exception {
    var table =
        new StringBuilder(
            "\n| mode | handler uses tx | round trips | commits |\n|---|---|---|---|\n");
    var costs = new CopyOnWriteArrayList<Cost>();
    for (var mode : Mode.values()) {
      for (var usesTx : List.of(false, true)) {
        var cost = Cost.of(asked(mode, usesTx, order -> PublishOptions.DEFAULT));
        costs.add(cost);
        table.append("| %s | %s | %s |%n".formatted(mode, usesTx ? "yes" : "no", cost));
      }
    }
    System.out.println(table);
    assertThat(costs)
        .containsExactly(
            new Cost(1, 1),
            new Cost(1, 1),
            new Cost(3, 2),
            new Cost(6, 2),
            new Cost(3, 2),
            new Cost(6, 2),
            new Cost(0, 0),
            new Cost(4, 1));
  }

  /**
   * What is asked of the database from one handler to the one that comes {@link #COUNTED} later.
   */
  private List<String> asked(Mode mode, boolean usesTx, Function<Order, PublishOptions> published)
      throws Exception {
    stage.clear();
    var channel = Stage.wokenAlways("cost." + mode.name().toLowerCase(Locale.ROOT), mode);
    PgOnce.using(stage.dataSource).install(channel);
    var asked = new CopyOnWriteArrayList<String>();
    var scanning = ConcurrentHashMap.<Connection>newKeySet();
    Tap tap =
        (sql, real) -> {
          // The scan of the start may end late; it is no notification's.
          if (sql.contains("pgonce.listener_starts(")
              || sql.contains("pgonce.poll(")
              || sql.contains("pgonce.listener_seen(")
              || sql.contains("'statement_timeout', '10s'")) { // begins a task of the housekeeping
            scanning.add(real);
          }
          // What the driver is asked between transactions to end, it sends nowhere.
          var unsent =
              (sql.equals("ROLLBACK") || sql.equals("COMMIT"))
                  && real.unwrap(BaseConnection.class).getTransactionState()
                      == TransactionState.IDLE;
          if (!unsent && !scanning.contains(real)) {
            asked.add(sql);
          }
          if (sql.contains("COMMIT")) {
            scanning.remove(real);
          }
          return sql;
        };
    var address =
        new ListenAddress(
            database.host(), database.port(), database.name(), database.user(), null, Map.of());
    var calls = new AtomicInteger();
    var counted = new CopyOnWriteArrayList<String>();
    var end = new CountDownLatch(1);
    try (var pgonce =
        PgOnce.builder(TappedSource.over(stage.dataSource, tap))
            .listenAddress(address)
            .pollInterval(Duration.ofHours(1)) // no scan in between
            .build()) {
      pgonce
          .listen(
              channel,
              QUICK.withConcurrency(1).withLease(Duration.ofHours(1)), // and no renewal
              (order, tx) -> {
                var call = calls.incrementAndGet();
                if (call == FIRST) {
                  asked.clear();
                } else if (call == FIRST + COUNTED) {
                  counted.addAll(asked);
                  end.countDown();
                }
                if (usesTx) {
                  Stage.effect(order, tx);
                }
              })
          .start();
      try (var connection = stage.dataSource.getConnection()) {
        pgonce
            .publisher()
            .publishEach(
                connection,
                channel,
                LongStream.rangeClosed(1, PUBLISHED)
                    .mapToObj(id -> new Order(id, "item"))
                    .map(order -> new Message<>(order, published.apply(order)))
                    .toList());
      }
      Stage.awaitSoon(end);
      stage.awaitSoon(() -> calls.get() == PUBLISHED);
    }
    return counted;
  }
}
