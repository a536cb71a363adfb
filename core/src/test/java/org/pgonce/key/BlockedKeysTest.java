package org.pgonce.key;

import static org.assertj.core.api.Assertions.assertThat;
import static org.pgonce.stage.Stage.QUICK;

import com.zaxxer.hikari.HikariDataSource;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Semaphore;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.pgonce.Channel;
import org.pgonce.ChannelOptions;
import org.pgonce.KeyOrder;
import org.pgonce.Message;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.PublishOptions;
import org.pgonce.Publisher;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.stage.Stage;
import org.pgonce.stage.Stage.Order;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/**
 * H56: 20,000 keys wait, each for a dead letter, for a row that is due later, or for a lease. Idle
 * processes stay idle, and other keys flow.
 */
@Tag("versions")
@PgTest(PgOnceInstalled.class)
class BlockedKeysTest {

  private static final int KEYS = 20_000;

  /** What each key waits for. */
  private enum Why {
    NOTHING,
    DEAD,
    LATER,
    LEASED
  }

  private final ConcurrentLinkedQueue<Order> ended = new ConcurrentLinkedQueue<>();
  private final Semaphore handled = new Semaphore(0);
  private final List<PgOnce> opened = new ArrayList<>();
  private final List<HikariDataSource> pools = new ArrayList<>();
  private Stage stage;
  private Channel<Order> steps;

  @BeforeEach
  void open(TestDatabase database) throws SQLException {
    stage = new Stage(database);
  }

  @AfterEach
  void close() {
    closeProcesses();
    stage.close();
  }

  /** Sessions that end tell what they have read. */
  private void closeProcesses() {
    opened.forEach(PgOnce::close);
    opened.clear();
    pools.forEach(HikariDataSource::close);
    pools.clear();
  }

  /** Two rows of each key wait, one of them due, behind what they wait for. */
  private void block(Why why, Mode mode) throws SQLException {
    var rules =
        why == Why.LEASED
            ? ChannelOptions.DEFAULT.withMaxPerKey(1)
            : ChannelOptions.DEFAULT.withOrder(KeyOrder.DEAD_LETTER_BLOCKS);
    steps = Channel.of("steps", Order.class, mode, rules);
    PgOnce.using(stage.dataSource).install(steps);
    var head =
        switch (why) {
          case NOTHING -> "";
          case DEAD ->
              """
              insert into pgonce.dead_letter (subscription_id, id, attempts, created_at, reason, error, payload, order_key)
              select s.id, g, 1, clock_timestamp(), 'REJECTED', 'no', '{"id":1,"item":"k"}', 'k' || g\
              """;
          case LATER ->
              """
              insert into pgonce.scheduled (subscription_id, id, due_at, attempts, created_at, payload, order_key)
              select s.id, g, clock_timestamp() + interval '1 hour', 1, clock_timestamp(), '{"id":1,"item":"k"}', 'k' || g\
              """;
          case LEASED ->
              """
              insert into pgonce.scheduled (subscription_id, id, due_at, attempts, created_at, payload, order_key, token, key_permit, key_permit_until)
              select s.id, g, clock_timestamp() + interval '1 hour', 1, clock_timestamp(), '{"id":1,"item":"k"}', 'k' || g,
                     gen_random_uuid(), 1, clock_timestamp() + interval '1 hour'\
              """;
        };
    var from =
        " from generate_series(1, %d) g, pgonce.subscription s where s.of_channel = 'steps'"
            .formatted(KEYS);
    stage.database.execute("select setval('pgonce.notification_id', " + 10 * KEYS + ")");
    if (why == Why.NOTHING) {
      return;
    }
    stage.database.execute(head + from);
    stage.database.execute(
        """
        insert into pgonce.notification (subscription_id, id, payload, order_key)
        select s.id, %d + g, '{"id":2,"item":"k"}', 'k' || g
        """
                .formatted(KEYS)
            + from);
    stage.database.execute(
        """
        insert into pgonce.scheduled (subscription_id, id, due_at, attempts, created_at, payload, order_key)
        select s.id, %d + g, clock_timestamp(), 0, clock_timestamp(), '{"id":3,"item":"k"}', 'k' || g
        """
                .formatted(2 * KEYS)
            + from);
    stage.database.execute("analyze");
  }

  private PgOnce listen() throws Exception {
    var pool = stage.database.pooled(8);
    pools.add(pool);
    // Ten polls are soon over then.
    var process = PgOnce.builder(pool).pollInterval(Duration.ofMillis(100)).build();
    opened.add(process);
    process
        .listen(
            steps,
            QUICK.withConcurrency(4),
            (step, tx) -> {
              ended.add(step.payload());
              handled.release();
            })
        .start();
    return process;
  }

  private void publish(String key, long first, long last) throws SQLException {
    var messages = new ArrayList<Message<Order>>();
    for (var id = first; id <= last; id++) {
      messages.add(
          new Message<>(
              new Order(id, key),
              PublishOptions.DEFAULT.withOrderKey(key.isEmpty() ? "free" + id : key)));
    }
    try (var connection = stage.dataSource.getConnection()) {
      Publisher.standard().publishEach(connection, steps, messages);
    }
  }

  private long tuplesRead() throws SQLException {
    return stage.database.queryLong(
        """
        select sum(idx_tup_read) from pg_stat_user_indexes
         where relname in ('notification', 'scheduled', 'dead_letter')
        """);
  }

  private static long claims(PgOnce process) {
    return process.status().channels().get(0).claims();
  }

  /** By when it has looked at all that waits, and from then on does so now and then only. */
  private void awaitSettled(PgOnce process) throws Exception {
    awaitTenPolls(process); // the first heartbeat comes with the start
    awaitTenPolls(process);
  }

  /** Each makes a claim while something waits; the heartbeat comes with each tenth. */
  private void awaitTenPolls(PgOnce process) throws Exception {
    var before = heartbeat();
    stage.awaitSoon(() -> heartbeat() > before && claims(process) > 0);
  }

  private long heartbeat() throws SQLException {
    return stage.database.queryLong(
        "select (extract(epoch from max(seen_at)) * 1000000)::bigint from pgonce.listener");
  }

  private static String describe(String what, long tuples) {
    return String.format(Locale.ROOT, "%s: %,d index tuples", what, tuples);
  }

  @Tag("all")
  @ParameterizedTest
  @CsvSource({"NOTHING, EXACTLY_ONCE", "DEAD, EXACTLY_ONCE"})
  void h56_idleStaysIdleAndOtherKeysFlow(Why why, Mode mode) throws Exception {
    idleStaysIdleAndOtherKeysFlow(why, mode);
  }

  @Tag("all")
  @ParameterizedTest
  @CsvSource({
    "NOTHING, AT_LEAST_ONCE",
    "DEAD, AT_LEAST_ONCE",
    "DEAD, AT_MOST_ONCE",
    "LATER, AT_LEAST_ONCE",
    "LATER, EXACTLY_ONCE",
    "LATER, AT_MOST_ONCE",
    "LEASED, AT_LEAST_ONCE",
    "LEASED, AT_MOST_ONCE"
  })
  void h56_soTheyDoInTheOtherModes(Why why, Mode mode) throws Exception {
    idleStaysIdleAndOtherKeysFlow(why, mode);
  }

  private void idleStaysIdleAndOtherKeysFlow(Why why, Mode mode) throws Exception {
    block(why, mode);
    var process = listen();
    if (why != Why.NOTHING) { // else there are few polls
      awaitSettled(process);
      var before = tuplesRead();
      awaitTenPolls(process);
      var idle = tuplesRead() - before;
      // One walk over all keys costs 40,000 and more, and may be under way.
      System.out.println(describe(why + " " + mode + " idle, 10 polls", idle));
      assertThat(idle).as("10 polls").isLessThan(15L * KEYS);
    }

    var before = tuplesRead();
    var begun = System.nanoTime();
    for (var id = 1; id <= 200; id++) {
      publish("", id, id);
      Stage.awaitSoon(handled);
    }
    var oneByOne = System.nanoTime() - begun;
    publish("", 1_001, 2_000);
    stage.awaitSoon(() -> ended.size() == 1_200);
    var bulk = System.nanoTime() - begun - oneByOne;
    closeProcesses();
    var read = tuplesRead() - before;
    System.out.println(
        describe(
            "%s %s flow: %d ms for 200, %d ms for 1,000"
                .formatted(why, mode, oneByOne / 1_000_000, bulk / 1_000_000),
            read));
    assertThat(read).as("1,200 of free keys").isLessThan(1_200 * 60 + 15L * KEYS);
    assertThat(ended).doesNotHaveDuplicates();
  }

  @ParameterizedTest
  @CsvSource({
    "DEAD, EXACTLY_ONCE, discard",
    "LATER, AT_LEAST_ONCE, cancel",
    "LEASED, AT_LEAST_ONCE, due"
  })
  @Tag("all")
  void h56_aKeyThatIsSetFreeFlowsAtOnce(Why why, Mode mode, String how) throws Exception {
    aKeyThatIsSetFreeFlowsAtOnce(why, mode, how);
  }

  @Tag("all")
  @ParameterizedTest
  @CsvSource({"DEAD, AT_LEAST_ONCE, redrive", "LATER, EXACTLY_ONCE, due"})
  void h56_soItDoesWhereItIsRedrivenOrDue(Why why, Mode mode, String how) throws Exception {
    aKeyThatIsSetFreeFlowsAtOnce(why, mode, how);
  }

  private void aKeyThatIsSetFreeFlowsAtOnce(Why why, Mode mode, String how) throws Exception {
    block(why, mode);
    var process = listen();
    awaitSettled(process);
    assertThat(ended).isEmpty();
    var begun = System.nanoTime();
    switch (how) {
      case "discard" -> stage.onCall().discard(steps, List.of(7_000L));
      case "redrive" -> stage.onCall().redrive(steps, List.of(7_000L));
      case "cancel" -> stage.onCall().cancel(steps, List.of(7_000L), "not wanted");
      default ->
          stage.database.execute(
              """
              update pgonce.scheduled set due_at = clock_timestamp(), key_permit_until = clock_timestamp() where subscription_id > 0 and id = 7000;
              select pgonce.wake_up('steps', 'later')
              """);
    }
    var left = how.equals("discard") || how.equals("cancel") ? 2 : 3;
    stage.awaitSoon(() -> ended.size() == left);
    var took = Duration.ofNanos(System.nanoTime() - begun);
    System.out.printf("%s %s: free after %d ms%n", why, how, took.toMillis());
    // Half a minute without the walk that a key set free brings, 4 to 7 s with it beside others.
    assertThat(took).isLessThan(Duration.ofSeconds(20));
    if (why != Why.LEASED) {
      assertThat(ended).extracting(Order::id).isSorted();
    }
  }

  @Tag("all")
  @ParameterizedTest
  @CsvSource({"DEAD, EXACTLY_ONCE", "LATER, AT_LEAST_ONCE", "LEASED, AT_LEAST_ONCE"})
  void h56_severalProcessesStayIdleAndShareWhatIsFree(Why why, Mode mode) throws Exception {
    block(why, mode);
    var processes = List.of(listen(), listen(), listen());
    for (var process : processes) {
      awaitSettled(process);
    }
    var before = tuplesRead();
    awaitTenPolls(processes.get(0));
    var idle = tuplesRead() - before;
    System.out.println(describe(why + " " + mode + " 3 processes idle, 10 polls", idle));
    assertThat(idle).as("10 polls").isLessThan(15L * KEYS);
    publish("", 1, 500);
    stage.awaitSoon(() -> ended.size() == 500);
    // Of keys that wait: nobody handles them, and nobody walks for them.
    before = tuplesRead();
    for (var id = 1; id <= 100; id++) {
      publish("k" + id, id, id);
    }
    publish("", 501, 501);
    stage.awaitSoon(() -> ended.size() == 501);
    awaitTenPolls(processes.get(0));
    assertThat(tuplesRead() - before).as("wake-ups in vain").isLessThan(15L * KEYS);
    assertThat(ended).hasSize(501).doesNotHaveDuplicates();
  }

  /** Its lock is gone with its session, and nobody tells the others. */
  @ParameterizedTest
  @CsvSource({"DEAD", "LATER"})
  @Tag("all")
  void h56_whatASessionHeldThatDiedIsClaimedWithTheNextScan(Why why) throws Exception {
    block(why, Mode.EXACTLY_ONCE);
    publish("held", 1, 3);
    try (var dies = stage.database.dataSource().getConnection()) {
      dies.setAutoCommit(false);
      try (var claim = dies.createStatement()) {
        claim.execute(
            "select n.id from pgonce.subscription s, pgonce.claim_by_key(s.id, false, true, null, '{keys}', '{held}', 0, 0, null) n where s.of_channel = 'steps'");
      }
      var process = listen();
      awaitSettled(process);
      assertThat(ended).isEmpty();
      dies.rollback();
    }
    var begun = System.nanoTime();
    stage.awaitSoon(() -> ended.size() == 3);
    System.out.printf(
        "%s: of who died after %d ms%n", why, (System.nanoTime() - begun) / 1_000_000);
    assertThat(ended).extracting(Order::id).isSorted();
  }
}
