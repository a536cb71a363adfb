package org.pgonce.spring.slice;

import org.pgonce.spring.PgOnceListener;
import org.pgonce.spring.slice.Channels.Left;

abstract class Leaving {

  @PgOnceListener(channel = "left")
  void handle(Left user) {
    part(user);
  }

  abstract void part(Left user);
}
