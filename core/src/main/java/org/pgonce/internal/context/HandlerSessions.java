package org.pgonce.internal.context;

import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The server's processes of the sessions that handlers work in now. The heartbeat takes them to the
 * registry, by which operators find whose process holds a notification. Thread-safe.
 */
public final class HandlerSessions {

  private final Set<Integer> backends = ConcurrentHashMap.newKeySet();

  public void begun(int backend) {
    backends.add(backend);
  }

  public void ended(int backend) {
    backends.remove(backend);
  }

  /** In no order. */
  public List<Integer> backends() {
    return List.copyOf(backends);
  }
}
