package org.pgonce.handler;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.pgonce.Handler;
import org.pgonce.PgOnce;
import org.pgonce.Tx;
import org.pgonce.spi.Event;
import org.pgonce.spi.ListenAddress;
import org.pgonce.spi.Observer;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.stage.Stage.Order;
import org.pgonce.testkit.Login;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TappedSource;
import org.pgonce.testkit.TestDatabase;

/**
 * Amid a backlog the next notification is claimed by the message that commits the one before:
 * whatever fails then, and whatever a handler leaves behind, each is told, and counted, of its own.
 */
@PgTest(PgOnceInstalled.class)
class PrefetchTest {

  private static final int ALL = 60;

  // By then eight have seen another one behind them, and it is not the seventeenth since.
  private static final int AMID = 30;

  private static final String BEHIND_COMMIT = "COMMIT; BEGIN ISOLATION LEVEL READ COMMITTED";

  private Stage stage;
  private final Set<Long> handled = ConcurrentHashMap.newKeySet();
  private final List<String> failures = new CopyOnWriteArrayList<>();
  private volatile long breaksAt;
  private final List<String> asked = new CopyOnWriteArrayList<>();

  private final Observer observer =
      event -> {
        if (event instanceof Event.Handled said) {
          if (handled.add(said.about().id()) && said.about().id() == breaksAt) {
            throw new AssertionError("an observer that breaks");
          }
        }
        if (event instanceof Event.Failed said) {
          failures.add("attempt " + said.about().attempt() + ": " + said.reason());
        }
      };

  @BeforeAll
  static void needsMessagesOfSeveralCommands() {
    Login.assumePgjdbc("pgjdbc-ng sends one command at a time, so nothing is claimed ahead");
  }

  @BeforeEach
  void prepare(TestDatabase database) throws SQLException {
    stage = new Stage(database);
    database.execute(
        """
        create table slow_check (id bigint unique deferrable initially deferred);
        create function keep(name text, value text) returns text language sql
        begin atomic select set_config(name, value, false); end
        """);
  }

  @AfterEach
  void close() {
    stage.close();
  }

  /** One worker, with the backlog there before it starts. */
  private void workOff(Handler<Order> handler) throws SQLException {
    stage.publish(ALL);
    var source =
        TappedSource.over(
            stage.dataSource,
            (sql, real) -> {
              asked.add(sql);
              return sql;
            });
    stage
        .pgonce(PgOnce.builder(source).listenAddress(address()).observer(observer))
        .listen(Stage.ORDERS, Stage.QUICK.withConcurrency(1), handler)
        .start();
    stage.awaitSoon(() -> stage.effects() == ALL && stage.waiting() == 0);
    assertThat(stage.eachOnce(ALL)).isTrue();
  }

  private ListenAddress address() {
    var database = stage.database;
    return new ListenAddress(
        database.host(), database.port(), database.name(), database.user(), null, Map.of());
  }

  private void assertClaimedBehindCommits(int least) {
    assertThat(asked.stream().filter(sql -> sql.contains(BEHIND_COMMIT)))
        .hasSizeGreaterThanOrEqualTo(least);
  }

  private String effect(long id) throws SQLException {
    return stage.database.queryString("select note from effect where id = " + id);
  }

  @Test
  void h47_amidABacklogTheNextOneIsClaimedWithTheCommit() throws Exception {
    workOff(Stage::effect);
    stage.awaitSoon(() -> handled.size() == ALL);
    assertClaimedBehindCommits(ALL - 8 - 8);
  }

  @Test
  void h43_aCommitThatFailsIsTheFailureOfItsOwnNotification() throws Exception {
    workOff(
        (order, tx) -> {
          if (order.payload().id() == AMID && order.attempt() == 1) {
            tx.update("insert into slow_check values (1), (1)"); // which the commit finds
          }
          Stage.effect(order, tx);
        });
    assertClaimedBehindCommits(ALL / 2);
    assertThat(failures)
        .singleElement()
        .asString()
        .startsWith("attempt 1: ")
        .contains("slow_check");
    assertThat(effect(AMID)).isEqualTo("attempt 2");
    assertThat(effect(AMID + 1)).isEqualTo("attempt 1");
  }

  @Test
  void h43_anErrorThatIsSwallowedIsTheFailureOfItsOwnNotification() throws Exception {
    workOff(
        (order, tx) -> {
          Stage.effect(order, tx);
          if (order.payload().id() == AMID && order.attempt() == 1) {
            try {
              tx.update("insert into nowhere values (1)");
            } catch (SQLException swallowed) {
              // as handlers do
            }
          }
        });
    assertClaimedBehindCommits(ALL / 2);
    assertThat(failures).singleElement().asString().contains("caught an SQLException and went on");
    assertThat(effect(AMID)).isEqualTo("attempt 2");
  }

  /** The claim that follows fails then; what was committed before it is not taken for failed. */
  @Test
  void h43_whatFailsBehindTheCommitIsNoFailure() throws Exception {
    var powerless = stage.database.loginRole("powerless").user();
    workOff(
        (order, tx) -> {
          Stage.effect(order, tx);
          if (order.payload().id() == AMID) {
            set("role", powerless, tx);
          }
        });
    assertClaimedBehindCommits(AMID - 12);
    assertThat(failures).isEmpty();
    assertThat(effect(AMID)).isEqualTo("attempt 1");
    assertThat(effect(AMID + 1)).isEqualTo("attempt 1");
  }

  @Test
  void h44_aReadOnlyDefaultIsSetBackBeforeTheNextOne() throws Exception {
    workOff(
        (order, tx) -> {
          Stage.effect(order, tx);
          if (order.payload().id() == AMID) {
            set("default_transaction_read_only", "on", tx);
          }
        });
    assertClaimedBehindCommits(AMID - 12);
    assertThat(failures).isEmpty();
    stage.awaitSoon(() -> handled.size() == ALL);
  }

  @Test
  void h44_whatAHandlerHasSetIsSetBackBeforeTheNextOne() throws Exception {
    var zone = stage.database.queryString("show timezone");
    workOff(
        (order, tx) -> {
          var now = tx.query("select current_setting('TimeZone')", row -> row.getString(1)).get(0);
          tx.update("insert into effect values (?, ?)", order.payload().id(), now);
          if (order.payload().id() == AMID) {
            set("TimeZone", "Asia/Tokyo", tx);
          }
        });
    assertClaimedBehindCommits(AMID - 12);
    assertThat(failures).isEmpty();
    assertThat(stage.database.queryString("select string_agg(distinct note, ' ') from effect"))
        .isEqualTo(zone);
  }

  /** It is held by nobody then, and must not be handled all the same. */
  @Test
  void h43_whatWasClaimedBehindOneWhoseObserverBreaksIsClaimedAgain() throws Exception {
    breaksAt = AMID;
    workOff(
        (order, tx) -> {
          Stage.effect(order, tx);
          if (order.payload().id() == AMID + 1) {
            tx.update(
                "insert into effect select id, 'not held' from (select %d::bigint as id) as one where not exists (select from pg_locks where pid = pg_backend_pid() and relation in ('pgonce.notification'::regclass, 'pgonce.scheduled'::regclass) and mode = 'RowShareLock')"
                    .formatted(AMID + 1));
          }
        });
    assertClaimedBehindCommits(AMID - 12);
    assertThat(failures).isEmpty();
    assertThat(effect(AMID + 1)).isEqualTo("attempt 1");
  }

  /** For the session, in a way that a look at the text does not show. */
  private static void set(String name, String value, Tx tx) throws SQLException {
    tx.query("select keep(?, ?)", row -> row.getString(1), name, value);
  }

  /** What a failure has to do with is the claim in hand then, and none that is made later. */
  @Test
  void h47_behindAFailureEachIsClaimedOnce() throws Exception {
    workOff(
        (order, tx) -> {
          if (order.payload().id() == AMID && order.attempt() == 1) {
            throw new IllegalStateException("once");
          }
          Stage.effect(order, tx);
        });
    var steps =
        asked.stream()
            .filter(sql -> sql.contains("SKIP LOCKED") || sql.contains("DELETE FROM"))
            .toList();
    // Its own, when its handler has failed.
    assertThat(
            IntStream.range(1, steps.size())
                .filter(i -> steps.get(i - 1).contains(BEHIND_COMMIT))
                .filter(i -> !steps.get(i).contains("DELETE FROM")))
        .as("claims that were made in vain")
        .hasSize(1);
  }

  /** What is due takes its turn, however much is new. */
  @Test
  void h47_aScheduledOneDoesNotWaitForTheEndOfTheBacklog() throws Exception {
    workOff(
        (order, tx) -> {
          if (order.payload().id() == AMID && order.attempt() == 1) {
            throw new IllegalStateException("later");
          }
          if (order.payload().id() > AMID) {
            // All of them take longer than the backoff.
            tx.query("select pg_sleep(0.005)::text", row -> row.getString(1));
          }
          Stage.effect(order, tx);
        });
    assertClaimedBehindCommits(ALL / 2);
    assertThat(
            stage.database.queryLong(
                "select count(*) from effect where xmin::text::bigint > (select xmin::text::bigint from effect where id = "
                    + AMID
                    + ")"))
        .as("handled after it")
        .isPositive();
  }
}
