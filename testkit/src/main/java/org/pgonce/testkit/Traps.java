package org.pgonce.testkit;

import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;

/** The traps of a {@link FaultProxy} that have not been sprung. */
final class Traps {

  private final List<Trap> set = new CopyOnWriteArrayList<>();

  Trap set(String text, Trap.Kind kind) {
    var trap = new Trap(kind, text);
    set.add(trap);
    return trap;
  }

  /** The trap that this statement falls into; it waits for no other from then on. */
  Optional<Trap> take(String sql) {
    var taken = set.stream().filter(trap -> trap.takenBy(sql)).findFirst();
    taken.ifPresent(set::remove);
    return taken;
  }
}
