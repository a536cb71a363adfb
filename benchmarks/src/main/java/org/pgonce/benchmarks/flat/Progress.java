package org.pgonce.benchmarks.flat;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLongArray;

/** When each slice of the work was begun with. Safe for use by several threads. */
final class Progress {

  private final int slice;
  private final AtomicInteger started = new AtomicInteger();
  private final AtomicLongArray ends;

  /**
   * One that has yet to be told of handlers.
   *
   * @param slices of the same length; what comes after them is not counted
   */
  Progress(int count, int slices) {
    slice = count / slices;
    ends = new AtomicLongArray(slices + 1);
  }

  void started(long id) {
    var before = started.getAndIncrement();
    if (before % slice == 0 && before / slice < ends.length()) {
      ends.set(before / slice, System.nanoTime());
    }
  }

  int count() {
    return started.get();
  }

  boolean isComplete() {
    return ends.get(ends.length() - 1) != 0;
  }

  /** How many handlers started per second in each slice that came to its end. */
  List<Double> perSecond() {
    var rates = new ArrayList<Double>();
    for (var i = 1; i < ends.length() && ends.get(i) != 0; i++) {
      rates.add(slice * 1e9 / (ends.get(i) - ends.get(i - 1)));
    }
    return rates;
  }
}
