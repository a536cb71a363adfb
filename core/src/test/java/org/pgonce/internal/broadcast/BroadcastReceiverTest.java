package org.pgonce.internal.broadcast;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.pgonce.Channel;
import org.pgonce.ListenOptions;
import org.pgonce.Mode;
import org.pgonce.Publisher;
import org.pgonce.internal.concurrent.Threads;
import org.pgonce.internal.context.ListenerContext;
import org.pgonce.internal.handle.Registration;
import org.pgonce.internal.jdbc.PoolSettings;
import org.pgonce.spi.Event;
import org.pgonce.spi.PayloadCodec;
import org.postgresql.ds.PGSimpleDataSource;

/** What waits for the handlers of a BROADCAST. None of these uses the database. */
class BroadcastReceiverTest {

  private static final Duration SOON = Duration.ofSeconds(20);
  private static final Channel<String> NEWS = Channel.of("news", String.class, Mode.BROADCAST);
  private static final int MEBI = 1024 * 1024;

  private final List<String> dropped = new CopyOnWriteArrayList<>();
  private final AtomicInteger handled = new AtomicInteger();
  private final CountDownLatch goOn = new CountDownLatch(1);

  private BroadcastReceiver receiver(Threads threads) {
    var context =
        new ListenerContext(
            new PGSimpleDataSource(),
            new PoolSettings(),
            PayloadCodec.standard(),
            Publisher.standard(),
            event -> {
              if (event instanceof Event.BroadcastDropped said) {
                dropped.add(said.reason());
              }
            },
            List.of(),
            threads,
            "test");
    return new BroadcastReceiver(
        new Registration<>(
            NEWS,
            "default",
            (news, tx) -> {
              goOn.await();
              handled.incrementAndGet();
            },
            ListenOptions.DEFAULT.withConcurrency(1)),
        context);
  }

  @Test
  void h31_largeBroadcastsThatWaitAreBoundedInSize() {
    try (var threads = new Threads()) {
      var receiver = receiver(threads);
      var largest = "\"" + "a".repeat(MEBI - 2) + "\"";
      receiver.heard("1/1/1:" + largest);
      await().atMost(SOON).until(() -> receiver.activity().working() == 1);
      await().atMost(SOON).until(() -> receiver.activity().claims() == 1); // it does not wait
      for (var id = 2; id <= 70; id++) {
        receiver.heard(id + "/1/1:" + largest);
      }
      assertThat(dropped).hasSize(69 - 64).allMatch(reason -> reason.contains("64 Mi characters"));
      goOn.countDown();
      await().atMost(SOON).until(() -> handled.get() == 65);
      receiver.heard("71/1/1:" + largest);
      await().atMost(SOON).until(() -> handled.get() == 66);
    }
  }

  @Test
  void h31_broadcastsThatWaitAreBoundedInNumber() {
    try (var threads = new Threads()) {
      var receiver = receiver(threads);
      for (var id = 1; id <= 10_010; id++) {
        receiver.heard(id + "/1/1:\"a\"");
      }
      // One may have gone to its handler.
      assertThat(dropped)
          .hasSizeBetween(9, 10)
          .allMatch(reason -> reason.contains("10000 messages"));
      goOn.countDown();
      await().atMost(SOON).until(() -> handled.get() == 10_010 - dropped.size());
    }
  }
}
