package org.pgonce.testkit;

import java.sql.SQLException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Predicate;
import javax.sql.DataSource;

/**
 * One statement of a data source takes a second, and tells whether a stop waited for it or
 * interrupted it: on JDK 21 and later an interrupted virtual thread closes the socket that it reads
 * from.
 */
public final class SlowStep {

  // Less than the 2 s that a stop waits.
  private static final long MILLIS = 1_000;
  private static final long BOUND_SECONDS = 45;

  private final CountDownLatch begun = new CountDownLatch(1);
  private final CountDownLatch never = new CountDownLatch(1);
  private final CountDownLatch ended = new CountDownLatch(1);
  private final AtomicBoolean interrupted = new AtomicBoolean();

  /** The first statement that it is takes so long. */
  public DataSource in(DataSource inner, Predicate<String> isIt) {
    return TappedSource.over(
        inner,
        (sql, real) -> {
          if (begun.getCount() > 0 && isIt.test(sql)) {
            begun.countDown();
            take();
          }
          return sql;
        });
  }

  private void take() throws SQLException {
    try {
      var unused = never.await(MILLIS, TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      interrupted.set(true);
      throw new SQLException("interrupted", e);
    } finally {
      ended.countDown();
    }
  }

  /** Whether it begins within 45 s. */
  public boolean begins() throws InterruptedException {
    return begun.await(BOUND_SECONDS, TimeUnit.SECONDS);
  }

  /** Whether it ends within 45 s without having been interrupted. */
  public boolean endsByItself() throws InterruptedException {
    return ended.await(BOUND_SECONDS, TimeUnit.SECONDS) && !interrupted.get();
  }
}
