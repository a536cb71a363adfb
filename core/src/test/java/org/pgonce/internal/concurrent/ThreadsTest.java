package org.pgonce.internal.concurrent;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.IntPredicate;
import java.util.function.Supplier;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.Channel;
import org.pgonce.ListenOptions;
import org.pgonce.PgOnce;
import org.pgonce.Publisher;
import org.pgonce.Status.ChannelActivity;
import org.pgonce.internal.context.ListenerContext;
import org.pgonce.internal.handle.Registration;
import org.pgonce.internal.jdbc.PoolSettings;
import org.pgonce.internal.lifecycle.ListenSettings;
import org.pgonce.internal.lifecycle.Listener;
import org.pgonce.spi.ListenAddress;
import org.pgonce.spi.Observer;
import org.pgonce.spi.PayloadCodec;
import org.pgonce.stage.PgOnceInstalled;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.Seed;
import org.pgonce.testkit.TestDatabase;

/** That the machine has no thread to give delays work and loses none. */
@PgTest(PgOnceInstalled.class)
class ThreadsTest {

  private static final Duration SOON = Duration.ofSeconds(20);
  private static final Channel<Integer> NUMBERS = Channel.of("numbers", Integer.class);

  /** A log tells whose thread wrote a line. */
  @Test
  void aWorkerHasAName() throws Exception {
    try (var threads = new Threads()) {
      var name = new CompletableFuture<String>();
      threads.run(() -> name.complete(Thread.currentThread().getName()));
      assertThat(name.get(10, TimeUnit.SECONDS)).startsWith("pgonce-worker-");
    }
  }

  @Test
  void h45_workThatFindsNoThreadRunsAsSoonAsThereIsOne() throws Exception {
    try (var threads = new Threads(new StarvedExecutor(request -> request <= 4))) {
      var done = new CountDownLatch(2);
      threads.run(done::countDown);
      var unused = threads.runLater(Duration.ofMillis(1), done::countDown);
      assertThat(done.await(10, TimeUnit.SECONDS)).isTrue();
    }
  }

  @Test
  void h45_workThatFindsNoMemoryForTheWordsEitherRuns() throws Exception {
    Supplier<OutOfMemoryError> wordless =
        () ->
            new OutOfMemoryError() {
              @Override
              public String getMessage() {
                throw new OutOfMemoryError("so says the test");
              }
            };
    try (var threads = new Threads(new StarvedExecutor(request -> request <= 2, wordless))) {
      var done = new CountDownLatch(1);
      var unused = threads.runLater(Duration.ofMillis(1), done::countDown);
      assertThat(done.await(10, TimeUnit.SECONDS)).isTrue();
    }
  }

  @Test
  void h45_theScanOutlivesAThreadThatItDidNotGet(TestDatabase database) throws Exception {
    // The scan at the start runs; every other request for a while is refused, its next ones too.
    handlesAll(database, request -> request > 1 && request < 12);
  }

  @Tag("all")
  @Test
  void h45_aShortageOfThreadsLosesNeitherWorkNorPlaces(TestDatabase database) throws Exception {
    var random = Seed.random();
    handlesAll(database, request -> random.nextInt(3) == 0);
  }

  private static void handlesAll(TestDatabase database, IntPredicate refused) throws Exception {
    database.execute("create table effect (n int)");
    try (var pool = database.pooled(6)) {
      PgOnce.using(pool).install(NUMBERS);
      var context =
          new ListenerContext(
              pool,
              new PoolSettings(),
              PayloadCodec.standard(),
              Publisher.standard(),
              Observer.NONE,
              List.of(),
              new Threads(new StarvedExecutor(refused)),
              "starved");
      var settings =
          new ListenSettings(
              List.of(),
              // Without a source this test only polls.
              () -> List.of(new ListenAddress("nowhere", 1, "none", null, null, Map.of())),
              false,
              Duration.ofMillis(50),
              Duration.ofSeconds(30),
              "starved");
      var subscribed =
          new Registration<>(
              NUMBERS,
              "default",
              (number, tx) -> tx.update("insert into effect values (?)", number.payload()),
              ListenOptions.DEFAULT.withConcurrency(2));
      var listener = new Listener(context, settings, List.of(subscribed));
      listener.start();
      for (var n = 1; n <= 10; n++) {
        try (var connection = pool.getConnection()) {
          Publisher.standard().publish(connection, NUMBERS, n);
        }
        var expected = n;
        await()
            .atMost(SOON)
            .pollInterval(Duration.ofMillis(20))
            .until(() -> database.queryLong("select count(distinct n) from effect") == expected);
      }
      await()
          .atMost(SOON)
          .until(
              () ->
                  listener.status().channels().stream().mapToInt(ChannelActivity::working).sum()
                      == 0);
      assertThat(listener.stop(Duration.ofSeconds(10))).isTrue();
      assertThat(database.queryLong("select count(*) from effect")).isEqualTo(10);
    }
  }
}
