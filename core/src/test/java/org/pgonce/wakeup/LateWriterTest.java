package org.pgonce.wakeup;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Predicate;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.stage.ListenerProcess;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.Seed;
import org.pgonce.testkit.TestServer;

/**
 * A writer's transaction reads an open gate, so that it does not notify, and commits when the gate
 * is closed or its listener gone. The claims behind the closing gate find its row, or the poll.
 */
@PgTest(PgOnceInstalled.class)
class LateWriterTest {

  private static final Duration BOUND = Duration.ofMillis(1_500);

  // Where other tests take the processors, one row in twenty may be that late, or those of one
  // round, which meet the same.
  private static final Duration LOADED = Duration.ofSeconds(5);
  private static final int LATEST_COMMIT_MS = 1_500;
  private static final int LOAD = 1_000;
  private static final int WRITERS_A_ROUND = 8;
  private static final int ROUNDS = Integer.getInteger("pgonce.test.late.rounds", 2);
  private static final long FIRST_LATE = 1_000_000_000;

  private static final int[] LEVELS = {
    Connection.TRANSACTION_READ_COMMITTED,
    Connection.TRANSACTION_REPEATABLE_READ,
    Connection.TRANSACTION_SERIALIZABLE
  };

  private static final String OPEN_BY_HAND =
      """
      select pgonce.open_gate('orders', array_agg(s.id order by s.id)) from pgonce.subscription s where s.of_channel = 'orders'
      """;

  /** Why nobody polls for the row any more. */
  private enum Ending {
    LOAD_ENDS,
    NOBODY_RENEWED_IT,
    STOPPED,
    KILLED,
    FROZEN
  }

  /** A transaction that is open, or prepared, and commits so long after the ending. */
  private record Late(long id, Connection connection, boolean prepared, int afterMs) {

    private Instant commit() throws SQLException {
      var begun = Instant.now();
      if (prepared) {
        execute("commit prepared 'late_%d'".formatted(id));
      } else {
        connection.commit();
      }
      connection.close();
      return begun;
    }

    private void prepare() throws SQLException {
      if (prepared) {
        execute("prepare transaction 'late_%d'".formatted(id));
        connection.setAutoCommit(true);
      }
    }

    private void execute(String sql) throws SQLException {
      try (var statement = connection.createStatement()) {
        statement.execute(sql);
      }
    }
  }

  private record Handled(Ending ending, int committedAfterMs, double lateMs) {}

  private final List<Handled> handled = new ArrayList<>();
  private long lastId = FIRST_LATE;

  @Tag("all")
  @Test
  void h88_eachOfManyRowsThatAreCommittedLateIsHandledSoon() throws Exception {
    rounds(ROUNDS);
  }

  private void rounds(int ofEachEnding) throws Exception {
    var random = Seed.random();
    try (var server = TestServer.start(Map.of("max_prepared_transactions", "20"));
        var database = server.createDatabase();
        var stage = new Stage(database)) {
      database.execute(
          "alter table effect add column at timestamptz not null default clock_timestamp()");
      for (var round = 0; round < ofEachEnding; round++) {
        var endings = Arrays.asList(Ending.values());
        Collections.shuffle(endings, random);
        for (var ending : endings) {
          round(ending, random, stage);
        }
      }
    }
    print();
    assertThat(handled)
        .hasSize(ofEachEnding * Ending.values().length * WRITERS_A_ROUND)
        .allMatch(one -> one.lateMs() <= LOADED.toMillis());
    assertThat(handled)
        .filteredOn(one -> one.lateMs() > BOUND.toMillis())
        .as("later than the bound, on a machine that may be loaded")
        .hasSizeLessThanOrEqualTo(Math.max(handled.size() / 20, WRITERS_A_ROUND));
  }

  private void round(Ending ending, Random random, Stage stage) throws Exception {
    if (ending == Ending.NOBODY_RENEWED_IT) {
      openedByHand(ending, random, stage);
    } else if (ending == Ending.LOAD_ENDS) {
      closedByItself(ending, random, stage);
    } else {
      leftByItsListener(ending, random, stage);
    }
    stage.awaitNothingWaits();
  }

  private void openedByHand(Ending ending, Random random, Stage stage) throws Exception {
    try (var pgonce = ListenerProcess.listen(stage.dataSource)) {
      awaitClosed(stage);
      var late = new ArrayList<Late>();
      while (late.size() < WRITERS_A_ROUND) {
        stage.database.queryLong(OPEN_BY_HAND);
        open(random, stage, late);
      }
      commitAndAwait(ending, late, stage);
    }
  }

  private void closedByItself(Ending ending, Random random, Stage stage) throws Exception {
    try (var pgonce = ListenerProcess.listen(stage.dataSource);
        var writers = new SingleWriters(stage.dataSource, 8)) {
      var late = openUnderLoad(random, stage, writers);
      writers.stop();
      awaitClosed(stage);
      commitAndAwait(ending, late, stage);
    }
  }

  private void leftByItsListener(Ending ending, Random random, Stage stage) throws Exception {
    try (var victim = ListenerProcess.start(stage.database);
        var writers = new SingleWriters(stage.dataSource, 8)) {
      var late = openUnderLoad(random, stage, writers);
      try (var other = ListenerProcess.listen(stage.dataSource)) {
        switch (ending) {
          case STOPPED -> victim.sigterm();
          case KILLED -> victim.kill9();
          default -> victim.sigstop();
        }
        writers.stop();
        commitAndAwait(ending, late, stage);
        victim.sigcont();
        stage.awaitNothingWaits();
      }
    }
  }

  private static void awaitClosed(Stage stage) {
    stage.awaitSoon(
        () ->
            stage.database.queryLong("select pgonce.needs_notify(pgonce.gate_of('orders'))::int")
                == 1);
  }

  private List<Late> openUnderLoad(Random random, Stage stage, SingleWriters writers) {
    var late = new ArrayList<Late>();
    stage.awaitSoon(() -> writers.published() > LOAD);
    stage.awaitSoon(
        () -> {
          open(random, stage, late);
          return late.size() == WRITERS_A_ROUND;
        });
    return late;
  }

  /** One more that does not notify, where the gate is open. */
  private void open(Random random, Stage stage, List<Late> late) throws SQLException {
    var connection = stage.database.dataSource().getConnection();
    connection.setTransactionIsolation(LEVELS[random.nextInt(LEVELS.length)]);
    connection.setAutoCommit(false);
    var one =
        new Late(++lastId, connection, random.nextInt(4) == 0, random.nextInt(LATEST_COMMIT_MS));
    if (SingleWriters.storeUnannounced(connection, one.id())) {
      one.prepare();
      late.add(one);
    } else {
      connection.close();
    }
  }

  private void commitAndAwait(Ending ending, List<Late> late, Stage stage) throws Exception {
    var ended = System.nanoTime();
    var committed = new HashMap<Late, Instant>();
    late.sort(Comparator.comparing(Late::afterMs));
    for (var one : late) {
      var wait = ended + one.afterMs() * 1_000_000L - System.nanoTime();
      LockSupport.parkNanos(wait); // that long the writer takes, whatever else happens
      committed.put(one, one.commit());
    }
    for (var one : late) {
      stage.awaitSoon(() -> !handledAt("id = " + one.id(), stage).equals(Instant.EPOCH));
    }
    assertThat(stage.database.queryLong("select count(*) from effect where id >= " + FIRST_LATE))
        .as("each was handled once")
        .isEqualTo(handled.size() + late.size());
    // What the load has left is worked off meanwhile, on a slow machine for seconds.
    var lastOfLoad = handledAt("id < " + FIRST_LATE, stage);
    for (var one : late) {
      var from = committed.get(one);
      var took =
          Duration.between(
              from.isAfter(lastOfLoad) ? from : lastOfLoad, handledAt("id = " + one.id(), stage));
      handled.add(new Handled(ending, one.afterMs(), took.toNanos() / 1e6));
    }
  }

  /** When the last of them was; 1970 if none was. */
  private static Instant handledAt(String which, Stage stage) throws SQLException {
    return Instant.EPOCH.plus(
        stage.database.queryLong(
            "select coalesce((1000000 * extract(epoch from max(at)))::bigint, 0) from effect where "
                + which),
        ChronoUnit.MICROS);
  }

  private void print() {
    for (var ending : Ending.values()) {
      delays(one -> one.ending() == ending).print(ending.name());
    }
    delays(one -> one.committedAfterMs() <= 300).print("committed within 0.3 s");
    delays(one -> true).print("all");
  }

  private Delays delays(Predicate<Handled> which) {
    return new Delays(handled.stream().filter(which).mapToDouble(Handled::lateMs));
  }
}
