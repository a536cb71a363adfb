package org.pgonce.guards;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.pgonce.guards.GuardTest.CHARGE;
import static org.pgonce.guards.GuardTest.PAYMENT;

import java.io.IOException;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicBoolean;
import javax.sql.DataSource;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.guards.GuardTest.Receipt;
import org.pgonce.testkit.FaultProxy;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;

/** Guards where a commit is cut, an outcome cannot be stored, or a thread is interrupted. */
@PgTest(GuardsInstalled.class)
@Tag("drivers")
class GuardFaultTest {

  private TestDatabase database;
  private Outside bank;
  private Guards guards;

  @BeforeEach
  void setUp(TestDatabase database) throws Exception {
    this.database = database;
    bank = new Outside();
    var pool = database.pooled(8);
    guards = Guards.using(pool);
  }

  @AfterEach
  void tearDown() {
    bank.close();
  }

  private Receipt charge() throws Exception {
    return new Receipt(bank.call("charge"));
  }

  private GuardResult<Receipt> pay(String key) {
    return guards.once(PAYMENT, key, CHARGE, this::charge);
  }

  @Test
  void s6_anInterruptedCallIsRecordedAndTheInterruptIsGivenBack() {
    var result =
        guards.once(
            PAYMENT,
            "order-1",
            CHARGE,
            () -> {
              Thread.currentThread().interrupt();
              return new Receipt("done all the same");
            });
    assertThat(Thread.interrupted()).isTrue();
    assertThat(result.orElseThrow()).isEqualTo(new Receipt("done all the same"));
    result =
        guards.once(
            PAYMENT,
            "order-2",
            CHARGE,
            () -> {
              throw new InterruptedException("stop");
            });
    assertThat(Thread.interrupted()).isTrue();
    assertThat(result).isInstanceOf(GuardResult.Unknown.class);
    assertThat(pay("order-1").orElseThrow()).isEqualTo(new Receipt("done all the same"));
  }

  @Test
  void s6_anInterruptDoesNotKeepTheOutcomeFromBeingRecordedWhereThePoolMakesItWait()
      throws Exception {
    var pool = database.pooled(1);
    var small = Guards.using(pool);
    var threads = Executors.newSingleThreadExecutor();
    try {
      var result =
          small.once(
              PAYMENT,
              "order-1",
              CHARGE,
              () -> {
                var held = pool.getConnection();
                var unused =
                    threads.submit(
                        () -> {
                          Awaitility.await()
                              .atMost(Duration.ofSeconds(15))
                              .until(
                                  () ->
                                      pool.getHikariPoolMXBean().getThreadsAwaitingConnection()
                                          == 1);
                          held.close();
                          return true;
                        });
                var receipt = charge();
                Thread.currentThread().interrupt();
                return receipt;
              });
      assertThat(Thread.interrupted()).isTrue();
      assertThat(result.orElseThrow()).isEqualTo(new Receipt("charge 1"));
    } finally {
      threads.shutdownNow();
    }
    assertThat(pay("order-1").orElseThrow()).isEqualTo(new Receipt("charge 1"));
  }

  @Test
  void h50_aCommitOfTheGuardThatIsCutIsFoundByItsTokenAndTheCallIsMadeOnce() throws Exception {
    for (var cut : List.of("before", "after")) {
      try (var proxy = FaultProxy.to(database)) {
        var remote = Guards.using(database.login().through(proxy).unpooled());
        var begun = proxy.after("pgonce_guards.guard_begin");
        var trap =
            cut.equals("before")
                ? begun.cutBeforeForwarding("COMMIT")
                : begun.cutAfterForwarding("COMMIT");
        var result = resultOrNotMade(remote, "begin-" + cut);
        assertThat(trap.isSprung()).isTrue();
        assertThat(result).as(cut).isEqualTo("called");
      }
    }
    assertThat(bank.calls("charge")).isEqualTo(2);
  }

  @Test
  void h50_aCommitOfTheOutcomeThatIsCutIsToldAgain() throws Exception {
    for (var cut : List.of("before", "after")) {
      try (var proxy = FaultProxy.to(database)) {
        var remote = Guards.using(database.login().through(proxy).unpooled());
        var finished = proxy.after("pgonce_guards.guard_finish");
        var trap =
            cut.equals("before")
                ? finished.cutBeforeForwarding("COMMIT")
                : finished.cutAfterForwarding("COMMIT");
        var result = remote.once(PAYMENT, "end-" + cut, CHARGE, this::charge);
        assertThat(trap.isSprung()).isTrue();
        assertThat(pay("end-" + cut).orElseThrow()).isEqualTo(result.orElseThrow());
      }
    }
    assertThat(bank.calls("charge")).isEqualTo(2);
    assertThat(database.queryLong("select count(*) from pgonce_guards.guard_history")).isZero();
  }

  private String resultOrNotMade(Guards remote, String key) {
    var before = bank.calls("charge");
    remote.once(PAYMENT, key, CHARGE, this::charge).orElseThrow();
    assertThat(bank.calls("charge")).isEqualTo(before + 1);
    return "called";
  }

  @Test
  void h51_anOutcomeThatCannotBeStoredIsReportedWithTheResponse() throws Exception {
    try (var proxy = FaultProxy.to(database)) {
      var remote = Guards.using(database.login().through(proxy).unpooled());
      assertThatThrownBy(
              () ->
                  remote.once(
                      PAYMENT,
                      "order-1",
                      CHARGE,
                      () -> {
                        var receipt = charge();
                        proxy.refuseConnections();
                        proxy.cutAll();
                        return receipt;
                      }))
          .isInstanceOfSatisfying(
              OutcomeNotRecordedException.class,
              e -> assertThat(e.response()).contains(new Receipt("charge 1")))
          .hasMessageContaining("could not be recorded");
    }
    assertThat(pay("order-1")).isInstanceOf(GuardResult.InProgress.class);
    database.execute("update pgonce_guards.guard set unknown_at = clock_timestamp()");
    assertThat(pay("order-1")).isInstanceOf(GuardResult.Unknown.class);
    assertThat(bank.calls("charge")).isEqualTo(1);
  }

  /** As one that routes by what the thread has, which the call has taken away. */
  @Test
  void h51_whateverTheDataSourceThrowsTheOutcomeIsReportedWithTheResponse() {
    var open = new AtomicBoolean(true);
    var routing = Guards.using(whileIsTrue(open, database.unpooled()));
    assertThatThrownBy(
            () ->
                routing.once(
                    PAYMENT,
                    "order-1",
                    CHARGE,
                    () -> {
                      open.set(false);
                      return charge();
                    }))
        .isInstanceOfSatisfying(
            OutcomeNotRecordedException.class,
            e -> assertThat(e.response()).contains(new Receipt("charge 1")))
        .hasMessageContaining("could not be recorded")
        .hasMessageContaining("no target for this thread");
    open.set(true);
    var reset = new IOException("reset");
    assertThatThrownBy(
            () ->
                routing.once(
                    PAYMENT,
                    "order-2",
                    CHARGE,
                    () -> {
                      open.set(false);
                      throw reset;
                    }))
        .isInstanceOf(OutcomeNotRecordedException.class)
        .hasSuppressedException(reset);
  }

  /** The database is back before the run is given up: the response is not lost as a cause. */
  @Test
  void h51_theOutcomeOfAStepThatIsNotRecordedIsReportedWithTheResponse() {
    var open = new AtomicBoolean(true);
    var routing = Guards.using(whileIsTrue(open, database.unpooled()));
    assertThatThrownBy(
            () ->
                routing.run(
                    PAYMENT,
                    "order-1",
                    CHARGE,
                    steps -> {
                      try {
                        return steps.once(
                            "charge",
                            Receipt.class,
                            () -> {
                              open.set(false);
                              return charge();
                            });
                      } finally {
                        open.set(true);
                      }
                    }))
        .isInstanceOfSatisfying(
            OutcomeNotRecordedException.class,
            e -> assertThat(e.response()).contains(new Receipt("charge 1")));
    assertThat(bank.calls("charge")).isEqualTo(1);
  }

  private static DataSource whileIsTrue(AtomicBoolean open, DataSource real) {
    return (DataSource)
        Proxy.newProxyInstance(
            GuardFaultTest.class.getClassLoader(),
            new Class<?>[] {DataSource.class},
            (proxy, method, arguments) -> {
              if (!open.get()) {
                throw new IllegalStateException("no target for this thread");
              }
              return method.invoke(real, arguments);
            });
  }
}
