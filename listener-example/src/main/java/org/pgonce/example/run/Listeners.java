package org.pgonce.example.run;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A number of places, each with a listener process in it that is replaced when it is killed. The
 * process in place 2 is listener-2.1, its successor listener-2.2. Safe for use by several threads.
 */
public final class Listeners implements AutoCloseable {

  private static final Duration START_BOUND = Duration.ofSeconds(90);
  private static final Duration POLL = Duration.ofMillis(20);
  private static final long STOP_SECONDS = 30;

  private final ListenerProcess.Kind kind;
  private final Console console;
  private final ReentrantLock lock = new ReentrantLock();
  private final List<ListenerProcess> places = new ArrayList<>();
  private final List<Integer> lives = new ArrayList<>();
  private boolean closed;

  Listeners(ListenerProcess.Kind kind, Console console) {
    this.kind = kind;
    this.console = console;
  }

  /** Starts processes in as many new places; returns at once. */
  public void start(int processes) {
    lock.lock();
    try {
      for (var i = 0; i < processes; i++) {
        lives.add(1);
        places.add(launch(places.size()));
      }
    } finally {
      lock.unlock();
    }
  }

  private ListenerProcess launch(int place) {
    if (closed) {
      throw new CannotRunException("the run is being ended");
    }
    return ListenerProcess.start(
        ListenerProcess.nameOf(place + 1, lives.get(place)), kind, console);
  }

  /** Waits until all of them are at work. */
  public void awaitListening() throws InterruptedException {
    var deadline = System.nanoTime() + START_BOUND.toNanos();
    while (!now().stream().allMatch(ListenerProcess::isListening)) {
      check();
      if (System.nanoTime() - deadline > 0) {
        throw new CannotRunException("the listeners were not at work within " + START_BOUND);
      }
      LockSupport.parkNanos(POLL.toNanos());
    }
  }

  /** The processes that are in the places now. */
  List<ListenerProcess> now() {
    lock.lock();
    try {
      return List.copyOf(places);
    } finally {
      lock.unlock();
    }
  }

  /** Complains if one has ended by itself. */
  public void check() throws InterruptedException {
    for (var process : now()) {
      if (process.hasFailed()) {
        throw new CannotRunException(process.failure());
      }
    }
  }

  /**
   * Kills one of those that are at work, which have something to lose, and replaces it.
   *
   * @param spared how many of them must be left
   * @return false if there are too few
   */
  boolean killAtWork(Random random, int spared) {
    lock.lock();
    try {
      var atWork = places.stream().filter(ListenerProcess::isListening).toList();
      return atWork.size() > spared && replace(atWork.get(random.nextInt(atWork.size())));
    } finally {
      lock.unlock();
    }
  }

  /** Kills the youngest of those that are still starting; false if none is. */
  boolean killYoungest() {
    lock.lock();
    try {
      return places.stream()
          .filter(process -> !process.isListening())
          .max(Comparator.comparing(ListenerProcess::startedAt))
          .map(this::replace)
          .orElse(false);
    } finally {
      lock.unlock();
    }
  }

  private boolean replace(ListenerProcess process) {
    process.kill();
    var place = places.indexOf(process);
    lives.set(place, lives.get(place) + 1);
    places.set(place, launch(place));
    return true;
  }

  /** SIGTERM to all; returns when they have ended, and leaves no place. */
  public void stop() throws InterruptedException {
    var stopping = now();
    stopping.forEach(ListenerProcess::terminate);
    for (var process : stopping) {
      if (!process.awaitEnd(STOP_SECONDS)) {
        throw new CannotRunException(
            process.name() + " has not ended " + STOP_SECONDS + " s after SIGTERM");
      }
    }
    lock.lock();
    try {
      places.clear();
    } finally {
      lock.unlock();
    }
  }

  /** Kills all; none can be started after it. */
  @Override
  public void close() {
    lock.lock();
    try {
      closed = true;
      places.forEach(ListenerProcess::kill);
    } finally {
      lock.unlock();
    }
  }
}
