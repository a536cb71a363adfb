package org.pgonce.testkit;

import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;

/** The traps of a {@link FaultProxy} that have not been sprung. */
final class Traps {

  private final List<Trap> set = new CopyOnWriteArrayList<>();

  Trap set(String previous, String text, Trap.Kind kind) {
    var trap = new Trap(kind, previous, text);
    set.add(trap);
    return trap;
  }

  /**
   * The trap that this statement falls into; it waits for no other from then on.
   *
   * @param previous the statement before it on the same connection
   */
  Optional<Trap> take(String previous, String sql) {
    var taken = set.stream().filter(trap -> trap.takenBy(previous, sql)).findFirst();
    taken.ifPresent(set::remove);
    return taken;
  }
}
