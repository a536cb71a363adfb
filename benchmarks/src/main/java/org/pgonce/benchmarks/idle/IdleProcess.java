package org.pgonce.benchmarks.idle;

import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.stream.IntStream;
import org.pgonce.Channel;
import org.pgonce.PgOnce;
import org.pgonce.benchmarks.work.Address;
import org.pgonce.testkit.ParentWatch;

/** A process of its own that listens to many channels, on which nothing comes. */
public final class IdleProcess {

  static final String READY = "ready";
  static final String TOLD = "threads before, threads, KiB: ";

  record Nothing(long id) {}

  private IdleProcess() {}

  /** Arguments: how many channels, and how many milliseconds it idles before it tells. */
  public static void main(String[] arguments) throws Exception {
    ParentWatch.exitWhenParentDies();
    var channels = channels(Integer.parseInt(arguments[0]));
    var time = Duration.ofMillis(Long.parseLong(arguments[1]));
    try (var pool = Address.pool(10)) {
      // What listens later begins from here: JVM, driver and pool are the application's.
      pool.getConnection().close();
      var before = threads();
      try (var pgonce = PgOnce.using(pool)) {
        pgonce.install(channels);
        for (var channel : channels) {
          pgonce.listen(channel, (nothing, tx) -> {});
        }
        pgonce.start();
        System.out.println(READY);
        Thread.sleep(time.toMillis());
        System.out.println(TOLD + before + " " + threads() + " " + heapKib());
        Thread.sleep(Duration.ofMinutes(10).toMillis()); // until the parent ends it
      }
    }
  }

  @SuppressWarnings({"unchecked", "rawtypes"})
  private static Channel<Nothing>[] channels(int count) {
    return IntStream.range(0, count)
        .mapToObj(i -> Channel.of("idle_" + i, Nothing.class))
        .toArray(Channel[]::new);
  }

  private static int threads() {
    return ManagementFactory.getThreadMXBean().getThreadCount();
  }

  /** After a collection. */
  private static long heapKib() {
    System.gc();
    System.gc();
    return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed() / 1_024;
  }
}
