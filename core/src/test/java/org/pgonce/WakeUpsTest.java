package org.pgonce;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.pgonce.Stage.Order;
import org.pgonce.testkit.JvmProcess;
import org.pgonce.testkit.ParentWatch;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import org.pgonce.testkit.TestServer;
import org.postgresql.PGConnection;

/**
 * Writers leave NOTIFY out while a listener is awake, see {@code sql/gate.sql}, and nothing is late
 * for it, though nobody polls.
 */
@PgTest(PgOnceInstalled.class)
class WakeUpsTest {

  private static final Duration BOUND = Duration.ofSeconds(60);
  private static final int MANY = 3_000;
  private static final long LATE = 1_000_000_000;

  // Of nobody, or of nobody who has come yet.
  private static final long NOBODY_IS = 0;
  private static final long NOBODY_LISTENS = Long.MAX_VALUE - 1;

  private Stage stage;

  @BeforeEach
  void prepare(TestDatabase database) throws SQLException {
    stage = new Stage(database);
  }

  @AfterEach
  void close() {
    stage.close();
  }

  private static PgOnce listener(javax.sql.DataSource dataSource) {
    var pgonce =
        PgOnce.builder(dataSource)
            .pollInterval(Duration.ofHours(1))
            .stopTimeout(Duration.ofSeconds(2))
            .build();
    pgonce.listen(Stage.ORDERS, Stage.QUICK.withConcurrency(4), Stage::effect).start();
    return pgonce;
  }

  private PgOnce listener() {
    return listener(stage.dataSource);
  }

  /** The same in a process of its own. */
  static final class ListenerProcess {
    public static void main(String[] arguments) throws Exception {
      ParentWatch.exitWhenParentDies();
      // A pool: to connect anew for each word, under load, would take longer than a word is good
      // for.
      try (var pool = Stage.pooled(arguments, 8);
          var pgonce = listener(pool)) {
        System.out.println("started");
        pgonce.awaitStopped();
      }
    }
  }

  private JvmProcess process() throws InterruptedException {
    var process =
        JvmProcess.start(ListenerProcess.class, stage.database.jdbcUrl(), stage.database.user());
    process.awaitLine("started", BOUND);
    return process;
  }

  private long word() throws SQLException {
    return stage.database.queryLong(
        "select coalesce(pg_sequence_last_value(pgonce.gate_of('orders')), 0)");
  }

  private boolean isAwake() throws SQLException {
    var word = word();
    return word > 0 && word != NOBODY_LISTENS;
  }

  /** Writes until somebody is awake, in a transaction that relies on it and stays open. */
  private Connection lateWriter(SingleWriters writers) throws SQLException {
    var late = stage.dataSource.getConnection();
    late.setAutoCommit(false);
    stage.awaitSoon(() -> writers.published() > MANY && isAwake());
    stage.awaitSoon(() -> SingleWriters.storeRelyingOnIt(late, LATE));
    return late;
  }

  /** A listener scans once more when it is idle, which would find it. */
  private void commitWhenNobodyScans(Connection late) throws SQLException {
    awaitNobodyScans();
    late.commit();
  }

  private void awaitNobodyScans() {
    var scans =
        "select count(*) from pgonce.listener where seen_at > clock_timestamp() - interval '2 seconds'";
    stage.awaitSoon(() -> stage.database.queryLong(scans) == 0);
  }

  private boolean allButTheLateOne(long published) throws SQLException {
    return stage.effects() == published;
  }

  private void assertEachOnce(long published) {
    stage.awaitSoon(() -> stage.effects() >= published);
    stage.awaitSoon(() -> word() == NOBODY_IS);
    stage.awaitSoon(() -> stage.waiting() == 0);
    assertOnce(published);
  }

  private void assertOnce(long published) {
    try {
      assertThat(stage.eachOnce((int) published)).isTrue();
    } catch (SQLException e) {
      throw new IllegalStateException(e);
    }
  }

  @Test
  void whileAListenerIsAwakeWritersWakeNobody() throws Exception {
    try (var pgonce = listener();
        var hearing = stage.database.dataSource().getConnection();
        var statement = hearing.createStatement();
        var writers = new SingleWriters(stage.dataSource, 8)) {
      stage.awaitSoon(() -> wakefulness().equals("AWAKE"));
      statement.execute("listen pgonce_orders");
      var before = writers.published();
      stage.awaitSoon(() -> writers.published() > before + MANY);
      var after = writers.published();
      // Calls of one who has more than he can do; and more where he does not come to say so in
      // time.
      assertThat(hearing.unwrap(PGConnection.class).getNotifications(1))
          .as("wake-ups of %s commits", after - before)
          .hasSizeLessThan(MANY / 2);
      assertEachOnce(writers.stop());
    }
  }

  @Test
  void nobodyIsNotifiedWhileNobodyListens() throws Exception {
    try (var hearing = stage.database.dataSource().getConnection();
        var statement = hearing.createStatement();
        var writer = stage.dataSource.getConnection()) {
      statement.execute("listen pgonce_orders");
      SingleWriters.store(writer, 1);
      assertThat(hearing.unwrap(PGConnection.class).getNotifications(100)).isEmpty();

      // What began before somebody listened, and commits after his first look.
      writer.setAutoCommit(false);
      SingleWriters.store(writer, 2);
      try (var pgonce = listener()) {
        stage.awaitSoon(() -> stage.effects() == 1);
        commitWhenNobodyScans(writer);
        assertEachOnce(2);
        SingleWriters.store(writer, 3);
        writer.commit();
        assertEachOnce(3);
      }
      assertThat(wakefulness()).isEqualTo("NOBODY LISTENS");
    }
  }

  private String wakefulness() throws SQLException {
    return String.valueOf(
        stage.database.queryString(
            "select wakefulness from pgonce.channel_status where channel = 'orders'"));
  }

  @Test
  void h82_whoReliedOnItAndCommitsLongAfterIsFound() throws Exception {
    try (var pgonce = listener();
        var writers = new SingleWriters(stage.dataSource, 8);
        var late = lateWriter(writers)) {
      var published = writers.stop();
      stage.awaitSoon(() -> allButTheLateOne(published));
      stage.awaitSoon(() -> wakefulness().equals("OWES LOOKS"));
      commitWhenNobodyScans(late);
      assertEachOnce(published + 1);
      assertThat(wakefulness()).isEqualTo("ASLEEP");
    }
  }

  @Tag("all")
  @Test
  void h49_whatIsOwedByOneWhoDiesAnotherTakesOver() throws Exception {
    try (var victim = process();
        var writers = new SingleWriters(stage.dataSource, 8);
        var late = lateWriter(writers);
        var other = listener()) {
      victim.kill9();
      var published = writers.stop();
      stage.awaitSoon(() -> allButTheLateOne(published));
      commitWhenNobodyScans(late);
      assertEachOnce(published + 1);
    }
  }

  @Tag("all")
  @Test
  void h49_whatIsOwedByOneWhoHasFallenAsleepAndDiesAnotherTakesOver() throws Exception {
    try (var victim = process();
        var writers = new SingleWriters(stage.dataSource, 8);
        var late = lateWriter(writers);
        var other = listener()) {
      var published = writers.stop();
      stage.awaitSoon(() -> allButTheLateOne(published));
      stage.awaitSoon(() -> word() < 0);
      var owing = word();
      victim.kill9();
      stage.awaitSoon(() -> word() < owing); // which only who has it says
      commitWhenNobodyScans(late);
      assertEachOnce(published + 1);
    }
  }

  @Tag("all")
  @Test
  void h49_whatIsOwedByOneWhoIsFrozenAnotherTakesOver() throws Exception {
    try (var victim = process();
        var writers = new SingleWriters(stage.dataSource, 8);
        var late = lateWriter(writers);
        var other = listener()) {
      victim.sigstop();
      var published = writers.stop();
      stage.awaitSoon(() -> word() < 0);
      late.commit();
      // What the frozen one has at work is not over, nor is what is owed, as it may have stored.
      stage.awaitSoon(
          () -> stage.database.queryLong("select count(*) from effect where id = " + LATE) == 1);
      victim.sigcont();
      assertEachOnce(published + 1);
    }
  }

  /**
   * He may owe them for hours, and be the last one who listens. On a server of its own: he looks
   * whenever one of those has ended whom he waits for, of any database.
   */
  @Tag("all")
  @ParameterizedTest
  @CsvSource({"true", "false"})
  void h49_whoOwesLooksTakesOverFromAnotherWhoWasAwakeAndStopsOrIsLost(boolean stops)
      throws Exception {
    stage.close();
    try (var server = TestServer.start(Map.of());
        var database = server.createDatabase()) {
      stage = new Stage(database);
      assertWhoOwesLooksTakesOver(stops);
      stage.close();
    }
  }

  private void assertWhoOwesLooksTakesOver(boolean stops) throws Exception {
    try (var pgonce = listener();
        var writers = new SingleWriters(stage.dataSource, 8);
        var open = lateWriter(writers);
        var late = stage.dataSource.getConnection()) {
      var published = writers.stop();
      stage.awaitSoon(() -> allButTheLateOne(published));
      stage.awaitSoon(() -> wakefulness().equals("OWES LOOKS"));
      awaitNobodyScans();
      var other = new WordOfAnother(stage.database);
      late.setAutoCommit(false);
      stage.awaitSoon(() -> other.isAwake() && SingleWriters.storeRelyingOnIt(late, LATE + 1));
      if (stops) {
        var before = lastScan();
        other.stops(); // who calls, so that he looks in vain, and scans once more
        stage.awaitSoon(() -> !lastScan().equals(before));
      }
      commitWhenNobodyScans(late);
      stage.awaitSoon(() -> stage.effects() == published + 1);
      open.commit();
      assertEachOnce(published + 2);
    }
  }

  /** He keeps the word, till the server ends a session that does nothing in its transaction. */
  @Test
  void h49_fromOneWhoIsFrozenInTheMiddleOfAStepTheWordIsTaken() throws Exception {
    try (var pgonce = listener();
        var frozen = stage.database.unpooled().getConnection();
        var step = frozen.createStatement()) {
      stage.awaitSoon(() -> word() == NOBODY_IS);
      assertThat(new WordOfAnother(stage.database).isAwake()).isTrue();
      step.execute("begin; select pgonce.hold_word('orders')");
      stage.awaitSoon(() -> word() <= NOBODY_IS);
    }
  }

  @Test
  void h85_whoStopsLeavesWhatHeOwesToTheOthers() throws Exception {
    try (var other = listener();
        var writers = new SingleWriters(stage.dataSource, 8);
        var late = lateWriter(writers);
        var third = listener()) {
      other.close();
      var published = writers.stop();
      stage.awaitSoon(() -> allButTheLateOne(published));
      commitWhenNobodyScans(late);
      assertEachOnce(published + 1);
    }
  }

  @Tag("all")
  @Test
  void s3_whatTheLastOneOwedIsFoundByTheNextOne() throws Exception {
    long published;
    try (var victim = process();
        var writers = new SingleWriters(stage.dataSource, 8);
        var late = lateWriter(writers)) {
      victim.kill9();
      published = writers.stop();
      try (var next = listener()) {
        stage.awaitSoon(() -> allButTheLateOne(published));
        commitWhenNobodyScans(late);
        assertEachOnce(published + 1);
      }
    }
  }

  @Test
  void h49_whatAnotherHadInHandsWhenItDiedIsHandledSoon() throws Exception {
    try (var writer = stage.dataSource.getConnection();
        var holder = stage.dataSource.getConnection();
        var statement = holder.createStatement()) {
      SingleWriters.store(writer, 1);
      holder.setAutoCommit(false);
      statement.execute("select from pgonce.notification for update");
      try (var pgonce = listener()) {
        stage.awaitSoon(() -> claims(pgonce) > 0);
        var scans = new HashSet<String>();
        stage.awaitSoon(() -> scans.add(lastScan()) && scans.size() > 5); // they go on
        holder.rollback();
        assertEachOnce(1);
      }
    }
  }

  @Test
  void h72_withoutItsWordAChannelWorksAndIsGivenOneWhenItsDatabaseIsAdopted() throws Exception {
    stage.database.execute("drop sequence pgonce.gate_orders");
    assertThat(wakes()).isEqualTo(1);
    stage.database.execute("delete from pgonce.notification where subscription_id > 0");
    try (var pgonce = listener();
        var writers = new SingleWriters(stage.dataSource, 2)) {
      stage.awaitSoon(() -> writers.published() > 100);
      var published = writers.stop();
      stage.awaitSoon(() -> stage.effects() == published);
      assertOnce(published);
    }
    stage.database.execute("drop sequence pgonce.gate_orders");
    stage.database.execute("select pgonce.adopt('the data of another')");
    assertThat(word()).isEqualTo(-1);
  }

  private String lastScan() throws SQLException {
    return String.valueOf(
        stage.database.queryString("select max(seen_at)::text from pgonce.listener"));
  }

  private static long claims(PgOnce pgonce) {
    return pgonce.status().channels().get(0).emptyClaims();
  }

  private void install(WakeUps wakeUps) {
    PgOnce.using(stage.dataSource)
        .install(
            Channel.of(
                "orders",
                Order.class,
                Mode.EXACTLY_ONCE,
                ChannelOptions.DEFAULT.withWakeUps(wakeUps)));
  }

  @ParameterizedTest
  @CsvSource({"GATED, 0, 1", "ALWAYS, 1, 1", "NEVER, 0, 0"})
  void wakeUps_areWhatTheChannelIsInstalledWith(
      WakeUps wakeUps, int beforeSomebodyListens, int afterwards) throws Exception {
    stage.database.execute("select pgonce.drop_channel('orders')");
    install(wakeUps);
    assertThat(List.of(wakes(), wakesOfAListened()))
        .containsExactly(beforeSomebodyListens, afterwards);
  }

  @ParameterizedTest
  @CsvSource({"GATED, ALWAYS, 1", "ALWAYS, NEVER, 0", "NEVER, GATED, 1"})
  void wakeUps_thatAreInstalledAnewHoldWhenSomebodyHasListened(
      WakeUps before, WakeUps wakeUps, int wakes) throws Exception {
    install(before);
    stage.somebodyListens();
    install(wakeUps);
    assertThat(wakesOfAListened()).isEqualTo(wakes);
  }

  @Test
  void wakeUps_areNotWhatAnInstallationWantedThatWasRolledBack() throws Exception {
    stage.somebodyListens();
    try (var connection = stage.dataSource.getConnection();
        var statement = connection.createStatement()) {
      connection.setAutoCommit(false);
      statement.execute(
          "select pgonce.install_channel('orders', 'EXACTLY_ONCE', 'published', wake_ups => 'NEVER')");
      connection.rollback();
    }
    assertThat(wakes()).isEqualTo(1);
  }

  private int wakesOfAListened() throws SQLException {
    stage.somebodyListens();
    return wakes();
  }

  /** How many wake-ups a commit makes. */
  private int wakes() throws SQLException {
    try (var hearing = stage.database.dataSource().getConnection();
        var statement = hearing.createStatement();
        var writer = stage.dataSource.getConnection()) {
      statement.execute("listen pgonce_orders");
      SingleWriters.store(writer, 1);
      return hearing.unwrap(PGConnection.class).getNotifications(100).length;
    }
  }

  /** A stopping listener must see one that has registered while it waited for the word. */
  @Test
  void s3_whoStopsWhileAnotherStartsDoesNotSayThatNobodyListens() throws Exception {
    try (var starting = stage.dataSource.getConnection();
        var start = starting.createStatement()) {
      stage.database.execute(listenerStarts("00000000-0000-0000-0000-000000000001"));
      starting.setAutoCommit(false);
      start.execute(listenerStarts("00000000-0000-0000-0000-000000000002"));
      var stops =
          CompletableFuture.runAsync(
              () -> {
                try {
                  stage.database.execute(
                      "select pgonce.listener_stops('00000000-0000-0000-0000-000000000001')");
                } catch (SQLException e) {
                  throw new IllegalStateException(e);
                }
              });
      stage.awaitSoon(
          () ->
              stage.database.queryLong(
                      "select count(*) from pg_locks where locktype = 'advisory' and not granted")
                  > 0);
      starting.commit();
      stops.join();
      assertThat(word()).isNotEqualTo(NOBODY_LISTENS);
    }
  }

  private static String listenerStarts(String id) {
    return "select pgonce.listener_starts('%s', 'test', (select array_agg(s.id) from pgonce.subscription s), 'test', 60000)"
        .formatted(id);
  }

  /** Its scan tells, and mends it. */
  @Test
  void s3_whereNobodyIsSaidToListenAListenerKnowsBetter() throws Exception {
    try (var pgonce = stage.pgonce()) {
      pgonce.listen(Stage.ORDERS, Stage::effect).start();
      stage.awaitGateIsClosed();
      stage.database.execute("select setval('pgonce.gate_orders', " + NOBODY_LISTENS + ")");
      stage.awaitGateIsClosed();
    }
  }

  @Test
  void h11_whereNobodyIsWokenTransactionsCanBePrepared() throws Exception {
    try (var server = TestServer.start(Map.of("max_prepared_transactions", "2"));
        var database = server.createDatabase();
        var itsStage = new Stage(database);
        var writer = itsStage.dataSource.getConnection();
        var statement = writer.createStatement()) {
      stage.close();
      stage = itsStage;
      install(WakeUps.NEVER);
      writer.setAutoCommit(false);
      SingleWriters.store(writer, 1);
      statement.execute("prepare transaction 'one'");
      writer.setAutoCommit(true);
      statement.execute("commit prepared 'one'");
      assertThat(stage.waiting()).isEqualTo(1);
    }
  }
}
