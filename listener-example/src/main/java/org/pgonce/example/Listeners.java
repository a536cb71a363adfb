package org.pgonce.example;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.IntStream;

/**
 * A number of places, each with a listener process in it that is replaced when it is killed. The
 * process in place 2 is listener-2.1, its successor listener-2.2. Safe for use by several threads.
 */
final class Listeners implements AutoCloseable {

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
  void start(int processes) {
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
  void awaitListening() throws InterruptedException {
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
  void check() throws InterruptedException {
    for (var process : now()) {
      if (process.hasFailed()) {
        throw new CannotRunException(process.failure());
      }
    }
  }

  /** Which of them may be killed. */
  enum Victims {
    /** Those at work: one that has not begun has nothing to lose. */
    AT_WORK,
    /**
     * Those at work, but never the only one: then those that start. So there is always someone to
     * kill and always someone who works, also where kills come faster than JVMs start.
     */
    ALWAYS_ONE;

    private boolean include(ListenerProcess process, long atWork) {
      return process.isListening() == (this == AT_WORK || atWork > 1);
    }
  }

  /** What became of an attempt to kill one. */
  enum Kill {
    NONE,
    WHILE_STARTING,
    AT_WORK
  }

  /** Kills one at random and puts another in its place. */
  Kill killOne(Random random, Victims victims) {
    lock.lock();
    try {
      var atWork = places.stream().filter(ListenerProcess::isListening).count();
      var candidates =
          IntStream.range(0, places.size())
              .filter(place -> victims.include(places.get(place), atWork))
              .toArray();
      if (candidates.length == 0) {
        return Kill.NONE;
      }
      var place = candidates[random.nextInt(candidates.length)];
      var kill = places.get(place).isListening() ? Kill.AT_WORK : Kill.WHILE_STARTING;
      places.get(place).kill();
      lives.set(place, lives.get(place) + 1);
      places.set(place, launch(place));
      return kill;
    } finally {
      lock.unlock();
    }
  }

  /** SIGTERM to all; returns when they have ended, and leaves no place. */
  void stop() throws InterruptedException {
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
