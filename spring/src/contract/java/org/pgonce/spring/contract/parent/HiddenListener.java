package org.pgonce.spring.contract.parent;

import org.pgonce.spring.PgOnceListener;

/** Its method is hidden from the classes of other packages. */
public abstract class HiddenListener {

  @PgOnceListener(channel = "signed_up")
  void handle(Object signedUp) {}
}
