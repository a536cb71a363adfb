package org.pgonce.crash;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.pgonce.crash.CrashEffects.BOUND;
import static org.pgonce.crash.CrashEffects.LONG_LEASE;
import static org.pgonce.crash.CrashEffects.OPTIONS;

import java.sql.SQLException;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import org.pgonce.Channel;
import org.pgonce.Handler;
import org.pgonce.ListenOptions;
import org.pgonce.Mode;
import org.pgonce.PgOnce;
import org.pgonce.PgOnceBuilder;
import org.pgonce.Publisher;
import org.pgonce.spi.ListenAddress;
import org.pgonce.stage.Stage;
import org.pgonce.stage.Stage.Order;
import org.pgonce.testkit.FaultProxy;
import org.pgonce.testkit.JvmProcess;
import org.pgonce.testkit.TestDatabase;

/** What the cells of the crash matrix stand on: a channel of one mode, and what came of it. */
final class CrashStage implements AutoCloseable {

  private final TestDatabase database;
  private final Mode mode;
  private final Channel<Order> channel;
  private final Stage stage;

  CrashStage(TestDatabase database, Mode mode) throws SQLException {
    this.database = database;
    this.mode = mode;
    this.channel = CrashEffects.channel(mode);
    this.stage = new Stage(database);
    database.execute(
        "create table outside (id bigint, attempt int, by text); create table gate (); create table counter as select 0 as n");
    PgOnce.using(stage.dataSource).install(channel);
  }

  Mode mode() {
    return mode;
  }

  /** Publishes one, and commits. */
  void publish(long id) throws SQLException {
    try (var connection = stage.dataSource.getConnection()) {
      Publisher.standard().publish(connection, channel, new Order(id, "item"));
    }
  }

  /** A listener of this process, with effects of both kinds; it loses no lease. */
  PgOnce other() {
    return listen(
        PgOnce.builder(stage.dataSource),
        OPTIONS.withLease(LONG_LEASE),
        effects("other", true)::handle);
  }

  /** A listener of this process that hears nothing and looks by itself. */
  PgOnce polling() {
    return listen(
        PgOnce.builder(stage.dataSource).wakeUpBy(),
        OPTIONS.withLease(LONG_LEASE),
        effects("other", true)::handle);
  }

  /** A listener of this process whose pool, and nothing else, goes by way of the proxy. */
  PgOnce through(FaultProxy proxy, ListenOptions options, boolean inDatabase) {
    return through(proxy, options, effects("first", inDatabase)::handle);
  }

  /**
   * The same with effects of both kinds, and a handler that then cuts itself off, before its time
   * can be over, and waits at the gate.
   */
  PgOnce toTheGateThrough(FaultProxy proxy, ListenOptions options, CountDownLatch atTheGate) {
    var effects = effects("first", true);
    return through(
        proxy,
        options,
        (order, tx) -> {
          effects.handle(order, tx);
          if (atTheGate.getCount() > 0) {
            proxy.silence();
            atTheGate.countDown();
          }
          effects.awaitGate();
        });
  }

  private PgOnce through(FaultProxy proxy, ListenOptions options, Handler<Order> handler) {
    var pool = database.login().through(proxy).pooled(4);
    var address =
        new ListenAddress(
            database.host(), database.port(), database.name(), database.user(), null, Map.of());
    return listen(PgOnce.builder(pool).listenAddress(address), options, handler);
  }

  private PgOnce listen(PgOnceBuilder builder, ListenOptions options, Handler<Order> handler) {
    return stage.pgonce(builder).listen(channel, options, handler).start();
  }

  private CrashEffects effects(String by, boolean inDatabase) {
    return new CrashEffects(database.dataSource(), by, inDatabase);
  }

  /** A process that has come to the point; the caller closes it. */
  JvmProcess victimAt(CrashVictim.Point point) throws Exception {
    return victimAt(point, BOUND);
  }

  /** The same with a bound on its handler. */
  JvmProcess victimAt(CrashVictim.Point point, Duration timeout) throws Exception {
    var victim = CrashVictim.start(database, mode, point, database.port(), timeout);
    victim.awaitLine("started", BOUND);
    publish(1);
    victim.awaitLine(point.line, BOUND);
    return victim;
  }

  /** After a crash of the server: the pool would hand out what it used a moment ago unseen. */
  void forgetConnections() {
    stage.dataSource.getHikariPoolMXBean().softEvictConnections();
  }

  /** A process whose pool goes by way of the proxy; nothing is published to it yet. */
  JvmProcess victimThrough(FaultProxy proxy) throws Exception {
    var victim = CrashVictim.start(database, mode, CrashVictim.Point.NONE, proxy.port(), BOUND);
    victim.awaitLine("started", BOUND);
    return victim;
  }

  /** The listeners of this process end. */
  void leave() {
    stage.close();
  }

  /** Whoever waits in a handler goes on. */
  void openGate() throws SQLException {
    database.execute("insert into gate default values");
  }

  /** Waits until nothing is stored any more, but for dead letters. */
  void awaitEnd() {
    await("the end of what was published").atMost(BOUND).until(() -> stage.waiting() == 0);
  }

  void awaitOutside(long id) {
    await("order " + id).atMost(BOUND).until(() -> outside(id) > 0);
  }

  private long outside(long id) throws SQLException {
    return database.queryLong("select count(*) from outside where id = " + id);
  }

  /** How often order 1 has had its effect outside, and in the database. */
  void assertEffects(int outside, int inDatabase) throws SQLException {
    assertThat(outside(1)).as("effects outside").isEqualTo(outside);
    assertThat(database.queryLong("select count(*) from effect where id = 1"))
        .as("effects in the database")
        .isEqualTo(inDatabase);
    assertThat(database.queryLong("select n - (select count(*) from effect) from counter"))
        .as("what the counter has more than effects")
        .isZero();
  }

  void assertStored(int notifications) throws SQLException {
    assertThat(stage.waiting()).as("notifications that wait").isEqualTo(notifications);
  }

  /** The dead letters are these, by their reasons. */
  void assertListed(String... reasons) throws SQLException {
    assertThat(
            database.queryString(
                "select coalesce(string_agg(reason, ' '), '') from pgonce.dead_letter"))
        .as("dead letters")
        .isEqualTo(String.join(" ", reasons));
  }

  @Override
  public void close() {
    stage.close();
  }
}
