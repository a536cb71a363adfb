package org.pgonce.micrometer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;
import static org.pgonce.micrometer.Stage.OFTEN;
import static org.pgonce.micrometer.Stage.value;

import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.config.MeterFilter;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.Channel;
import org.pgonce.PgOnce;
import org.pgonce.PublishOptions;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TappedSource;
import org.pgonce.testkit.TestDatabase;

/** What the gauges say of a real database, and when they say nothing. */
@PgTest(PgOnceInstalled.class)
class PgOnceMetricsTest {

  private static final Channel<String> MAILS = Channel.of("mails", String.class);
  private static final Channel<String> ORDERS = Channel.of("orders", String.class);

  private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
  private Stage stage;
  private PgOnce pgonce;

  @BeforeEach
  void setUp(TestDatabase database) {
    stage = new Stage(database);
    pgonce = stage.open(stage.builder().build());
    pgonce.install(MAILS);
  }

  @AfterEach
  void tearDown() throws Exception {
    stage.close();
  }

  private PgOnceMetrics metrics() {
    return metrics(OFTEN);
  }

  private PgOnceMetrics metrics(Duration interval) {
    var metrics = stage.open(PgOnceMetrics.of(pgonce, stage.dataSource, interval));
    metrics.bindTo(registry);
    return metrics;
  }

  private void publish(Channel<String> channel, String payload, PublishOptions options)
      throws Exception {
    try (var connection = stage.dataSource.getConnection()) {
      pgonce.publisher().publish(connection, channel, payload, options);
    }
  }

  private void awaitGauge(double expected, String name) {
    stage.awaitSoon(expected, registry, name, "channel", "mails", "subscription", "default");
  }

  @Test
  void example_gaugesOfWhatWaits() throws Exception {
    try (var metrics = PgOnceMetrics.of(pgonce, stage.dataSource, Duration.ofMillis(100))) {
      metrics.bindTo(registry);
      publish(MAILS, "now", PublishOptions.DEFAULT);
      publish(MAILS, "later", PublishOptions.DEFAULT.withDelay(Duration.ofHours(1)));
      awaitGauge(1, "pgonce.backlog");
      awaitGauge(1, "pgonce.scheduled");
      awaitGauge(0, "pgonce.listeners");
      stage.awaitSoon(() -> value(registry, "pgonce.oldest.age") > 0);
    }
  }

  @Test
  void countsRetriesDeadLettersAndPauses() throws Exception {
    pgonce.listen(
        MAILS,
        Stage.QUICK,
        (mail, tx) -> {
          throw new IllegalStateException("no");
        });
    pgonce.start();
    metrics();
    publish(MAILS, "fails twice", PublishOptions.DEFAULT);
    awaitGauge(1, "pgonce.dead.letters");
    awaitGauge(1, "pgonce.listeners");
    awaitGauge(0, "pgonce.paused");
    stage.database.execute("select pgonce.pause('mails', 'down', null)");
    awaitGauge(1, "pgonce.paused");
    stage.database.execute(
        "insert into pgonce.scheduled (subscription_id, id, due_at, attempts, created_at, payload) select id, 1, now() + interval '1 hour', 1, now(), '1' from pgonce.subscription");
    awaitGauge(1, "pgonce.retrying");
  }

  /** It would end the looks for good, and no log would say so. */
  @Test
  void looksOnAfterAnError() {
    var looks = new AtomicInteger();
    var failing =
        TappedSource.over(
            stage.dataSource,
            (sql, real) -> {
              if (sql.contains("pgonce.channel_gauges") && looks.incrementAndGet() == 1) {
                throw new OutOfMemoryError("of a moment");
              }
              return sql;
            });
    stage.open(PgOnceMetrics.of(pgonce, failing, OFTEN)).bindTo(registry);
    awaitGauge(0, "pgonce.backlog");
  }

  @Test
  void bindsToNothingOnceItIsClosed() {
    var closed = PgOnceMetrics.of(pgonce, stage.dataSource, OFTEN);
    closed.close();
    assertThatThrownBy(() -> closed.bindTo(registry))
        .isInstanceOf(RejectedExecutionException.class)
        .hasMessageContaining("make new ones");
    assertThat(registry.getMeters()).isEmpty();
  }

  @Test
  void countsToAHundredThousandAndNoFurther() throws Exception {
    stage.database.execute(
        "insert into pgonce.notification (subscription_id, payload) select s.id, '1' from pgonce.subscription s, generate_series(1, 100500)");
    stage.database.execute(
        "insert into pgonce.dead_letter (subscription_id, id, attempts, created_at, reason, error, payload) select s.id, n, 1, now(), 'REJECTED', '', '1' from pgonce.subscription s, generate_series(1, 100500) n");
    metrics();
    awaitGauge(100_000, "pgonce.backlog");
    awaitGauge(100_000, "pgonce.dead.letters");
  }

  @Test
  void saysWhatThisProcessDoes() throws Exception {
    var free = new CountDownLatch(1);
    pgonce.listen(MAILS, Stage.QUICK.withConcurrency(3), (mail, tx) -> free.await());
    metrics();
    assertThat(value(registry, "pgonce.listening")).isZero();
    pgonce.start();
    publish(MAILS, "waits", PublishOptions.DEFAULT);
    stage.awaitSoon(1, registry, "pgonce.listening");
    awaitGauge(3, "pgonce.workers.max");
    awaitGauge(1, "pgonce.workers.busy");
    awaitGauge(0, "pgonce.outdated");
    assertThat(value(registry, "pgonce.reconnects")).isZero();
    stage.database.execute(
        "select pg_terminate_backend(pid) from pg_stat_activity where query ilike 'listen%' and datname = current_database()");
    stage.awaitSoon(1, registry, "pgonce.reconnects");
    free.countDown();
  }

  @Test
  void aChannelThatComesOrGoesHasItsGaugesThen() throws Exception {
    metrics();
    awaitGauge(0, "pgonce.backlog");
    pgonce.install(ORDERS);
    stage.awaitSoon(0, registry, "pgonce.backlog", "channel", "orders");
    stage.database.execute("select pgonce.drop_channel('mails', 'gone')");
    awaitGauge(Double.NaN, "pgonce.backlog");
    assertThat(registry.find("pgonce.backlog").tag("channel", "mails").meters()).isEmpty();
  }

  @Test
  @Tag("all")
  void withoutAnswerTheGaugesAreNaN() throws Exception {
    // The last answer would hold for 16 s.
    metrics(Duration.ofSeconds(2));
    awaitGauge(0, "pgonce.backlog");
    assertThat(value(registry, "pgonce.notify.queue.usage")).isZero();
    stage.database.execute("alter view pgonce.channel_gauges rename to taken_away");
    await()
        .atMost(Duration.ofSeconds(14))
        .until(() -> Double.isNaN(value(registry, "pgonce.backlog")));
    assertThat(registry.find("pgonce.backlog").tag("channel", "mails").meters()).hasSize(1);
    assertThat(value(registry, "pgonce.notify.queue.usage")).isNaN();
    stage.database.execute("alter view pgonce.taken_away rename to channel_gauges");
    awaitGauge(0, "pgonce.backlog");
  }

  @Tag("all")
  @Test
  void aLookThatIsHeldUpEnds() throws Exception {
    metrics();
    awaitGauge(0, "pgonce.backlog");
    try (var blocker = stage.dataSource.getConnection();
        var statement = blocker.createStatement()) {
      blocker.setAutoCommit(false);
      statement.execute("lock table pgonce.dead_letter");
      awaitGauge(Double.NaN, "pgonce.backlog"); // by the bound on the query
      blocker.rollback();
    }
    awaitGauge(0, "pgonce.backlog");
  }

  @Test
  void aRegistryThatRefusesAGaugeHoldsUpNoOther() throws Exception {
    var refuses = new SimpleMeterRegistry();
    refuses
        .config()
        .meterFilter(
            new MeterFilter() {
              @Override
              public Meter.Id map(Meter.Id id) {
                if (id.getTag("channel") != null) {
                  throw new IllegalArgumentException("no tags here");
                }
                return id;
              }
            });
    var metrics = stage.open(PgOnceMetrics.of(pgonce, stage.dataSource, OFTEN));
    metrics.bindTo(refuses);
    metrics.bindTo(registry);
    awaitGauge(0, "pgonce.backlog");
    publish(MAILS, "now", PublishOptions.DEFAULT);
    awaitGauge(1, "pgonce.backlog"); // it still looks
  }

  @Tag("all")
  @Test
  void registriesThatAreBoundAtOnceAllHaveTheirGauges() throws Exception {
    for (var round = 0; round < 100; round++) {
      var together = new AtomicInteger(2);
      var registries = List.of(meeting(together), meeting(together));
      try (var metrics = PgOnceMetrics.of(pgonce, stage.dataSource, Duration.ofHours(1))) {
        for (var bound :
            registries.stream()
                .map(
                    one ->
                        CompletableFuture.runAsync(
                            () -> metrics.bindTo(one), task -> new Thread(task).start()))
                .toList()) {
          bound.get(10, TimeUnit.SECONDS);
        }
        for (var one : registries) {
          stage.awaitSoon(0, one, "pgonce.backlog", "channel", "mails");
        }
      }
    }
  }

  /** Lets the threads go on together, right before the gauges of subscriptions are bound. */
  private static SimpleMeterRegistry meeting(AtomicInteger together) {
    var registry = new SimpleMeterRegistry();
    registry
        .config()
        .onMeterAdded(
            meter -> {
              if (meter.getId().getName().equals("pgonce.reconnects")) {
                together.decrementAndGet();
                while (together.get() > 0) {
                  Thread.onSpinWait(); // a wake-up would take longer than what is raced for
                }
              }
            });
    return registry;
  }

  @Test
  void closeEndsTheThread() {
    var metrics = metrics();
    awaitGauge(0, "pgonce.backlog");
    metrics.close();
    stage.awaitSoon(
        () ->
            Thread.getAllStackTraces().keySet().stream()
                .noneMatch(thread -> thread.getName().equals("pgonce-metrics")));
    assertThat(registry.getMeters()).isEmpty();
  }

  @Test
  void aListenerThatIsMadeAfterAnotherHasMetersOfItsOwn() {
    pgonce.listen(MAILS, (mail, tx) -> {});
    pgonce.start();
    var first = metrics();
    awaitGauge(1, "pgonce.listeners");
    stage.awaitSoon(1, registry, "pgonce.listening");
    first.close();
    pgonce.close();
    pgonce = stage.open(stage.builder().build());
    pgonce.listen(MAILS, Stage.QUICK.withConcurrency(3), (mail, tx) -> {});
    metrics();
    pgonce.start();
    stage.awaitSoon(1, registry, "pgonce.listening");
    stage.awaitSoon(0, registry, "pgonce.notify.queue.usage");
    awaitGauge(1, "pgonce.listeners");
    awaitGauge(3, "pgonce.workers.max");
  }

  @Test
  void aListenersRoleMayLook() throws Exception {
    var login = stage.database.loginRole("metrics", "pgonce_listener");
    var metrics = stage.open(PgOnceMetrics.of(pgonce, login.dataSource(), OFTEN));
    metrics.bindTo(registry);
    awaitGauge(0, "pgonce.backlog");
  }

  @Test
  void anIntervalOutsideItsBoundsIsRefused() {
    assertThatThrownBy(() -> PgOnceMetrics.of(pgonce, stage.dataSource, Duration.ofMillis(99)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("interval PT0.099S is not between 100 ms and 1 hour");
  }
}
