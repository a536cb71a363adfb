package org.pgonce.internal.concurrent;

import java.util.List;
import java.util.concurrent.AbstractExecutorService;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntPredicate;
import java.util.function.Supplier;

/** A thread each, as on a machine that at times has none to give. */
final class StarvedExecutor extends AbstractExecutorService {

  private final ExecutorService inner = Executors.newCachedThreadPool();
  private final AtomicInteger asked = new AtomicInteger();
  private final IntPredicate refused;
  private final Supplier<? extends Error> shortage;

  /**
   * @param refused whether the n-th request for a thread, from 1, is refused
   */
  StarvedExecutor(IntPredicate refused) {
    this(refused, () -> new OutOfMemoryError("unable to create native thread (so says the test)"));
  }

  StarvedExecutor(IntPredicate refused, Supplier<? extends Error> shortage) {
    this.refused = refused;
    this.shortage = shortage;
  }

  @Override
  public void execute(Runnable work) {
    if (refused.test(asked.incrementAndGet())) {
      throw shortage.get();
    }
    inner.execute(work);
  }

  @Override
  public void shutdown() {
    inner.shutdown();
  }

  @Override
  public List<Runnable> shutdownNow() {
    return inner.shutdownNow();
  }

  @Override
  public boolean isShutdown() {
    return inner.isShutdown();
  }

  @Override
  public boolean isTerminated() {
    return inner.isTerminated();
  }

  @Override
  public boolean awaitTermination(long timeout, TimeUnit unit) throws InterruptedException {
    return inner.awaitTermination(timeout, unit);
  }
}
